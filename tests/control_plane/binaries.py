"""The programs of a control plane: where they are, and how they are built from source by the Go toolchain.

    python -m tests.control_plane.binaries     builds them, unless they are there

They lie in a cache folder whose name follows from go.mod and go.sum, so that another version is another folder. Whoever
has them already names their folder in KUBEBUILDER_ASSETS, as for envtest; what that folder lacks comes from the cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
BUILD_THEM = "make control-plane"


def cache(environ: Mapping[str, str]) -> Path:
    """The folder that the build fills."""
    base = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256((HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes()).hexdigest()[:16]
    return Path(base) / "sickbay" / "control-plane" / key


def found(environ: Mapping[str, str]) -> dict[str, Path]:
    """Each program that is there, by name."""
    folders = [Path(given)] if (given := environ.get("KUBEBUILDER_ASSETS")) else []
    folders.append(cache(environ))
    places = {name: next((one / name for one in folders if (one / name).is_file()), None) for name in PACKAGES}
    return {name: place for name, place in places.items() if place is not None}


def missing(environ: Mapping[str, str]) -> list[str]:
    """The names of the programs that are not there."""
    there = found(environ)
    return [name for name in PACKAGES if name not in there]


def version() -> str:
    """The version of Kubernetes that go.mod asks for, such as v1.36.3."""
    told = re.search(r"k8s\.io/kubernetes (v\S+)", (HERE / "go.mod").read_text())
    if told is None:
        raise ValueError("go.mod does not require k8s.io/kubernetes")
    return told[1]


def build(target: Path) -> None:
    """Builds all programs and puts them into `target` at once, so that a half-built folder is never taken for a whole.

    Raises:
        FileNotFoundError: there is no Go toolchain.
        subprocess.CalledProcessError: it failed; what it said is on the terminal.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix="building-"))
    major, minor = version().removeprefix("v").split(".")[:2]
    stamp = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s", "-w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items())])
    try:
        for name, package in PACKAGES.items():
            print(f"Building {name} ...", flush=True)  # noqa: T201 - it takes minutes, and this is a command
            subprocess.run(
                ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(fresh / name), package],
                cwd=HERE,
                env={**os.environ, "CGO_ENABLED": "0"},
                check=True,
            )
        fresh.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main() -> int:
    """Builds what is missing."""
    if not missing(os.environ):
        return 0
    if shutil.which("go") is None:
        sys.stderr.write("The control plane is built with Go 1.26 or newer, and there is no go on the PATH.\n")
        return 1
    build(cache(os.environ))
    return 0


if __name__ == "__main__":
    sys.exit(main())
