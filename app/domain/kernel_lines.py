"""Kernel log lines of NVIDIA's drivers: which error a line reports, on which GPU or switch, and what it asks for.

    NVRM: Xid (PCI:dddd:bb:dd[ GPU-I:NN[ GPU-CI:NN]]): N[, pid=P, name=NAME], text[ caused by previous Xid N]
    NVRM: GPU dddd:bb:dd.f: GPU has fallen off the bus.                     79, without its number
    NVRM: GPU at PCI:dddd:bb:dd: GPU-uuid                                   once per GPU, before its first Xid
    NVRM: GPU Board Serial Number: sn                                       right after it
    nvidia-nvswitchN: SXid (PCI:dddd:bb:dd.f): N, Fatal|Non-fatal, text

Whatever stands before them (syslog, dmesg, journald, a JSON log) is passed by, and whatever is none of them reports
nothing. No text raises. What only looks like such a line is told as unknown, which is never acted on (P1).

Source: NVIDIA/open-gpu-kernel-modules 595.45.04, src/nvidia/src/kernel/rc/kernel_rc.c; leptonai/gpud, kmsg.go and sxid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from app.domain.faults import Gpu, read_serial
from app.domain.nvlink import NvlinkTables
from app.domain.switches import SwitchCatalogue
from app.domain.xid_texts import judge
from app.domain.xids import Catalogue, XidClass

LONGEST_TEXT = 1000
"""Characters kept of a line's text; the driver's own buffer is shorter."""
_LONGEST_LINE = 4000
"""Characters looked at of one line, so that no text takes long."""

_BEGINS = re.compile(r"(?=NVRM: |nvidia-nvswitch[0-9]{1,3}: SXid )")
_ADDRESS = (
    r"(?:PCI:)?(?P<domain>[0-9a-fA-F]{8}|[0-9a-fA-F]{4}):(?P<bus>[0-9a-fA-F]{2}):(?P<slot>[0-9a-fA-F]{2})(?:\.[0-7])?"
)
_WHERE = re.compile(rf"{_ADDRESS}(?: GPU-I:(?P<instance>[0-9]{{1,3}})(?: GPU-CI:(?P<compute>[0-9]{{1,3}}))?)?")
_XID = re.compile(r"NVRM: Xid \((?P<where>[^()]{0,80})\): (?P<number>[0-9]{1,9})(?:(?P<comma>,)(?P<rest>.*))?")
_PROCESS = re.compile(r" pid=(?P<pid>[^,]{0,32})(?:, name=(?P<name>.{0,64}?))?(?:,(?: (?P<text>.*))?)?")
_CAUSE = re.compile(r" ?caused by previous Xid ([0-9]{1,9})\b.*")
_OFF_THE_BUS = re.compile(rf"NVRM: GPU (?:at )?{_ADDRESS}: (?P<text>GPU has fallen off the bus\b.*)")
_UUID = r"GPU-(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_GPU_AT = re.compile(rf"NVRM: GPU at {_ADDRESS}: {_UUID}")
_SERIAL = re.compile(r"NVRM: GPU Board Serial Number: *(?P<serial>[^\s\"\\]{0,64})")
_SXID = re.compile(
    rf"nvidia-nvswitch(?P<switch>[0-9]{{1,3}}): SXid \({_ADDRESS}\): (?P<number>[0-9]{{1,9}}),"
    r" (?P<severity>Fatal|Non-fatal),(?P<text>.*)"
)
_LINK = re.compile(r"\bLink ([0-9]{1,3})\b")
_JSON_TAIL = re.compile(r"(?:\\[nr]){0,4}\"\s{0,4}[,}].*")
_BLANK_PROCESSES = frozenset({"", "<unknown>", r"\u003cunknown\u003e"})
"""Docker's JSON logs write the angle brackets as escapes."""
_NO_NUMBERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTables:
    """All by which lines are judged."""

    xids: Catalogue
    nvlink: NvlinkTables
    switches: SwitchCatalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFinding:
    """One error as one line reports it.

    `pci` is the address of the GPU or, for an SXid, of the switch, as the kernel prints it for GPUs: lower case, four
    digits of domain, no function (`0000:65:00`); empty when it cannot be read. `instance` and `compute_instance` are
    the MIG parts. `details` hold what the text tells beyond its number, by names of the field.
    """

    code: str
    """Like `xid-79` or `sxid-20034`."""
    number: int
    class_: XidClass
    why: str
    """Why this class, in sentences; empty where the number is its bucket and nothing more is to be said."""
    only_noted: bool = False
    """The line says itself that nothing is wrong, or cannot be trusted: nothing follows, whatever a policy says."""
    pci: str = ""
    gpu: Gpu | None = None
    """The card, where the same text says which one has the address; never for an SXid."""
    instance: int | None = None
    compute_instance: int | None = None
    pid: int | None = None
    process: str | None = None
    text: str = ""
    caused_by: int | None = None
    """The Xid that the driver names as the earlier one."""
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def xid(self) -> int | None:
        """The number when it is an Xid."""
        return self.number if self.code.startswith("xid-") else None


def read_line(line: str, tables: KernelTables, driver_major: int | None = None) -> KernelFinding | None:
    """The first error that this line reports, None when it reports none.

    `driver_major` is the driver's major version, which says how Xids 144 to 150 are laid out.
    """
    return next(iter(read_text(line, tables, driver_major)), None)


def read_text(text: str, tables: KernelTables, driver_major: int | None = None) -> tuple[KernelFinding, ...]:
    """All errors that this text reports, in its order, with the cards that it names."""
    found = (_finding(part, tables, driver_major) for part in _parts(text))
    return join_cards((finding for finding in found if finding is not None), cards_in(text))


def cards_in(text: str) -> dict[str, Gpu]:
    """The card at each PCI address, by the lines that the driver prints before a GPU's first Xid.

    An address for which two cards are named has none: the text is of several nodes, or a card was changed.
    """
    cards: dict[str, set[str]] = {}
    serials: dict[str, str | None] = {}
    last = ""
    for part in _parts(text):
        if found := _GPU_AT.match(part):
            last = _address(found)
            cards.setdefault(last, set()).add(found["uuid"].lower())
        elif last and (found := _SERIAL.match(part)):
            serials[last] = read_serial(found["serial"])
            last = ""
        else:
            last = ""
    alone = {pci: min(uuids) for pci, uuids in cards.items() if len(uuids) == 1}
    return {pci: Gpu(uuid=f"GPU-{uuid}", serial=serials.get(pci)) for pci, uuid in alone.items()}


def join_cards(findings: Iterable[KernelFinding], cards: Mapping[str, Gpu]) -> tuple[KernelFinding, ...]:
    """The findings with the card at their address."""
    return tuple(
        replace(finding, gpu=cards.get(finding.pci)) if finding.xid is not None else finding for finding in findings
    )


def _parts(text: str) -> Iterator[str]:
    """Each stretch of the text that begins like a line of the drivers', up to the next one or to the line's end."""
    for line in re.split(r"[\r\n]+", text):
        stretches = _BEGINS.split(line)
        for stretch in stretches[1:]:
            told = stretch[:_LONGEST_LINE]
            yield (_JSON_TAIL.sub("", told) if '"' in stretches[0] else told).rstrip()


def _finding(part: str, tables: KernelTables, driver_major: int | None) -> KernelFinding | None:
    if found := _XID.fullmatch(part):
        return _xid(found, tables, driver_major)
    if found := _OFF_THE_BUS.match(part):
        return _judged(79, tables, driver_major, pci=_address(found), text=found["text"])
    if found := _SXID.match(part):
        return _sxid(found, tables)
    return None


def _xid(found: re.Match[str], tables: KernelTables, driver_major: int | None) -> KernelFinding | None:
    number = int(found["number"])
    if number == 0:
        return None
    where = _WHERE.fullmatch(found["where"])
    rest = found["rest"] or ""
    process = _PROCESS.fullmatch(rest)
    text = (process["text"] or "" if process else rest).strip()
    cause = _CAUSE.search(text)
    finding = _judged(
        number,
        tables,
        driver_major,
        pci=_address(where) if where else "",
        text=text[: cause.start()] if cause else text,
    )
    instances = where.groupdict() if where else _NO_NUMBERS
    finding = replace(
        finding,
        instance=_whole(instances.get("instance")),
        compute_instance=_whole(instances.get("compute")),
        pid=_whole(process["pid"]) if process else None,
        process=_process(process["name"]) if process else None,
        caused_by=int(cause[1]) if cause else None,
    )
    if where is None:
        return _doubted(finding, "The line names no PCI address that can be read.")
    if found["comma"] is None:
        return _doubted(finding, "The line ends right behind the number, which may have been cut.")
    return finding


def _judged(number: int, tables: KernelTables, driver_major: int | None, *, pci: str, text: str) -> KernelFinding:
    reading = judge(tables.xids.xid(number), text, tables.nvlink, driver_major)
    return KernelFinding(
        code=f"xid-{number}",
        number=number,
        class_=reading.class_,
        why=reading.why,
        only_noted=reading.only_noted,
        pci=pci,
        text=text[:LONGEST_TEXT],
        details=reading.details,
    )


def _sxid(found: re.Match[str], tables: KernelTables) -> KernelFinding | None:
    number, text = int(found["number"]), found["text"].strip()
    if number == 0:
        return None
    class_, why = tables.switches.judge(number, fatal=found["severity"] == "Fatal")
    details = {"switch": found["switch"], "severity": found["severity"]}
    if link := _LINK.search(text):
        details["link"] = link[1]
    if "(First)" in text:
        details["first"] = "yes"
        why = f"{why} It is marked as the first of its burst."
    return KernelFinding(
        code=f"sxid-{number}",
        number=number,
        class_=class_,
        why=why,
        pci=_address(found),
        text=text[:LONGEST_TEXT],
        details=details,
    )


def _doubted(finding: KernelFinding, why: str) -> KernelFinding:
    return replace(finding, class_=XidClass.UNKNOWN, why=why, only_noted=True)


def _address(found: re.Match[str]) -> str:
    return f"{int(found['domain'], 16):04x}:{found['bus']}:{found['slot']}".lower()


def _whole(told: str | None) -> int | None:
    digits = (told or "").strip("'\" ")
    return int(digits) if re.fullmatch(r"[0-9]{1,10}", digits) else None


def _process(told: str | None) -> str | None:
    name = (told or "").strip().strip("'")
    return None if name in _BLANK_PROCESSES else name
