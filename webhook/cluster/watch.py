"""A list of objects and then every change to it, for as long as anybody wants to know, whatever happens to the server.

Of each object only what `keep` makes of it stays. What the facts mean is not known here; the kubernetes client's own
watch is not used, since it would make a typed model of every object.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

import orjson

from webhook import __version__
from webhook.cluster.client import CONNECT_SECONDS, ClusterError, Session
from webhook.core.profile import Json

PAGE: Final = 200  # a patched pod has about 15 KB: a page stays below 5 MB
SILENCE_SECONDS: Final = 90.0  # a bookmark comes every minute; what is silent longer may be dead without a FIN
WATCH_SECONDS: Final = (240, 480)  # the server ends a watch after a time of our choice, not all of them at once
FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 30.0
GONE: Final = 410
_LIST_TRIES: Final = 3
_NOT_THE_VERSION: Final = frozenset({0, 401, 403, 429, 503})  # no answer, no permission, no time: a list would not help


class Why(StrEnum):
    """Why a watch did not go on."""

    EXPIRED = "expired"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    CUT = "cut"
    SILENT = "silent"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Seen:
    """An object is there, or is gone; `at` is when we were told."""

    kind: str
    fact: Any
    at: float
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A list is complete: whatever it does not hold is gone."""

    kind: str
    uids: frozenset[str]
    at: float


@dataclass(frozen=True, slots=True)
class Alive:
    """The server has nothing to tell, and says so."""

    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong; the watch goes on by itself."""

    kind: str
    why: Why
    text: str
    at: float


Message: TypeAlias = Seen | Listed | Alive | Trouble


class _BrokenError(Exception):
    """A stream ended badly; it may be taken up where it ended."""

    def __init__(self, why: Why, text: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(slots=True)
class Watch:
    """One collection. `keep` makes a fact of an object, or None where it is of no use."""

    session: Session
    kind: str
    path: str
    keep: Callable[[Json], Any]
    query: Mapping[str, str] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    silence_seconds: float = SILENCE_SECONDS
    clock: Callable[[], float] = time.time
    version: str = ""

    def list(self) -> Iterator[Message]:
        """Yield what there is, page by page, then `Listed`. Raises ClusterError."""
        for attempt in range(_LIST_TRIES):
            try:
                yield from self._pages()
            except ClusterError as error:  # a page may come too late for the next one
                if error.status != GONE or attempt + 1 == _LIST_TRIES:
                    raise
            else:
                return

    def follow(self) -> Iterator[Message]:
        """Yield changes from the last list on, until `stop` is set; lists anew where changes were lost."""
        failures = 0
        while not self.stop.is_set():
            try:
                if not self.version:
                    yield from self.list()
                for message in self._changes():
                    failures = 0
                    yield message
            except ClusterError as error:
                # The version may be too old, or from before a backup was restored: with a list nothing can be wrong.
                yield self._trouble(_why(error), str(error))
                self.version = self.version if error.status in _NOT_THE_VERSION else ""
            except _BrokenError as error:
                yield self._trouble(error.why, str(error))
            failures += 1  # also where a stream ends at once without a word: some proxies do
            if failures > 1 or not self.version:
                self.stop.wait(pause(failures))

    def _pages(self) -> Iterator[Message]:
        uids: set[str] = set()
        token = ""
        while True:
            more = {"continue": token} if token else {}
            page = self.session.get(self.path, **self.query, limit=str(PAGE), **more)
            for item in page.get("items") or []:
                uids.add(item["metadata"]["uid"])
                yield from self._kept(item)
            token = page["metadata"].get("continue") or ""
            if not token:
                break
        self.version = page["metadata"].get("resourceVersion") or ""
        yield Listed(self.kind, frozenset(uids), self.clock())

    def _changes(self) -> Iterator[Message]:
        for line in self._lines():
            try:
                change = orjson.loads(line)
                kind, obj = change["type"], change["object"]
                metadata = obj.get("metadata") or {}
            except (ValueError, KeyError, TypeError, AttributeError):
                raise _BrokenError(Why.UNREADABLE, f"{self.path}: {line[:80]!r} is no change of an object") from None
            if kind == "ERROR":
                raise ClusterError(str(obj.get("message") or "the API server ended the watch"), obj.get("code") or 500)
            if kind == "BOOKMARK":
                yield Alive(self.kind, self.clock())
            else:
                yield from self._kept(obj, is_gone=kind == "DELETED")
            self.version = metadata.get("resourceVersion") or self.version

    def _kept(self, obj: Json, *, is_gone: bool = False) -> Iterator[Message]:
        """Yield what is kept of an object; one that cannot be read is said, and hurts no other."""
        try:
            fact = self.keep(obj)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            name = (obj.get("metadata") or {}).get("name")
            yield self._trouble(Why.UNREADABLE, f"{self.path}/{name}: {type(error).__name__}: {error}")
            return
        if fact is not None:
            yield Seen(self.kind, fact, self.clock(), is_gone)

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines of one watch request; the last one may have been cut and does not count."""
        from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415 (comes with the kubernetes client)

        rest = b""
        try:
            answer = self._open()
            try:
                for piece in answer.stream(65536):
                    *lines, rest = (rest + piece).split(b"\n")
                    yield from lines
            finally:
                answer.close()
        except ReadTimeoutError:
            raise _BrokenError(Why.SILENT, f"{self.path}: no word for {self.silence_seconds:g} s") from None
        except HTTPError as error:
            raise _BrokenError(_broken(error), f"{self.path}: {' '.join(str(error).split())}") from None

    def _open(self) -> Any:
        """Begin a watch request. Raises ClusterError where it is refused."""
        from urllib3 import Timeout  # noqa: PLC0415

        seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 (no secret)
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), **self.query}
        configuration = self.session._configuration  # noqa: SLF001 (the session reads whole answers only)
        headers = {"Accept": "application/json", "User-Agent": f"drainhook/{__version__}"}
        for login in configuration.auth_settings().values():
            headers[login["key"]] = login["value"]
        answer = self.session._pool.request(  # noqa: SLF001 (as above)
            "GET",
            f"{configuration.host}{self.path}?{urlencode({**query, 'resourceVersion': self.version})}",
            headers=headers,
            timeout=Timeout(connect=CONNECT_SECONDS, read=self.silence_seconds),
            preload_content=False,
            retries=False,
        )
        if answer.status != 200:  # noqa: PLR2004 (HTTP: a stream begins)
            raise ClusterError(_refusal(answer.status, answer.data), answer.status)
        return answer

    def _trouble(self, why: Why, text: str) -> Trouble:
        return Trouble(self.kind, why, text, self.clock())


def pause(failures: int) -> float:
    """Return how long to wait: twice as long each time, and by chance less, so that not all watchers come at once."""
    longest: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)


def _why(error: ClusterError) -> Why:
    if error.status == GONE:
        return Why.EXPIRED
    return Why.REFUSED if error.status else Why.UNREACHABLE


def _broken(error: Exception) -> Why:
    """Tell a connection that was never made from one that broke."""
    from urllib3.exceptions import ProtocolError  # noqa: PLC0415

    return Why.CUT if isinstance(error, ProtocolError) else Why.UNREACHABLE


def _refusal(status: int, data: bytes) -> str:
    """Return the sentence of a refusal."""
    try:
        said = orjson.loads(data).get("message")
    except (ValueError, AttributeError):
        said = None
    return said or f"the API server answered {status}."
