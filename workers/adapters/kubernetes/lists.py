"""Lists of the API server, read page by page, so that no single answer grows with the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from app.errors import TemporaryPortError
from workers.adapters.kubernetes.answers import GoneError, Right
from workers.adapters.kubernetes.client import Client

PAGE = 500
T = TypeVar("T")


class ListMetadata(msgspec.Struct):
    """Where a list stands in the history, and the token for its next page."""

    version: str | None = msgspec.field(default=None, name="resourceVersion")
    rest: str | None = msgspec.field(default=None, name="continue")


class Page(msgspec.Struct, Generic[T]):
    """One page; `items` may be null."""

    metadata: ListMetadata
    items: list[T] | None = None


def read_list(
    client: Client,
    path: str,
    right: Right,
    decoder: msgspec.json.Decoder[Page[T]],
    query: Mapping[str, str | int] | None = None,
) -> tuple[list[T], str]:
    """All items, and the resourceVersion from which a watch sees everything that came after them.

    A list whose pages have expired midway (410) is temporary: the next try begins anew.
    """
    asked: dict[str, str | int] = {**(query or {}), "limit": PAGE}
    items: list[T] = []
    while True:
        try:
            answer = client.expect("GET", path, right, query=asked)
        except GoneError as gone:
            sentence = f"The pages of {right} have expired while they were read; it is begun anew."
            raise TemporaryPortError(sentence) from gone
        page = decoded(decoder, answer.body, right)
        items += page.items or []
        if not page.metadata.rest:
            return items, page.metadata.version or ""
        asked["continue"] = page.metadata.rest


def decoded(decoder: msgspec.json.Decoder[T], body: bytes, right: Right) -> T:
    """The body as its struct. A body that is none is temporary: it comes from something between us and the server."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise TemporaryPortError(f"What came back from {right} cannot be read: {wrong}.") from wrong
