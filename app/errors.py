"""Every exception that Sickbay raises on purpose, in one tree.

    SickbayError
    ├── ConfigurationError         a file or setting is wrong; names file, line, path, problem and remedy
    ├── StoreUnavailable           Redis cannot be reached, or refuses; nothing was decided
    └── PortError                  the world beyond a port did not do as asked
        ├── TemporaryPortError     a later try may go well: wait, back off, look again
        └── PermanentPortError     the same call will never go well: the step fails

A refusal that is an ordinary answer (a lost compare-and-swap, an eviction that a budget forbids) is a value, not one
of these. The engine and the edge of a page are the only places that catch more than they name.
"""

from __future__ import annotations

from datetime import timedelta


class SickbayError(Exception):
    """The root. Its text is a sentence that may be shown to a person as it is."""


class ConfigurationError(SickbayError):
    """Something that a person wrote is wrong. Raised at start, before anything is touched.

    Every part but `problem` may be unknown and is then left out of the sentence:

    * `file`: the file as it was named, `config/policy.yaml`, or the setting, `SICKBAY_MODE`.
    * `line`: counted from 1.
    * `path`: the place inside the file, `pools[0].mode`.
    * `problem`: what is wrong, a sentence: "'actt' is not a mode."
    * `remedy`: what would be right, a sentence: "Use one of: observe, cordon, approve, act."
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        path: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem, file, line, path, remedy)
        self.problem = problem
        self.file = file
        self.line = line
        self.path = path
        self.remedy = remedy

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        before = "".join(f"{part}: " for part in (place, self.path) if part)
        after = f" {self.remedy}" if self.remedy else ""
        return f"{before}{self.problem}{after}"


class StoreUnavailable(SickbayError):
    """Redis cannot be reached, is still loading, or is read-only. What was to be written is not written.

    The receiver answers it with 503, so that Alertmanager comes again.
    """


class PortError(SickbayError):
    """A call through a port went wrong. Always one of the two below."""


class TemporaryPortError(PortError):
    """A later try may go well: a timeout, a refused connection, 429, a 5xx answer.

    `retry_after` is the pause that the other side asked for, if it named one. The call may have had its effect all
    the same: only the next look tells.
    """

    def __init__(self, sentence: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class PermanentPortError(PortError):
    """The same call will never go well: a right is missing, a field is refused, the object cannot exist."""
