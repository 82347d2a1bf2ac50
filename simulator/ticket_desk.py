"""The vendor's side of tickets that are files: which are open, and closing one as a person with an editor would."""

from __future__ import annotations

import json
import re
from pathlib import Path

_STATE = re.compile(r"^state:\s*(\w+)\s*$", re.MULTILINE)
_TITLE = re.compile(r'^title:\s*(".*")\s*$', re.MULTILINE)


class TicketDesk:
    """Tickets in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def tickets(self) -> list[dict[str, str]]:
        """File name, title and state of each, the newest first."""
        files = sorted(self._directory.glob("*.md"), key=lambda file: file.stat().st_mtime, reverse=True)
        return [_shown(file.name, file.read_text(errors="replace")) for file in files]

    def close(self, name: str) -> str:
        """Writes `state: closed` into that ticket; says what was done."""
        file = self._directory / Path(name).name
        if not file.is_file():
            return f"There is no ticket {name}."
        beside = file.with_suffix(".closing")
        beside.write_text(_STATE.sub("state: closed", file.read_text(), count=1))
        beside.replace(file)
        return f"The vendor has closed {name}. Sickbay looks which card is there now, and validates it."


def _shown(name: str, text: str) -> dict[str, str]:
    state, title = _STATE.search(text), _TITLE.search(text)
    return {
        "file": name,
        "state": state[1] if state else "unreadable",
        "title": json.loads(title[1]) if title else name,
    }
