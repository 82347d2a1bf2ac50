"""docs/demo.md tells of every button, scene and behaviour, and of nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from simulator.breakages import BREAKAGES
from simulator.hardware import Behaviours, machine
from simulator.scenes import SCENES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "demo.md").read_text()
README = (ROOT / "README.md").read_text()


def test_every_way_to_break_a_gpu_has_its_row() -> None:
    rows = re.findall(r"^\| ([^|]+) \| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert {name: label for label, name in rows} == {name: one.label for name, one in BREAKAGES.items()}


def test_every_scene_is_a_breakage_or_has_its_row() -> None:
    section = PAGE[PAGE.index("## Scenes") : PAGE.index("## What is behind")]
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE))
    assert rows | set(BREAKAGES) == set(SCENES)


def test_the_readmes_alert_is_about_a_card_of_the_demo() -> None:
    called = README.partition("<!-- curl -->")[2].partition("<!-- /curl -->")[0]
    labels = json.loads(called.partition("-d '")[2].rpartition("'")[0])["alerts"][0]["labels"]
    assert labels["UUID"] == machine(labels["Hostname"]).gpus[int(labels["gpu"])].uuid


@pytest.mark.parametrize("name", [one.name for one in fields(Behaviours)])
def test_every_behaviour_and_each_of_its_values_is_told(name: str) -> None:
    [told] = re.findall(rf"^\| `{name}` \| (.*) \|$", PAGE, re.MULTILINE)
    hint = get_type_hints(Behaviours)[name]
    values = {word for part in (hint, *get_args(hint)) for word in get_args(part) if isinstance(word, str) and word}
    values |= {word for word in get_args(hint) if isinstance(word, str) and word}
    assert set(re.findall(r"`([a-z-]+)`", told)) == values
