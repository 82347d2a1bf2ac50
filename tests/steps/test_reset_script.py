"""The reset's script as a shell runs it, with an `nvidia-smi` that notes its calls and keeps persistence modes."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from workers.steps.reset import SCRIPT

NVIDIA_SMI = r"""#!/bin/sh
echo "$*" >>"$HERE/calls"
case "$*" in
  *query-gpu*) for gpu in $(echo "$2" | tr , ' '); do echo "$gpu, $(cat "$HERE/$gpu")"; done ;;
  *"-pm 0"*) echo Disabled >"$HERE/$2" ;;
  *"-pm 1"*) echo Enabled >"$HERE/$2" ;;
  *gpu-reset*) SCRIPT=$PPID sh -c "$ON_RESET" ;;
  *) printf '    Current : Disabled\n    GPU Recovery Action : None\n' ;;
esac
"""
KILLS = "kill -{0} $SCRIPT"
"""Ends the script in the middle of its reset."""


@dataclass
class Host:
    """A machine on which the script runs; the modes of its GPUs are files."""

    here: Path

    def has(self, **modes: str) -> None:
        for gpu, mode in modes.items():
            (self.here / f"GPU-{gpu}").write_text(f"{mode}\n")

    def mode(self, gpu: str) -> str:
        return (self.here / f"GPU-{gpu}").read_text().strip()

    def reset(self, gpus: str, on_reset: str = "exit 0") -> subprocess.CompletedProcess[str]:
        path = f"{self.here}:{os.environ['PATH']}"
        return subprocess.run(
            ["/bin/sh", "-c", SCRIPT, "nvidia-smi --gpu-reset", gpus, str(self.here / "kept")],
            env={"PATH": path, "HERE": str(self.here), "ON_RESET": on_reset},
            text=True,
            capture_output=True,
            check=False,
            timeout=30,
        )

    @property
    def calls(self) -> list[str]:
        return (self.here / "calls").read_text().splitlines()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(NVIDIA_SMI)
    tool.chmod(0o755)
    return Host(tmp_path)


def test_each_gpu_has_the_persistence_mode_that_it_had_and_only_where_it_was_on_it_is_off_meanwhile(host: Host) -> None:
    host.has(a="Enabled", b="Disabled", c="[N/A]")
    done = host.reset("GPU-a,GPU-b,GPU-c", 'cat "$HERE/GPU-a"; exit 0')
    assert done.returncode == 0
    assert "Disabled" in done.stdout.splitlines()
    assert "GPU Recovery Action : None" in done.stdout
    assert "Current" not in done.stdout
    assert [host.mode(gpu) for gpu in "abc"] == ["Enabled", "Disabled", "[N/A]"]
    assert [call for call in host.calls if "-pm" in call] == ["-i GPU-a -pm 0", "-i GPU-a -pm 1"]
    assert not (host.here / "kept").exists()


def test_a_reset_that_is_refused_gives_its_exit_code_and_the_mode_back(host: Host) -> None:
    host.has(a="Enabled")
    assert host.reset("GPU-a", "exit 255").returncode == 255
    assert host.mode("a") == "Enabled"


def test_a_script_that_is_told_to_end_gives_the_mode_back_first(host: Host) -> None:
    host.has(a="Enabled")
    assert host.reset("GPU-a", KILLS.format("TERM")).returncode == 143
    assert host.mode("a") == "Enabled"


def test_what_a_script_that_was_killed_took_the_next_one_gives_back(host: Host) -> None:
    host.has(a="Enabled", b="Enabled")
    assert host.reset("GPU-a", KILLS.format("KILL")).returncode == -9
    assert host.mode("a") == "Disabled"
    assert host.reset("GPU-b").returncode == 0
    assert (host.mode("a"), host.mode("b")) == ("Enabled", "Enabled")


def test_a_driver_that_tells_no_mode_is_left_alone(host: Host) -> None:
    (host.here / "nvidia-smi").write_text('#!/bin/sh\necho "$*" >>"$HERE/calls"\nexit 9\n')
    assert host.reset("GPU-a").returncode == 9
    assert not [call for call in host.calls if "-pm" in call]
