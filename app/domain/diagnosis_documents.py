"""Finds the JSON documents in what a diagnosis printed, and notices when a part of one is left over.

Lines may stand before and after a document: warnings of `dcgmi`, progress, stderr in the same log. A log may also be
cut off at either end, and then complete objects lie inside an incomplete one: they must not be taken for the whole.
What the documents mean is read in `app.domain.diagnosis_tree`.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TORN = re.compile(r'"(?:DCGM (?:GPU )?Diagnostic|test_categories|tests|results|status|iterations|runtime_error)"')
_MOST_OPENINGS = 1000  # Braces that open nothing readable, before the rest is given up: bounds the time of a bad text.


def find_documents(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects in the text, outermost ones only, and whether the text is torn.

    Torn: something outside of them has keys of a diagnosis, or goes on as only the inside of a larger object would.
    """
    documents, rest = _split(text)
    torn = any(_TORN.search(part) for part in rest) or any(part.lstrip()[:1] in {",", "]", "}"} for part in rest[1:])
    return documents, torn


def _split(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON objects that stand in the text one after the other, and the stretches around them."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    documents: list[dict[str, Any]] = []
    rest: list[str] = []
    at = failures = 0
    while failures < _MOST_OPENINGS and (opening := text.find("{", at)) >= 0:
        try:
            document, end = decoder.raw_decode(text, opening)
        except (ValueError, RecursionError):
            failures += 1
            end = opening + 1
            rest.append(text[at:end])
        else:
            documents.append(document)
            rest.append(text[at:opening])
        at = end
    return documents, [*rest, text[at:]]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, refused when a key is given twice: a second `status` would silently win."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found
