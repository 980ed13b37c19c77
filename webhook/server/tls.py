"""TLS of the admission server: a context whose certificate changes while it serves, from files or from memory.

A new pair is loaded into a context of its own and swapped in whole when it works (T7): the live context could not shake
hands any more after a pair that does not match, and would go on serving an old RSA leaf beside a new EC one.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from webhook.pair import Pair
from webhook.server.expiry import ends
from webhook.server.log import Log
from webhook.server.metrics import Metrics


class BadPairError(Exception):
    """A certificate and key that cannot be served; the message is a plain sentence."""


def load(pair: Pair) -> ssl.SSLContext:
    """Make a server context of a pair: TLS 1.2 or later, no session tickets (the API server resumes none).

    Raises BadPairError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    with _private_file(pair.certificate.rstrip() + b"\n" + pair.key) as path:
        try:
            context.load_cert_chain(path, password="")  # an encrypted key must fail, not ask the terminal
        except ssl.SSLError as error:
            why = "do not form a pair" if "MISMATCH" in (error.reason or "") else "cannot be read"
            raise BadPairError(f"The certificate and key {why}.") from None
    return context


class Served:
    """The certificate that is served. `context` goes to the listener once; what it presents changes by swap()."""

    def __init__(self, pair: Pair, metrics: Metrics) -> None:
        """Serve a first pair. Raises BadPairError."""
        self.context = load(pair)
        self._metrics = metrics
        self.swap(pair)
        self.context.sni_callback = self._choose

    def swap(self, pair: Pair) -> None:
        """Present another pair from the next handshake on. Raises BadPairError, then nothing has changed."""
        try:
            end = ends(pair.certificate)
        except ValueError as error:
            raise BadPairError(str(error)) from None
        if end <= datetime.now(UTC):
            raise BadPairError(f"The certificate ended on {end:%Y-%m-%d %H:%M} UTC.")
        self._current = load(pair)
        self._metrics.certificate_expiry.set(end.timestamp())

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> None:
        """Answer one handshake with the current pair; OpenSSL calls this also for clients that send no name."""
        connection.context = self._current


class Files:
    """A certificate file and a key file that may change at any time, in any order (T8)."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Remember the paths; nothing is read yet."""
        self._paths = (certificate, key)
        self._served = b""
        self._seen = b""
        self.fault = ""

    def read(self) -> Pair:
        """Read the pair to start with. Raises OSError."""
        pair = self._content()
        self._served = self._seen = _digest(pair)
        return pair

    def poll(self, served: Served) -> str:
        """Take over changed files: `unchanged`, `success`, `unsettled` or `failure`.

        A pair that does not work is looked at once more on the next poll before it counts as a failure: two files
        are never replaced at the same instant. A failure is said once for each content.
        """
        try:
            pair = self._content()
        except OSError as error:
            return self._refused(b"absent", f"{error.filename}: {error.strerror}.")
        digest = _digest(pair)
        if digest == self._served:
            self._seen = digest
            return "unchanged"
        try:
            served.swap(pair)
        except BadPairError as error:
            return self._refused(digest, str(error))
        self._served = self._seen = digest
        return "success"

    def _refused(self, digest: bytes, fault: str) -> str:
        """Tell the first look at a bad content from the second, which counts, and from those after it."""
        self.fault = fault
        if self._seen == digest + b"!":
            return "unchanged"
        seen_before = self._seen == digest
        self._seen = digest + b"!" if seen_before else digest
        return "failure" if seen_before else "unsettled"

    def _content(self) -> Pair:
        certificate, key = (path.read_bytes() for path in self._paths)
        return Pair(certificate, key)


async def watch(files: Files, served: Served, metrics: Metrics, log: Log, *, seconds: float) -> None:
    """Poll the files by content for ever; count and log what came of it."""
    while True:
        await asyncio.sleep(seconds)
        result = files.poll(served)
        if result in metrics.reloads:
            metrics.reloads[result].inc()
            fault = {"message": files.fault} if result == "failure" else {}
            log.line("error" if fault else "info", "certificate_reload", result=result, **fault)


def _digest(pair: Pair) -> bytes:
    return hashlib.sha256(pair.certificate + b"\0" + pair.key).digest()


@contextlib.contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """Give bytes a path for as long as OpenSSL needs one: in memory where the system can, else a 0600 file."""
    make: Callable[[str], int] | None = getattr(os, "memfd_create", None)
    if make is None:  # pragma: no cover (not Linux)
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    descriptor = make("drainhook")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
