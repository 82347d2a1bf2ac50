"""The demo's policy for one run: `policy.yaml` with the places of this run, and waits that fit the cluster's time.

Only the waits that Sickbay times by its own clock are shortened. Limits of node jobs are not: the simulated cluster
takes those as seconds of its own time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
TEMPLATE = Path(__file__).parent / "policy.yaml"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LEAST_S = {"drain": 60, "reboot": 15, "cooldown": 1, "probation": 1, "deadline": 60, "poll": 1}
"""What is shortened, by its key, and how far at most: processes and threads take their time at any speed."""


def rendered(speed: float, *, tickets: Path, power: Object, provider: Object) -> str:
    """The YAML text of the policy.

    Args:
        speed: simulated seconds in a real one.
        tickets: the directory of the tickets.
        power: the hook that cycles power, as `url` and `secret_file`.
        provider: the hook that has another machine take a name, likewise.
    """
    policy: Object = _shortened(yaml.safe_load(TEMPLATE.read_text()), speed)
    policy["tickets"]["directory"] = str(tickets)
    policy |= {"power": power, "provider": provider}
    return yaml.safe_dump(policy, sort_keys=False)


def _shortened(value: Any, speed: float, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shortened(one, speed, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, speed) for one in value]
    if key in _LEAST_S and isinstance(value, str):
        return f"{max(_LEAST_S[key], round(_seconds(value) / speed))}s"
    return value


def _seconds(duration: str) -> int:
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd])", duration))
