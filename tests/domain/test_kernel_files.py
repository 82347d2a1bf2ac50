"""The tables of kernel lines as shipped, and how a bad one is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.nvlink import Advice, Weight
from app.domain.switches import Reach
from app.domain.xids import XidClass
from app.errors import ConfigurationError
from app.kernel_files import load_kernel_tables, read_nvlink, read_sxids

CONFIG = Path(__file__).parents[2] / "config"
RULE = '{xid: 144, unit: A, before_575: "%s", from_575: "%s", status: ["0x00000001"], advice: reset, later: L}'
GOOD_RULE = RULE % ("0" * 32, "-" * 32)
BITS = "{register: 0, bits: [1], weight: harmless, meaning: m}"


def nvlink(rule: str = GOOD_RULE, bits: str = BITS) -> str:
    return f"edition: e\nregisters:\n  - {bits}\nrules:\n  - {rule}\n"


def test_the_shipped_nvlink_tables_are_whole() -> None:
    tables = load_kernel_tables(CONFIG).nvlink
    assert tables.edition == "NVIDIA Xid catalogue of 2025-09-30"
    assert Counter(rule.advice for rule in tables.rules) == {Advice.IGNORE: 45, Advice.RESET: 42, Advice.FOLLOW_154: 8}
    assert {rule.xid for rule in tables.rules} == set(range(144, 151))
    bits = [(row.register, bit) for row in tables.registers for bit in row.bits]
    assert len(bits) == len(set(bits)) == 42
    quiet = {(row.register, bit) for row in tables.registers for bit in row.bits if row.weight is not Weight.FAULT}
    assert sorted(quiet) == [
        *((0, 0), (0, 1), (0, 20), (0, 23), (0, 30)),
        *((3, 16), (3, 17), (4, 20), (4, 23), (4, 26), (4, 29)),
    ]


def test_the_shipped_switch_errors_are_whole() -> None:
    sxids = load_kernel_tables(CONFIG).switches.sxids
    assert len(sxids) == 92
    assert Counter((sxid.reach, sxid.fatal) for sxid in sxids.values()) == {
        (Reach.ALWAYS, XidClass.REBOOT): 21,
        (Reach.PORT, XidClass.RESET): 40,
        (Reach.PORT, XidClass.UNKNOWN): 3,
        (Reach.PORT, XidClass.NOTE): 2,
        (Reach.NONE, XidClass.NOTE): 23,
        (Reach.NONE, XidClass.UNKNOWN): 2,
        (Reach.NONE, XidClass.REBOOT): 1,
    }


def test_a_small_good_file_is_read() -> None:
    assert len(read_nvlink(nvlink(), file="x").rules) == 1
    switches = "edition: e\nsxids:\n  - {sxid: 1, name: n, reach: port, fatal: reset}\n"
    assert list(read_sxids(switches, file="x").sxids) == [1]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_nvlink, "", "x.yaml: The file is empty. Start from the file that is shipped."),
        (
            read_nvlink,
            "edition: [\n",
            "x.yaml:2: This is not YAML: expected the node content, but found '<stream end>'.",
        ),
        (
            read_nvlink,
            "edition: \x07\n",
            "x.yaml:1: A character may not stand in YAML. Take the control character out.",
        ),
        (read_nvlink, "- 1\n", "x.yaml:1: This is a list, not a mapping."),
        (read_nvlink, "edition: e\n", "x.yaml:1: `registers` is missing."),
        (read_nvlink, "edition: e\nregisters: []\nrules: []\n", "x.yaml:2: registers: Nothing is listed."),
        (
            read_nvlink,
            nvlink(GOOD_RULE.replace("144", "79")),
            "x.yaml:5: rules[0].xid: Xid 79 is not decoded by rules. Use a number from 144 to 150.",
        ),
        (
            read_nvlink,
            nvlink(RULE % ("0" * 32, "0" * 31)),
            "x.yaml:5: rules[0].from_575: This is no pattern of 32 bits. Write 32 characters of 0, 1 and -.",
        ),
        (
            read_nvlink,
            nvlink(GOOD_RULE.replace("0x00000001", "1")),
            "x.yaml:5: rules[0].status[0]: '1' is no word. Write it like \"0x00000001\".",
        ),
        (
            read_nvlink,
            nvlink(GOOD_RULE.replace("reset", "resett")),
            "x.yaml:5: rules[0].advice: 'resett' is no advice. Did you mean `reset`? Use one of: ignore, reset,",
        ),
        (
            read_nvlink,
            nvlink(bits=BITS.replace("register: 0", "register: 1")),
            "x.yaml:3: registers[0].register: Register 1 means nothing. Use one of (0, 2, 3, 4).",
        ),
        (
            read_nvlink,
            nvlink(bits=BITS.replace("[1]", "[32]")),
            "x.yaml:3: registers[0].bits: These are no bits of a register. List numbers from 0 to 31.",
        ),
        (
            read_nvlink,
            nvlink(bits=BITS.replace("[1]", "[]")),
            "x.yaml:3: registers[0].bits: These are no bits of a register. List numbers from 0 to 31.",
        ),
        (
            read_sxids,
            "edition: e\nsxids:\n  - {sxid: 1, name: n, reach: port, fatal: rest}\n",
            "x.yaml:3: sxids[0].fatal: 'rest' is no xid class. Did you mean `reset`?",
        ),
        (
            read_sxids,
            "edition: e\nsxids:\n" + "  - {sxid: 1, name: n, reach: port, fatal: reset}\n" * 2,
            "x.yaml:4: sxids[1]: SXid 1 is listed twice. Keep one of the two.",
        ),
    ],
)
def test_a_bad_table_is_refused_with_line_place_and_remedy(
    read: Callable[..., object], text: str, message: str
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read(text, file="x.yaml")
    assert str(refusal.value).startswith(message)
    assert refusal.value.remedy


def test_a_table_that_cannot_be_opened_or_decoded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"nvlink.yaml: The table cannot be read \(No such file or directory\)"
    ):
        load_kernel_tables(tmp_path)
    (tmp_path / "nvlink.yaml").write_bytes(b"edition: \xe9\n")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_kernel_tables(tmp_path)
