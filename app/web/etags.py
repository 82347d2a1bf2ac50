"""Pages that a browser asks for again every few seconds: the same content gives the same ETag, and then only a 304."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from flask import Response, request

_RUNNING: Final = re.compile(rb'(<time class="rel"[^>]*>)[^<]*')
"""Texts that change with the clock alone; the page's script counts them on by itself."""


def answer(html: str) -> Response:
    """The page, or 304 when the browser has it already."""
    body = html.encode()
    response = Response(body, mimetype="text/html")
    response.set_etag(hashlib.sha256(_RUNNING.sub(rb"\1", body)).hexdigest()[:32], weak=True)
    response.cache_control.no_cache = True
    response.cache_control.private = True  # it shows what whoever looks may order
    response.make_conditional(request)
    return response
