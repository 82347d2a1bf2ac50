from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import ConfigurationError
from app.secret_files import MAX_BYTES, Token, holder, matches, read_named_tokens, read_tokens


def test_both_tokens_of_a_rotation_open_the_door(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"new-token\r\n\n  old-token  ")

    tokens = read_tokens(file)

    assert tokens == (b"new-token", b"old-token")
    assert matches(b"new-token", tokens)
    assert matches(b"old-token", tokens)


@pytest.mark.parametrize("presented", [b"", b"new", b"new-token ", b"NEW-TOKEN", "nëw-token".encode()])
def test_another_token_does_not(presented: bytes) -> None:
    assert not matches(presented, (b"new-token", b"old-token"))


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"old-token")
    assert read_tokens(file) == (b"old-token",)

    file.write_bytes(b"new-token")

    assert read_tokens(file) == (b"new-token",)


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
    file.write_bytes("plain\nana  anas-token\nZoë\tzoes-token\n".encode())

    tokens = read_named_tokens(file)

    assert tokens == (Token(b"plain"), Token(b"anas-token", "ana"), Token(b"zoes-token", "Zoë"))
    assert read_tokens(file) == (b"plain", b"anas-token", b"zoes-token")
    assert holder(b"anas-token", tokens) == tokens[1]
    assert holder(b"ana", tokens) is None
    assert "anas-token" not in repr(tokens)


def test_a_line_of_three_words_is_refused_without_being_shown(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(b"good-token\nana maria hidden-token\n")

    with pytest.raises(ConfigurationError, match="more than two words") as caught:
        read_named_tokens(file)

    assert "hidden-token" not in str(caught.value)
