"""What `nvidia-smi` of a machine prints: a reset, and the cards with their serials and recovery actions.

Sources for words and exit codes: NVIDIA/gpu-operator#118 and NVIDIA/NVSentinel#1692 for a GPU in use, nvml.h for the
codes of a lost GPU (15), a refusal (3) and a missing driver (9), a capture of `nvidia-smi -q` of an H100 on R565.
"""

from __future__ import annotations

import re

from simulator.hardware import Gpu, Machine
from simulator.kernel_lines import REMAP_FAILED

Printed = tuple[str, int]  # text and exit code

_GREP = re.compile(r"nvidia-smi -q[^|;]*\| *grep -E [\"']([^\"']*)[\"']")
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)


def reset(machine: Machine, argv: str) -> Printed:
    """`nvidia-smi --gpu-reset` of the cards that the command names (all if none), in a script or alone.

    What a script does around it is printed too: persistence mode off and on, and a query of the cards afterwards. The
    exit code is that of the reset.
    """
    if not machine.driver_loaded:
        return _NO_DRIVER, 9
    cards = _named(machine, argv)
    text, code = _reset(machine, cards)
    before = _persistence(cards, "Disabled") if "-pm 0" in argv else ""
    after = _persistence(cards, "Enabled") if "-pm 1" in argv else ""
    return before + text + _queried(cards, argv) + after, code


def inventory(machine: Machine) -> Printed:
    """The cards as CSV, a line `--`, and for each what says whether it asks for a recovery.

    A card that has fallen off the bus since the boot ends the command; one that was not there then is not listed.
    """
    if not machine.driver_loaded:
        return _NO_DRIVER, 9
    if lost := [card for card in machine.gpus if card.known and not card.on_bus]:
        return _lost(lost[0]), 15
    cards = machine.seen()
    rows = [f"{card.index}, {card.uuid}, {card.serial}, {card.bus_id}" for card in cards]
    asked = [
        line
        for card in cards
        for line in (
            f"GPU {card.bus_id}",
            f"GPU Recovery Action : {card.recovery_action}",
            f"Remapped Rows Pending : {_pending(card)}",
        )
    ]
    return "\n".join([*rows, "--", *asked]) + "\n", 0


def _reset(machine: Machine, cards: list[Gpu]) -> Printed:
    how = machine.behaviours.reset
    if lost := [card for card in cards if not card.on_bus]:
        return _lost(lost[0]), 15
    if how == "impossible" or any(card.recovery_action == "Reboot" for card in cards):
        return "".join(f"Unable to reset GPU {card.bus_id}: Not Supported\n" for card in cards), 3
    if used := cards if how == "in-use" else [card for card in cards if machine.holders(card.index)]:
        lines = "".join(f"  GPU {card.bus_id}: In use by another client\n" for card in used)
        return "The following GPUs could not be reset:\n" + lines, 255
    machine.reset(cards)
    return "".join(f"GPU {card.bus_id} was successfully reset.\n" for card in cards) + "All done.\n", 0


def _queried(cards: list[Gpu], argv: str) -> str:
    """`nvidia-smi -q`, as far as it speaks of recovery, through the script's grep."""
    if "nvidia-smi -q" not in argv:
        return ""
    wanted = re.compile(found[1]) if (found := _GREP.search(argv)) else re.compile("")
    printed = [line for card in cards for line in (_excerpt(card) if card.on_bus else [_lost(card).rstrip()])]
    return "".join(f"{line}\n" for line in printed if wanted.search(line))


def _excerpt(card: Gpu) -> list[str]:
    """Three other things are `Pending` in the full text too, so they are here."""
    return [
        f"GPU {card.bus_id}",
        "    MIG Mode",
        "    " + _line("    Current", "Disabled"),
        "    " + _line("    Pending", "Disabled"),
        "    " + _line("GPU Recovery Action", card.recovery_action),
        "    ECC Mode",
        "    " + _line("    Current", "Enabled"),
        "    " + _line("    Pending", "Enabled"),
        "    Retired Pages",
        "    " + _line("    Pending Page Blacklist", "N/A"),
        "    Remapped Rows",
        "    " + _line("    Pending", _pending(card)),
        "    " + _line("    Remapping Failure Occurred", "Yes" if card.fault == REMAP_FAILED else "No"),
    ]


def _line(name: str, value: str) -> str:
    return f"{name:<38}: {value}"


def _pending(card: Gpu) -> str:
    return "Yes" if card.rows_pending else "No"


def _lost(card: Gpu) -> str:
    first = f"Unable to determine the device handle for GPU {card.bus_id}: GPU is lost.  "
    return first + "Reboot the system to recover this GPU\n"


def _persistence(cards: list[Gpu], word: str) -> str:
    there = [card for card in cards if card.on_bus]
    return "".join(f"{word} persistence mode for GPU {card.bus_id}.\n" for card in there) + "All done.\n"


def _named(machine: Machine, argv: str) -> list[Gpu]:
    """The cards whose UUID, serial, bus id or index the command gives; all of them when it gives none."""
    words = {one.lower() for one in re.split(r"[\s,;'\"=]+", argv)}
    named = [card for card in machine.gpus if words & {card.uuid.lower(), card.serial, card.bus_id.lower()}]
    by_index = re.search(r"(?:-i|--id)[ =](\d(?:,\d)*)", argv)
    if not named and by_index:
        named = [card for card in machine.gpus if str(card.index) in by_index[1].split(",")]
    return named or list(machine.gpus)
