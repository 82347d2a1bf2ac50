"""Reads `config/policy.yaml` into the domain's policy, and refuses a bad file with each mistake, its line and a remedy.

The shape is that of the dataclasses in `app.domain.policies`, read by `app.yaml_records`; what values must keep beyond
their types stands in `app.policy_checks`. What a policy leads to is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from app.domain.policies import Ladder, Policy
from app.domain.xids import XidClass
from app.errors import ConfigurationError
from app.policy_checks import CHECKS
from app.policy_warnings import warnings
from app.yaml_records import RecordReader
from app.yaml_scalars import is_null

LARGEST: Final = 1 << 20
"""Bytes of the largest policy file that is read. Real ones are a few kilobytes; YAML of this size takes seconds."""
_KINDS: Final[Mapping[tuple[type, str], Any]] = {(Policy, "ladders"): Mapping[XidClass, Ladder | None]}
"""A class may be written with null, which says the same as leaving it out. In a pool that would mean the opposite: the
rungs of the whole policy. So there it is refused, and codes that a pool only notes stand under its `faults`."""


def load_policy(path: Path) -> Policy:
    """The policy in this file. Raises `ConfigurationError`, with all that is wrong in one text."""
    problems = policy_or_problems(path)
    if isinstance(problems, Policy):
        return problems
    if len(problems) == 1:
        raise problems[0]
    listed = "\n".join(f"  {problem}" for problem in problems)
    raise ConfigurationError(f"{len(problems)} things are wrong.\n{listed}", file=str(path))


def policy_or_problems(path: Path) -> Policy | tuple[ConfigurationError, ...]:
    """The policy in this file, or everything that is wrong in it, in the order of its lines. Never raises them."""
    text = _text_of(path)
    return read_policy(text, file=str(path)) if isinstance(text, str) else text


def read_policy(text: str, *, file: str) -> Policy | tuple[ConfigurationError, ...]:
    """As `policy_or_problems`, from the text; `file` is only its name in the problems."""
    return _read(text, file)[0]


def policy_and_warnings(path: Path) -> tuple[Policy | tuple[ConfigurationError, ...], tuple[ConfigurationError, ...]]:
    """As `policy_or_problems`, and beside it what in a good file hardly anybody means, each with its line."""
    text = _text_of(path)
    if not isinstance(text, str):
        return text, ()
    policy, lines = _read(text, str(path))
    if not isinstance(policy, Policy):
        return policy, ()
    told = (
        ConfigurationError(
            each.problem, file=str(path), line=lines.get(each.below), path=each.below, remedy=each.remedy
        )
        for each in warnings(policy)
    )
    return policy, tuple(told)


def _text_of(path: Path) -> str | tuple[ConfigurationError, ...]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"The policy cannot be read ({getattr(error, 'strerror', None) or error})."
        return (ConfigurationError(problem, file=str(path), remedy="Name a readable UTF-8 file."),)
    if len(content) > LARGEST:
        problem = f"The file is larger than {LARGEST} bytes."
        return (ConfigurationError(problem, file=str(path), remedy="Name the policy file."),)
    return text


def _read(text: str, file: str) -> tuple[Policy | tuple[ConfigurationError, ...], Mapping[str, int]]:
    """The policy or its problems, and the line of every path in it."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        return (_not_yaml(error, text, file),), {}
    except RecursionError:
        return (ConfigurationError("It is nested too deeply.", file=file, remedy="Write it as the example shows."),), {}
    if root is None or is_null(root):
        problem = ConfigurationError("The file is empty.", file=file, remedy="Start from the config/policy.yaml given.")
        return (problem,), {}
    reader = RecordReader(file, CHECKS, _KINDS)
    policy: Policy = reader.read(Policy, root)
    if reader.problems:
        return tuple(sorted(reader.problems, key=lambda problem: problem.line or 0)), reader.lines
    written: Mapping[XidClass, Ladder | None] = policy.ladders
    ladders = {class_: ladder for class_, ladder in written.items() if ladder is not None}
    return replace(policy, ladders=ladders), reader.lines


def _not_yaml(error: yaml.YAMLError, text: str, file: str) -> ConfigurationError:
    if isinstance(error, yaml.reader.ReaderError):
        at = text.count("\n", 0, error.position) + 1
        return ConfigurationError(
            "A character here may not stand in YAML.", file=file, line=at, remedy="Take the control character out."
        )
    told = str(getattr(error, "problem", None) or error)
    mark = getattr(error, "problem_mark", None)
    remedy = "Correct the line, or the one before it."
    if "'\\t'" in told or "tab" in told:
        remedy = "Indent with spaces; YAML knows no tabs."
    elif "another document" in told:
        remedy = "Keep one document: take out the line `---` and what follows it."
    line = mark.line + 1 if mark else None
    return ConfigurationError(f"This is not YAML: {told}.", file=file, line=line, remedy=remedy)
