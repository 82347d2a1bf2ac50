"""Lines of the kernel log, by tables; what is cut, odd or hostile never asks for more than an untouched line."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.faults import Gpu
from app.domain.kernel_lines import KernelFinding, cards_in, read_line, read_text
from app.domain.nvlink import CLASSES, NVLINK5
from app.domain.xid_texts import GRAVITY, RECOVERY_ACTIONS
from app.domain.xids import XidClass
from app.kernel_files import load_kernel_tables

ROOT = Path(__file__).parents[2]
TABLES = load_kernel_tables(ROOT / "config")
ROWS = [
    tuple(row.split("\t"))
    for row in (ROOT / "tests/samples/kernel_lines/lines.tsv").read_text(encoding="utf-8").splitlines()
    if not row.startswith("#")
]
LINES = [row[5] for row in ROWS]

AT = "NVRM: Xid (PCI:0000:65:00): "
UUID = "GPU-00000000-1111-2222-3333-444444444444"
NAMED = f"NVRM: GPU at PCI:0000:65:00: {UUID}"
OTHER = NAMED.replace("4444", "5555")
LOST = f"{AT}79, GPU has fallen off the bus."


def only(text: str, driver_major: int | None = None) -> KernelFinding:
    """The one finding in this text."""
    (finding,) = read_text(text, TABLES, driver_major)
    return finding


def gravity(class_: XidClass) -> int:
    return GRAVITY.index(class_)


def test_every_class_has_a_place_in_the_order_of_gravity() -> None:
    assert sorted(GRAVITY) == sorted(XidClass)


@pytest.mark.parametrize(("code", "pci", "class_", "kind", "source", "line"), ROWS, ids=range(len(ROWS)))
def test_every_public_line_has_its_code_address_and_class(
    code: str, pci: str, class_: str, kind: str, source: str, line: str
) -> None:
    found = read_line(line, TABLES)
    told = (found.code, found.pci, found.class_) if found else ("-", "-", "-")
    assert told == (code, pci, class_)
    assert source


def test_no_public_line_was_lost() -> None:
    assert len(ROWS) == 63


@pytest.mark.parametrize(
    "before",
    [
        "",
        "[  123.456789] ",
        "[ 123.45] [ T1946] ",
        "[Sun Feb 23 16:24:18 2025] ",
        "Feb 01 14:25:31 node-01 kernel: ",
        "kernel: [123.45] ",
        "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ",
        "kern: warning: [2026-04-22T21:25:20.505406921Z]: ",
        "6,12345,678901234,-;",
        "<3>[ 12.3] ",
        '{"MESSAGE": "',
        '{"log":"[ 1.0] ',
        "Größe \U0001f525 \x00 ",
    ],
)
@pytest.mark.parametrize(
    "line", [LOST, f"{AT}31, pid=1, name=a, Ch 1", "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus."]
)
def test_whatever_stands_before_a_line_changes_nothing(before: str, line: str) -> None:
    assert read_line(before + line, TABLES) == read_line(line, TABLES)


@pytest.mark.parametrize("tail", ['"}', '\\n"}', '\\n","stream":"stdout","time":"x"}', '" , "PRIORITY": "4"}'])
def test_the_end_of_a_json_log_is_no_text(tail: str) -> None:
    assert only(f'{{"log":"{LOST}{tail}').text == "GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("where", "pci", "parts"),
    [
        ("PCI:0000:65:00", "0000:65:00", (None, None)),
        ("PCI:0000:65:00.0", "0000:65:00", (None, None)),
        ("PCI:00000000:AB:0C.0", "0000:ab:0c", (None, None)),
        ("PCI:00010000:65:00", "10000:65:00", (None, None)),
        ("0004:01:00", "0004:01:00", (None, None)),
        ("PCI:0000:01:00 GPU-I:05", "0000:01:00", (5, None)),
        ("PCI:0000:01:00 GPU-I:05 GPU-CI:00", "0000:01:00", (5, 0)),
    ],
)
def test_every_spelling_of_an_address_is_normalised_with_its_mig_parts(
    where: str, pci: str, parts: tuple[int | None, int | None]
) -> None:
    found = only(f"NVRM: Xid ({where}): 79, GPU has fallen off the bus.")
    assert (found.pci, (found.instance, found.compute_instance), found.class_) == (pci, parts, XidClass.REBOOT)


@pytest.mark.parametrize("where", ["", "PCI:", "0001:00", "PCI:0000:65", "PCI:zzzz:65:00", "PCI:0000:65:00 GPU-CI:1"])
def test_an_address_that_cannot_be_read_is_never_acted_on(where: str) -> None:
    found = only(f"NVRM: Xid ({where}): 79, GPU has fallen off the bus.")
    assert (found.pci, found.class_, found.only_noted) == ("", XidClass.UNKNOWN, True)
    assert found.why == "The line names no PCI address that can be read."


@pytest.mark.parametrize(
    ("rest", "pid", "process", "text"),
    [
        ("pid=12, name=python3, Ch 1", 12, "python3", "Ch 1"),
        ("pid='<unknown>', name=<unknown>, Ch 1", None, None, "Ch 1"),
        ("pid=<unknown>, name='<unknown>', Ch 1", None, None, "Ch 1"),
        (r"pid=1, name=\u003cunknown\u003e, Ch 1", 1, None, "Ch 1"),
        ("pid=12, name=nvc:[driver], Ch 1", 12, "nvc:[driver]", "Ch 1"),
        ("pid=12, name=a) b: c(, Ch 1", 12, "a) b: c(", "Ch 1"),
        ("pid=12, name=, Ch 1", 12, None, "Ch 1"),
        ("pid=12, Ch 1", 12, None, "Ch 1"),
        ("pid=12,", 12, None, ""),
        ("pid=12", 12, None, ""),
        ("pid=99999999999, name=x, Ch 1", None, "x", "Ch 1"),
        ("pid=-1, name=x, Ch 1", None, "x", "Ch 1"),
        ("Ch 1, intr 2", None, None, "Ch 1, intr 2"),
    ],
)
def test_process_and_text_are_told_apart(rest: str, pid: int | None, process: str | None, text: str) -> None:
    found = only(f"{AT}31, {rest}")
    assert (found.pid, found.process, found.text) == (pid, process, text)


def test_the_earlier_xid_is_the_cause_and_no_part_of_the_text() -> None:
    found = only(f"{AT}45, pid=1, name=python, Ch 0000000f caused by previous Xid 149")
    assert (found.code, found.xid, found.caused_by, found.text) == ("xid-45", 45, 149, "Ch 0000000f")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "NVRM: ",
        "NVRM: Xid",
        "Xid 79",
        f"{AT}invalid",
        f"{AT}0, nothing",
        f"{AT}-79, x",
        f"{AT}79.5, x",
        f"{AT}0x4f, x",
        f"{AT}79 GPU has fallen off the bus",
        f"{AT}{'7' * 5000}, x",
        f"{AT}\uff17\uff19, x",
        "nvrm: xid (PCI:0000:65:00): 79, x",
        "NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x26:0x1a:1227)",
        "NVRM: GPU 0000:0a:00.0: GPU has fallen off the busy",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 62 Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x00000000}",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 0, Fatal, Link 1 x",
        "nvidia-nvswitch3: SXid (PCI:0000:05): 20034, Fatal, Link 1 x",
    ],
)
def test_what_is_no_such_line_reports_nothing(line: str) -> None:
    assert read_text(line, TABLES) == ()


def test_a_number_at_the_very_end_may_be_cut_and_is_never_acted_on() -> None:
    found = only(f"{AT}79")
    assert (found.code, found.class_, found.only_noted) == ("xid-79", XidClass.UNKNOWN, True)
    assert found.why == "The line ends right behind the number, which may have been cut."


def test_a_lost_gpu_without_a_number_is_a_79() -> None:
    found = only("NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.")
    assert (found.code, found.pci, found.class_) == ("xid-79", "0000:18:00", XidClass.REBOOT)


def test_an_unlisted_number_stays_unknown_whatever_its_text_says() -> None:
    assert only(f"{AT}999, Perform node reboot. Uncontained: X. RST: Yes").class_ is XidClass.UNKNOWN


@pytest.mark.parametrize(
    ("change", "class_", "action"),
    [
        ("0x0 (None) to 0x1 (GPU Reset Required)", XidClass.RESET, "reset"),
        ("0x0 (None) to 0x1 (PF FLR)", XidClass.RESET, "reset"),
        ("0x0 (None) to 0x1 (Drain and Reset)", XidClass.RESET, "reset"),
        ("0x0 (None) to 0x2 (OS Reboot)", XidClass.REBOOT, "reboot"),
        ("0x0 (None) to 0x2 (None)", XidClass.REBOOT, "reboot"),
        ("0x4 (Drain and Reset) to 0x1 (GPU Reset Required)", XidClass.RESET, "reset"),
        ("0x0 (None) to 0x3 (Drain P2P)", XidClass.UNKNOWN, "drain-p2p"),
        ("0x0 (None) to 0x4 (Drain and Reset)", XidClass.RESET_IDLE, "drain-and-reset"),
        ("0x0 (None) to 0x5 (Recover IMEX Domain)", XidClass.UNKNOWN, "recover-imex"),
        ("0x0 (None) to 0x7 (Node Reboot Required)", XidClass.UNKNOWN, "0x7"),
        ("0x0 (None) to 0x10 (GPU Reset Required)", XidClass.UNKNOWN, "0x10"),
        ("0x2 (Node Reboot Required) to 0x0 (Node Reboot Required)", XidClass.NOTE, "none"),
        ("0x0 (None) to 0x1", XidClass.UNKNOWN, None),
        ("0x2 (Node Reboot Required)", XidClass.UNKNOWN, None),
    ],
)
def test_a_recovery_action_is_that_of_the_new_code_never_of_the_words(
    change: str, class_: XidClass, action: str | None
) -> None:
    found = only(f"{AT}154, GPU recovery action changed from {change}")
    assert (found.class_, found.details.get("action")) == (class_, action)
    assert found.only_noted is (action == "none")
    assert found.why


@pytest.mark.parametrize(
    ("number", "text", "class_", "details"),
    [
        (94, "Contained: SM (0x1). RST: No, D-RST: No", XidClass.RESET_IDLE, ("contained", "SM (0x1)", "no", "no")),
        (94, "Uncontained: SM (0x1). RST: Yes, D-RST: No", XidClass.UNKNOWN, ("uncontained", "SM (0x1)", "yes", "no")),
        (95, "Uncontained: FBHUB. RST: Yes", XidClass.RESET, ("uncontained", "FBHUB", "yes", None)),
        (95, "Contained: FBHUB. RST: No, D-RST: Yes", XidClass.UNKNOWN, ("contained", "FBHUB", "no", "yes")),
        (95, "Uncontai", XidClass.RESET, (None, None, None, None)),
    ],
)
def test_a_containment_that_contradicts_its_number_is_never_acted_on(
    number: int, text: str, class_: XidClass, details: tuple[str | None, ...]
) -> None:
    found = only(f"{AT}{number}, pid=1, {text}")
    assert found.class_ is class_
    assert found.only_noted is (class_ is XidClass.UNKNOWN)
    told = tuple(found.details.get(name) for name in ("containment", "location", "reset", "drain-and-reset"))
    assert told == details


def test_the_counters_of_a_140_are_signed() -> None:
    found = only(f"{AT}140, An uncorrectable ECC error detected (x) DRAM:-2147483648, LTC:1, MMU:0, PCIE:0")
    assert dict(found.details) == {"DRAM": "-2147483648", "LTC": "1", "MMU": "0", "PCIE": "0"}
    assert found.class_ is XidClass.RESET


@pytest.mark.parametrize("verb", ["node reboot", "GPU reset"])
def test_a_160_tells_what_puts_its_repair_into_effect(verb: str) -> None:
    found = only(
        f"{AT}160, Marking Channel 3 in FBPA 2 along with its pair for repair. Perform {verb} to activate repair."
    )
    assert (found.class_, found.details["activation"]) == (XidClass.RESET_IDLE, verb)
    assert found.why.endswith(f"The line asks for a {verb}.")


def test_a_160_that_is_cut_keeps_its_class() -> None:
    assert only(f"{AT}160, Marking Channel 3").class_ is XidClass.RESET_IDLE


def test_a_row_that_is_already_pending_is_harmless() -> None:
    found = only(f"{AT}64, Row Remapper Error: (0x1) - Attempting to remap a row that is already pending remapping")
    assert (found.class_, found.only_noted) == (XidClass.NOTE, True)


@pytest.mark.parametrize(
    ("registers", "class_", "why"),
    [
        ("0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "NVIDIA decodes the registers"),
        ("0x0, 0xffffffff, 0x0, 0x0, 0x0, 0xffffffff, 0xffffffff", XidClass.RESET, "NVIDIA decodes the registers"),
        ("0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.NOTE, "register 0 bit 0: can be ignored."),
        ("0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.NOTE, "register 0 bit 0, 23, 30: can be ignored."),
        ("0x100002, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.NOTE, "bit 1, 20: sympathetic"),
        ("0x0, 0x0, 0x0, 0x30000, 0x0, 0x0, 0x0", XidClass.NOTE, "register 3 bit 16, 17: sympathetic"),
        ("0x0, 0x0, 0x0, 0x40000, 0x0, 0x0, 0x0", XidClass.RESET, "the fabric has to be reset"),
        ("0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0", XidClass.NOTE, "many ECC errors, none uncorrectable"),
        ("0x0, 0x0, 0x0, 0x0, 0x140000, 0x0, 0x0", XidClass.RESET, "ECC or parity"),
        ("0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "ECC or parity"),
        ("0x11, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "can be ignored; register 0 bit 4"),
        ("0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "marginal signal"),
        ("0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "run the field diagnosis"),
        ("0x4, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "register 0 bit 2: not listed"),
        ("0x1, 0x0, 0x0, 0x0, 0x0, 0x0", XidClass.RESET, "NVIDIA decodes the registers"),
    ],
)
def test_registers_make_an_nvlink_error_milder_or_leave_it(registers: str, class_: XidClass, why: str) -> None:
    found = only(f"{AT}74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14({registers})")
    assert found.class_ is class_
    assert why in found.why


DECODED = [
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000002 0x0)", None, XidClass.RESET),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000001 0x0)", None, XidClass.NOTE),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000021 0x00000002)", None, XidClass.RESET),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000021 0x00000002)", 570, XidClass.RESET),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000002)", 570, XidClass.UNKNOWN),
    (144, "SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001 0x00000002)", 575, XidClass.RESET),
    (144, "SAW_MVB Fatal XC1 i1 Link 0 (0x00000001 0x00000002 0x0)", None, XidClass.NOTE),
    (144, "SAW_MVB Fatal XC1 i0 Link 0 (0x00000001 0x00000040)", None, XidClass.UNKNOWN),
    (144, "SAW_MVB Fatal XC1 i0 Link 0 (0x00000001)", None, XidClass.UNKNOWN),
    (144, "SAW_MVB Fatal XC1 i0 Link 0 (0x00000001 0x000000", None, XidClass.UNKNOWN),
    (144, "RLW_REMAP Fatal XC1 i0 Link 0 (0x00000001 0x00000002)", None, XidClass.UNKNOWN),
    (144, "unheard of", None, XidClass.UNKNOWN),
    (145, "RLW_REMAP Nonfatal XC1 i0 Link 10 (0x00000004 0x00000004 0x0)", None, XidClass.APPLICATION),
    (145, "RLW_RXPIPE Nonfatal XC1 i0 Link 10 (0x00000006 0x00000001 0x0)", None, XidClass.NOTE),
    (146, "TLW_RX Fatal XC0 i0 Link 1 (0x0000000a 0x00000004)", None, XidClass.RESET),
    (146, "TLW_RX_PIPE1 Fatal XC0 i0 Link 1 (0x0000000b 0x00000004)", None, XidClass.RESET),
    (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 1 (0x00400011 0x12345678)", None, XidClass.RESET),
    (149, "NETIR_LINK_EVT Fatal XC0 i0 Link -1 (0x02600011 0x12345678)", None, XidClass.NOTE),
    (149, "NETIR_LINK_EVT Fatal XC 1 i 0 Link 01 [0x000001c6 0x0]", None, XidClass.RESET),
    (150, "MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000)", None, XidClass.RESET),
]


@pytest.mark.parametrize(("number", "text", "driver", "class_"), DECODED)
def test_the_words_of_the_newer_nvlink_errors_are_decoded(
    number: int, text: str, driver: int | None, class_: XidClass
) -> None:
    found = only(f"{AT}{number}, {text}", driver)
    assert (found.class_, bool(found.why)) == (class_, True)
    assert found.only_noted is (" i1 " in text)


def test_every_row_of_the_decode_table_is_met_by_its_own_words() -> None:
    assert len(TABLES.nvlink.rules) == 95
    for rule in TABLES.nvlink.rules:
        for pattern, driver in ((rule.before_575, 570), (rule.from_575, 580)):
            words = f"0x{int(pattern.replace('-', '0'), 2):08x} {(rule.status or ('0x00000009',))[0]}"
            line = f"{AT}{rule.xid}, {rule.unit.split('/')[0]} Fatal XC0 i0 Link 1 ({words})"
            assert only(line, driver).class_ is CLASSES[rule.advice], rule


def test_rules_that_differ_leave_it_unknown() -> None:
    rule = next(rule for rule in TABLES.nvlink.rules if rule.status == ("0x00000002",) and rule.xid == 144)
    other = next(rule for rule in TABLES.nvlink.rules if CLASSES[rule.advice] is XidClass.NOTE)
    doubled = replace(TABLES.nvlink, rules=(rule, replace(rule, advice=other.advice)))
    line = f"{AT}144, SAW_MVB Fatal XC0 i0 Link 1 (0x00000001 0x00000002)"
    found = read_line(line, replace(TABLES, nvlink=doubled))
    assert found is not None
    assert (found.class_, found.why) == (XidClass.UNKNOWN, "Several rules of the decode table fit and differ.")


def test_a_class_that_a_site_gave_the_number_is_never_raised_by_a_text() -> None:
    quiet = {**TABLES.xids.xids, 154: replace(TABLES.xids.xid(154), class_=XidClass.NOTE)}
    tables = replace(TABLES, xids=replace(TABLES.xids, xids=quiet))
    found = read_line(f"{AT}154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", tables)
    assert found is not None
    assert found.class_ is XidClass.NOTE


@pytest.mark.parametrize(
    ("number", "severity", "class_"),
    [
        (20034, "Fatal", XidClass.RESET),
        (20034, "Non-fatal", XidClass.NOTE),
        (22003, "Fatal", XidClass.REBOOT),
        (22003, "Non-fatal", XidClass.NOTE),
        (19084, "Fatal", XidClass.REBOOT),
        (12028, "Fatal", XidClass.UNKNOWN),
        (10005, "Fatal", XidClass.NOTE),
        (24001, "Fatal", XidClass.NOTE),
        (99999, "Fatal", XidClass.UNKNOWN),
        (99999, "Non-fatal", XidClass.UNKNOWN),
    ],
)
def test_a_switch_error_is_what_the_driver_calls_it(number: int, severity: str, class_: XidClass) -> None:
    found = only(f"nvidia-nvswitch2: SXid (PCI:0000:06:00.0): {number}, {severity}, Link 48 LTSSM Fault Up (First)")
    assert (found.code, found.xid, found.number) == (f"sxid-{number}", None, number)
    assert (found.pci, found.gpu, found.class_) == ("0000:06:00", None, class_)
    assert dict(found.details) == {"switch": "2", "severity": severity, "link": "48", "first": "yes"}


def test_a_switch_error_without_a_link_says_only_what_it_knows() -> None:
    found = only("nvidia-nvswitch2: SXid (PCI:0000:06:00.0): 10003, Fatal, Host unhandled interrupt")
    assert dict(found.details) == {"switch": "2", "severity": "Fatal"}


@pytest.mark.parametrize(("code", "words"), [(20034, "SXid 20034, LTSSM Fault Up"), (99999, "SXid 99999")])
def test_a_switch_error_is_described_in_plain_words(code: int, words: str) -> None:
    assert TABLES.switches.describe(code) == words


@pytest.mark.parametrize(
    ("text", "card"),
    [
        (NAMED, Gpu(uuid=UUID)),
        (f"x {NAMED.upper().replace('NVRM: GPU AT', 'NVRM: GPU at')}", Gpu(uuid=UUID)),
        (f"{NAMED}\nNVRM: GPU Board Serial Number: 1650000000001", Gpu(uuid=UUID, serial="1650000000001")),
        (f"{NAMED}\nNVRM: GPU Board Serial Number: [N/A]", Gpu(uuid=UUID)),
        (f"{NAMED}\nNVRM: GPU Board Serial Number: ", Gpu(uuid=UUID)),
        (f"{NAMED}\n{LOST}\nNVRM: GPU Board Serial Number: 1650000000001", Gpu(uuid=UUID)),
        (f"NVRM: GPU Board Serial Number: 1650000000001\n{NAMED}", Gpu(uuid=UUID)),
        (f"{NAMED}\n{NAMED}", Gpu(uuid=UUID)),
        (f"{NAMED}\n{OTHER}", None),
        (NAMED.replace("65:00", "66:00"), None),
        (NAMED[:-1], None),
        ("", None),
    ],
)
def test_a_card_is_known_by_the_lines_that_name_it_and_by_no_guess(text: str, card: Gpu | None) -> None:
    for whole in (f"{text}\n{LOST}", f"{LOST}\r\n{text}"):
        assert read_text(whole, TABLES)[0].gpu == card
    assert cards_in(text).get("0000:65:00") == card


def test_a_text_gives_all_its_errors_in_order_also_when_lines_are_glued() -> None:
    switch = "nvidia-nvswitch1: SXid (PCI:0000:c3:00.0): 24007, Fatal, x"
    text = f"{NAMED} {LOST} {AT}45, pid=1, name=a, Ch 1\nnothing\n{switch}"
    assert [(one.code, one.gpu and one.gpu.uuid) for one in read_text(text, TABLES)] == [
        ("xid-79", UUID),
        ("xid-45", UUID),
        ("sxid-24007", None),
    ]


def test_a_process_name_cannot_play_a_line_of_the_driver() -> None:
    found = read_text(f"{AT}31, pid=1, name=NVRM: Xid (PCI:, Ch 1", TABLES)
    assert [(one.code, one.class_) for one in found] == [("xid-31", XidClass.APPLICATION)]


def test_a_text_is_kept_shortened_and_a_huge_one_takes_no_time() -> None:
    assert len(only(f"{AT}79, {'x' * 3_000_000}").text) == 1000
    assert only(f"{AT}45, {'x' * 5000} caused by previous Xid 1").caused_by is None
    for hostile in ('"' + "\\n" * 500_000, "NVRM: " * 100_000, f'"{AT}79, ' + '"   ' * 200_000):
        read_text(hostile, TABLES)


# Damage


def ceiling(finding: KernelFinding) -> int:
    """The gravest that any untouched line of this number can ask for."""
    if finding.xid is None:
        known = TABLES.switches.sxids.get(finding.number)
        return gravity(known.fatal) if known and known.fatal is not XidClass.UNKNOWN else gravity(XidClass.NOTE)
    if finding.number in NVLINK5:
        return gravity(XidClass.RESET)
    if finding.number == 154:
        return max(gravity(class_) for _, class_, _ in RECOVERY_ACTIONS.values())
    return gravity(TABLES.xids.xid(finding.number).class_)


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    read_text(text, TABLES)
    read_text(AT + text, TABLES)


PIECES = st.sampled_from(
    [
        *(AT, LOST, NAMED, "NVRM: ", "Xid (", "PCI:0000:65:00", "): ", "79, ", "154, ", "144, ", "pid=", "name=", ", "),
        *(
            "GPU recovery action changed from 0x0 (None) to ",
            "0x2 (",
            "i0 Link 1 (0x1 0x2)",
            " caused by previous Xid ",
        ),
        *("nvidia-nvswitch1: SXid (PCI:0000:c3:00.0): ", "24007, ", "Fatal, "),
        *("\n", "\ud800", "\x00", "9" * 5000, "(", ")", '"', "\\n"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=20), st.sampled_from([None, 0, 570, 600]))
def test_no_mixture_of_the_drivers_own_words_raises_or_is_graver_than_its_number(
    pieces: list[str], driver: int | None
) -> None:
    for finding in read_text("".join(pieces), TABLES, driver):
        assert gravity(finding.class_) <= ceiling(finding)


def cut(line: str, chance: random.Random) -> str:
    return line[: chance.randrange(len(line))]


def without(line: str, chance: random.Random) -> str:
    at = chance.randrange(len(line))
    return line[:at] + line[at + chance.randint(1, 8) :]


def with_more(line: str, chance: random.Random) -> str:
    at = chance.randrange(len(line))
    return line[:at] + "".join(chance.choice("0129afx ,:()[]\"'\\\n\ud800Ü") for _ in range(3)) + line[at:]


def doubled(line: str, chance: random.Random) -> str:
    at = chance.randrange(len(line))
    return line[:at] + line[at : at + 12] + line[at:]


def mixed(line: str, chance: random.Random) -> str:
    other = chance.choice(LINES)
    return line[: chance.randrange(len(line))] + other[chance.randrange(len(other)) :]


@pytest.mark.parametrize("damage", [cut, without, with_more, doubled, mixed])
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_damaged_line_is_never_graver_than_an_untouched_one_of_its_number(
    line: str, damage: Callable[[str, random.Random], str]
) -> None:
    chance = random.Random(line)
    for _ in range(60):
        told = damage(line, chance)
        for finding in read_text(told, TABLES):
            assert gravity(finding.class_) <= ceiling(finding), told


@pytest.mark.parametrize(("code", "line"), [(row[0], row[5]) for row in ROWS], ids=range(len(ROWS)))
def test_a_line_that_is_cut_anywhere_is_never_graver_than_the_whole(code: str, line: str) -> None:
    whole = read_line(line, TABLES)
    most = gravity(whole.class_) if whole else 0
    for end in range(len(line)):
        part = read_line(line[:end], TABLES)
        assert part is None or gravity(part.class_) <= most, line[:end]
