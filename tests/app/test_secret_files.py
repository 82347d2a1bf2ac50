from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import ConfigurationError
from app.secret_files import MAX_BYTES, Token, holder, matches, read_named_tokens, read_tokens


def test_both_tokens_of_a_rotation_open_the_door(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"new-token-long-enough\r\n\n  old-token-long-enough  ")

    tokens = read_tokens(file)

    assert tokens == (b"new-token-long-enough", b"old-token-long-enough")
    assert matches(b"new-token-long-enough", tokens)
    assert matches(b"old-token-long-enough", tokens)


@pytest.mark.parametrize(
    "presented", [b"", b"new", b"new-token-long-enough ", b"NEW-TOKEN-LONG-ENOUGH", "nëw-token-long-enough".encode()]
)
def test_another_token_does_not(presented: bytes) -> None:
    assert not matches(presented, (b"new-token-long-enough", b"old-token-long-enough"))


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"old-token-long-enough")
    assert read_tokens(file) == (b"old-token-long-enough",)

    file.write_bytes(b"new-token-long-enough")

    assert read_tokens(file) == (b"new-token-long-enough",)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_a_token_is_refused_and_never_lets_everybody_in(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(content)

    with pytest.raises(ConfigurationError, match="The token file is empty"):
        read_tokens(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"absent: The token file cannot be read \(No such file or directory\)"
    ):
        read_tokens(tmp_path / "absent")


def test_a_file_that_is_no_token_file_is_refused_without_being_shown(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"x" * (MAX_BYTES + 1))

    with pytest.raises(ConfigurationError, match="larger than 16384 bytes") as caught:
        read_tokens(file)

    assert "xx" not in str(caught.value)


def test_a_token_may_stand_behind_its_holders_name(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes("plain-token-long-enough\nana  anas-token-long-enough\nZoë\tzoes-token-long-enough\n".encode())

    tokens = read_named_tokens(file)

    assert tokens == (
        Token(b"plain-token-long-enough"),
        Token(b"anas-token-long-enough", "ana"),
        Token(b"zoes-token-long-enough", "Zoë"),
    )
    assert read_tokens(file) == (b"plain-token-long-enough", b"anas-token-long-enough", b"zoes-token-long-enough")
    assert holder(b"anas-token-long-enough", tokens) == tokens[1]
    assert holder(b"ana", tokens) is None
    assert "anas-token-long-enough" not in repr(tokens)


def test_a_line_of_three_words_is_refused_without_being_shown(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"good-token-long-enough\nana maria hidden-token\n")

    with pytest.raises(ConfigurationError, match="more than two words") as caught:
        read_named_tokens(file)

    assert "hidden-token" not in str(caught.value)


def test_a_token_that_could_be_guessed_is_refused_with_its_place_and_without_being_shown(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"good-token-long-enough\n\nana sixteen-chars-xy\n")
    assert len(read_tokens(file)) == 2

    file.write_bytes(b"good-token-long-enough\n\nana fifteen-chars-x\n")

    with pytest.raises(ConfigurationError, match=r"tokens: Token 2 of 2 is shorter than 16 characters") as caught:
        read_tokens(file)
    assert "fifteen" not in str(caught.value)
