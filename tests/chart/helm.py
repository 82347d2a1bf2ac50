"""Helm for the tests of the chart: where it is, how it is built from source, and how it renders.

    python -m tests.chart.helm     builds it, unless it is there

It lies in a cache folder whose name follows from go.mod and go.sum beside this file, so that another version is another
folder. Whoever has a Helm 4 already names it in HELM.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHART = ROOT / "charts" / "sickbay"
PACKAGE = "helm.sh/helm/v4/cmd/helm"
BUILD_IT = "make control-plane"

Object = dict[str, Any]


def cached(environ: Mapping[str, str]) -> Path:
    """Where the build puts it."""
    base = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256((HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes()).hexdigest()[:16]
    return Path(base) / "sickbay" / "helm" / key / "helm"


def found(environ: Mapping[str, str]) -> Path | None:
    """The program, None when it is not there."""
    places = [Path(given)] if (given := environ.get("HELM")) else []
    return next((place for place in (*places, cached(environ)) if place.is_file()), None)


def build(target: Path) -> None:
    """Builds it; a half-built one never has its name. Raises CalledProcessError; what it said is on the terminal."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"helm.{os.getpid()}")
    command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(fresh), PACKAGE]
    subprocess.run(command, cwd=HERE, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    fresh.rename(target)


class Helm:
    """The program, kept from whatever the person at this machine has set up for their own."""

    def __init__(self, program: Path, home: Path) -> None:
        self.program = program
        names = ("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME")
        self.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", **{name: str(home / name) for name in names}}

    def run(self, *arguments: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
        """What it said and how it ended."""
        environ = {**self.environ, **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
        command = [str(self.program), *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)

    def render(self, *values: str, release: str = "sickbay", namespace: str = "sickbay") -> list[Object]:
        """The objects of the chart; a refusal fails the test with what it said."""
        told = self.run("template", release, str(CHART), "--namespace", namespace, *values)
        assert told.returncode == 0, told.stderr
        return [one for one in yaml.safe_load_all(told.stdout) if one]

    def refusal(self, *values: str) -> str:
        """What it says to values that it refuses."""
        told = self.run("template", "sickbay", str(CHART), "--namespace", "sickbay", *values)
        assert told.returncode != 0, "these values are not refused"
        return told.stderr


def main() -> int:
    """Builds what is missing."""
    if found(os.environ) is not None:
        return 0
    if shutil.which("go") is None:
        sys.stderr.write("Helm is built with Go 1.26 or newer, and there is no go on the PATH.\n")
        return 1
    sys.stdout.write("Building helm ...\n")
    sys.stdout.flush()
    build(cached(os.environ))
    return 0


if __name__ == "__main__":
    sys.exit(main())
