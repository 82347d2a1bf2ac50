"""One connection pool to one API server, shared by all threads of a process. No retries: the engine looks again.

What is asked is in the neighbouring modules; here is only how: connections, TLS, time limits and size limits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import kubernetes.client
import msgspec
import urllib3
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.exceptions import TimeoutError as OutOfTime

from app.errors import PermanentPortError, TemporaryPortError
from workers.adapters.kubernetes.answers import Answer, Right, error_of, shortened
from workers.adapters.kubernetes.credentials import Credentials

CONNECT_S: Final = 3.0
ANSWER_S: Final = 11.0
"""Seconds to wait for a whole answer, a second try included; with one more connection below the engine's 15 a call."""
PART: Final = 1024 * 1024
"""Bytes of an answer that are read at once; between them it is looked whether there is time left."""
BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one answer. A page of 500 nodes is about 10 MB."""
CONNECTIONS: Final = 32
JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
AGENT: Final = "sickbay"


def connect(kubeconfig: Path | None = None) -> Client:
    """A client by that kubeconfig; without one, by KUBECONFIG or `~/.kube/config`, else by the pod's service account.

    Raises:
        ConfigurationError: none of them is there or can be read.
    """
    return Client(Credentials(kubeconfig))


def segment(name: str) -> str:
    """A name as one segment of a path: nothing in it can leave its place."""
    return quote(name, safe="")


class Client:
    """Requests to the API server. Safe to share between threads."""

    def __init__(self, credentials: Credentials) -> None:
        configuration = credentials.configuration
        configuration.connection_pool_maxsize = CONNECTIONS
        self._host = configuration.host
        self._credentials = credentials
        self._pool: urllib3.PoolManager = kubernetes.client.ApiClient(configuration).rest_client.pool_manager

    def close(self) -> None:
        """Drops the kept connections."""
        self._pool.clear()

    def ask(
        self,
        method: str,
        path: str,
        right: Right,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Answer:
        """The answer, whatever its code.

        Raises:
            TemporaryPortError: there was none in time; the request may have had its effect all the same.
            PermanentPortError: it is too large to be read.
        """
        payload = None if body is None else msgspec.json.encode(body)
        headers = {} if payload is None else {"Content-Type": content_type}
        ends = time.monotonic() + ANSWER_S
        try:
            return self._once(method, path, query, payload, headers, right, ends)
        except ProtocolError as wrong:
            if method != "GET":
                raise _unanswered(right, wrong) from wrong
        except HTTPError as wrong:
            raise _unanswered(right, wrong) from wrong
        # A kept connection that the server had closed meanwhile: a read is asked once more, on a new one.
        try:
            return self._once(method, path, query, payload, headers, right, ends)
        except HTTPError as wrong:
            raise _unanswered(right, wrong) from wrong

    def expect(
        self,
        method: str,
        path: str,
        right: Right,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Answer:
        """As `ask`, where only success will do: any other answer is raised as the PortError that it is."""
        answer = self.ask(method, path, right, query=query, body=body, content_type=content_type)
        if not answer.ok:
            raise error_of(answer, right)
        return answer

    def get(self, path: str, right: Right, *, query: Mapping[str, str | int] | None = None) -> bytes | None:
        """The body of what is there, None when it is not."""
        answer = self.ask("GET", path, right, query=query)
        if answer.code == 404:
            return None
        if not answer.ok:
            raise error_of(answer, right)
        return answer.body

    @contextmanager
    def stream(
        self, path: str, right: Right, *, query: Mapping[str, str | int], read_s: float
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """An answer that is read while it comes, each wait at most `read_s` seconds. Raises as `expect` does."""
        try:
            response = self._open("GET", path, query, None, {}, read_s)
        except HTTPError as wrong:
            raise _unanswered(right, wrong) from wrong
        try:
            if not 200 <= response.status < 300:
                raise error_of(Answer(response.status, _lower(response.headers), response.read(BODY_LIMIT)), right)
            yield response
        except HTTPError as wrong:
            raise _unanswered(right, wrong) from wrong
        finally:
            # The rest of a stream is never read, so the connection cannot be used again.
            response.close()

    def _once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        payload: bytes | None,
        headers: Mapping[str, str],
        right: Right,
        ends: float,
    ) -> Answer:
        response = self._open(method, path, query, payload, headers, _left(ends))
        whole = False
        try:
            body = _read(response, ends)
            whole = len(body) <= BODY_LIMIT
        finally:
            if not whole:
                response.close()  # What is left unread would be taken for the next answer.
            response.release_conn()
        if not whole:
            raise PermanentPortError(f"The answer to {right} is larger than {BODY_LIMIT} bytes.")
        return Answer(response.status, _lower(response.headers), body)

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        payload: bytes | None,
        headers: Mapping[str, str],
        read_s: float,
    ) -> urllib3.BaseHTTPResponse:
        """The beginning of an answer. Refused credentials are tried once more where others have come: 401 is no act."""
        used, ends = self._credentials.headers(), time.monotonic() + read_s
        response = self._send(method, path, query, payload, {**headers, **used}, read_s)
        if response.status == 401 and self._credentials.renewed(used):
            response.close()
            renewed = {**headers, **self._credentials.headers()}
            response = self._send(method, path, query, payload, renewed, _left(ends))
        return response

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        payload: bytes | None,
        headers: Mapping[str, str],
        read_s: float,
    ) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            method,
            f"{self._host}{path}" + (f"?{urlencode(query)}" if query else ""),
            body=payload,
            headers={"Accept": f"{JSON}, */*", "User-Agent": AGENT, **headers},
            timeout=urllib3.Timeout(connect=CONNECT_S, read=read_s),
            preload_content=False,
            retries=False,
        )


def _left(ends: float) -> float:
    """The seconds until then. A time limit of the transport is for each wait, and many may follow one another."""
    left = ends - time.monotonic()
    if left <= 0:
        raise OutOfTime(f"it did not end within {ANSWER_S:.0f} s")
    return left


def _read(response: urllib3.BaseHTTPResponse, ends: float) -> bytes:
    """The body, or its beginning where that is larger than allowed; each wait for a part is as long as time is left."""
    parts = bytearray()
    while len(parts) <= BODY_LIMIT:
        left, socket = _left(ends), getattr(response.connection, "sock", None)
        if socket is not None:  # None once all has come
            socket.settimeout(left)
        part = response.read1(PART)
        if not part:
            break
        parts += part
    return bytes(parts)


def _unanswered(right: Right, wrong: HTTPError) -> TemporaryPortError:
    return TemporaryPortError(f"The API server did not answer to {right}: {shortened(str(wrong))}.")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
