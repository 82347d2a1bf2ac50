"""The catalogue as shipped, and how a bad one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.xids import Catalogue, XidClass
from app.errors import ConfigurationError
from app.xid_file import load_xids, read_xids

SHIPPED = Path(__file__).parents[2] / "config" / "xids.yaml"

BUCKET_CLASS = {
    "RESTART_APP": XidClass.APPLICATION,
    "IGNORE": XidClass.NOTE,
    "RESET_GPU": XidClass.RESET,
    "RESTART_BM": XidClass.REBOOT,
}


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_xids(SHIPPED)


def test_the_shipped_catalogue_is_complete_and_names_its_edition(catalogue: Catalogue) -> None:
    assert catalogue.edition == "NVIDIA Xid catalogue of 2025-09-30"
    assert set(range(1, 178)) | {185} == set(catalogue.xids)


@pytest.mark.parametrize(
    ("class_", "numbers"),
    [
        # NVIDIA/k8s-device-plugin ignores these as faults of the program; 109 is left out, see `reset`.
        (XidClass.APPLICATION, [13, 31, 43, 45, 68, 8, 11, 25, 32, 69, 80, 137]),
        (XidClass.NOTE, [14, 38, 44, 66, 67, 92, 93, 106, 107, 121, 141, 157, 161, 171, 172]),
        (XidClass.RESET_IDLE, [63, 94, 160]),
        (XidClass.RESET, [46, 48, 62, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158]),
        (XidClass.REBOOT, [79, 151]),
        (XidClass.ISOLATE, [54, 64]),
        (XidClass.UNKNOWN, [1, 58, 142, 144, 149, 150, 154, 159, 166, 170, 173, 177, 185]),
    ],
)
def test_each_code_has_the_class_that_was_agreed(catalogue: Catalogue, class_: XidClass, numbers: list[int]) -> None:
    assert {number: catalogue.xid(number).class_ for number in numbers} == dict.fromkeys(numbers, class_)


def test_only_these_codes_may_ever_take_a_node_out(catalogue: Catalogue) -> None:
    quiet = {XidClass.APPLICATION, XidClass.NOTE, XidClass.UNKNOWN}
    assert sorted(number for number, xid in catalogue.xids.items() if xid.class_ not in quiet) == [
        *(46, 48, 54, 62, 63, 64, 74, 79, 94, 95, 109, 110, 119, 120),
        *(136, 140, 143, 151, 155, 156, 158, 160),
    ]


def test_every_class_that_is_not_simply_the_bucket_says_why(catalogue: Catalogue) -> None:
    silent = [
        number
        for number, xid in catalogue.xids.items()
        if xid.title and xid.class_ is not BUCKET_CLASS.get(xid.nvidia) and not xid.why
    ]
    assert silent == []


@pytest.mark.parametrize("number", [31, 32, 38, 43, 44, 62, 63, 68, 69, 80, 92, 94, 109, 119, 121, 142, 143])
def test_every_code_that_the_field_disagrees_about_says_so(catalogue: Catalogue, number: int) -> None:
    assert catalogue.xid(number).why.endswith(".")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml: The file is empty. Give the keys `edition`, `xids`."),
        ("- 1\n", "x.yaml:1: This is not a mapping. Give `edition`, `xids`."),
        ("edition: e\n", "x.yaml:1: 'xids' is missing. Add `xids:`."),
        (
            "edition: null\nxids: {79: {class: reboot}}\n",
            "x.yaml:1: edition: The edition is empty. Name the source of the catalogue and its date.",
        ),
        ("edition: e\nxids: {}\n", "x.yaml:2: xids: No Xid is listed. List them as `79: {class: reboot}`."),
        ("edition: e\nxids: [79]\n", "x.yaml:2: xids: This is not a mapping. Write `key: value`."),
        (
            "edition: e\nxids:\n  79: {class: rebot}\n",
            f"x.yaml:3: xids.79.class: 'rebot' is not a class. Use one of: {', '.join(XidClass)}.",
        ),
        ("edition: e\nxids:\n  79: {name: X}\n", "x.yaml:3: xids.79: 'class' is missing. Add `class:`."),
        (
            "edition: e\nxids:\n  79:\n    class: reboot\n    clas: reset\n",
            "x.yaml:5: xids.79: 'clas' is not known here. Known are `name`, `title`, `nvidia`, `class`, `why`.",
        ),
        (
            "edition: e\nxids:\n  79: {class: reboot}\n  79: {class: note}\n",
            "x.yaml:4: xids: '79' is given twice. Keep one of the two.",
        ),
        (
            "edition: e\nxids:\n  0x4f: {class: reboot}\n",
            "x.yaml:3: xids.0x4f: '0x4f' is not the number of an Xid. Use a whole number from 1 up, like 79.",
        ),
        (
            "edition: e\nxids:\n  79: {class: [reboot]}\n",
            "x.yaml:3: xids.79.class: This is not a plain value. Write a word, a number or a quoted sentence.",
        ),
        (
            "edition: e\nxids:\n  79: reboot\n",
            "x.yaml:3: xids.79: This is not a mapping. Give `name`, `title`, `nvidia`, `class`, `why`.",
        ),
    ],
)
def test_a_bad_catalogue_is_refused_with_line_place_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_xids(text, file="x.yaml")
    assert str(refusal.value) == message


def test_broken_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_xids("edition: e\nxids: {79: {class: reboot}\n", file="x.yaml")
    assert refusal.value.line == 3
    assert "This is not YAML" in str(refusal.value)


def test_an_unprintable_character_is_refused_even_where_yaml_gives_no_line() -> None:
    with pytest.raises(ConfigurationError, match="This is not YAML"):
        read_xids("edition: \x07\n", file="x.yaml")


def test_a_catalogue_that_cannot_be_opened_or_decoded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read \(No such file or directory\)"):
        load_xids(tmp_path / "absent.yaml")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"edition: \xe9\n")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_xids(latin)


def test_words_stay_words_and_a_null_is_empty() -> None:
    xid = read_xids("edition: 2025-09-30\nxids:\n  7: {name: no, why: null, class: note}\n", file="x").xid(7)
    assert (xid.name, xid.why, xid.title) == ("no", "", "")
