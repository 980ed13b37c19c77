"""The process around the routes: certificate, listeners, signals, and a stop that loses no request.

Stop: readiness turns red and answers say `Connection: close`, while serving goes on for the shutdown delay; then the
listener closes, what is in flight is answered, and the process ends with 0. A second signal skips the waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import time
from collections.abc import Callable
from typing import Any, Final

import uvloop

from webhook import __version__, names
from webhook.core.profile import Catalog
from webhook.files import write_whole
from webhook.pair import Pair
from webhook.server.app import Context, Health, create_app
from webhook.server.listener import Listener, StartError, Stop, bind
from webhook.server.log import Log
from webhook.server.metrics import Metrics, create_page
from webhook.server.own import make
from webhook.server.tls import BadPairError, Files, Served, watch
from webhook.settings import Settings

DRAIN_SECONDS: Final = 15.0  # the most that requests in flight get after the delay; 10 + 15 stay below a grace of 30
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")


class Service:
    """One admission server with its metrics, from bound sockets to the last answer."""

    def __init__(self, settings: Settings, catalog: Catalog, log: Log | None = None) -> None:
        """Bind the sockets, then load or make the certificate. Raises StartError.

        In this order, so that a start that fails for its port does not replace the CA file of a server that runs.
        """
        self._settings = settings
        self.metrics = Metrics()
        self.health = Health("starting")
        self.log = log or Log(settings.log_level)
        context = Context(catalog, settings.policy, self.metrics, self.log, self.health)
        with contextlib.ExitStack() as undo:
            admission = undo.enter_context(bind(self._host, settings.port, "--port"))
            side = settings.metrics_port and undo.enter_context(
                bind(self._host, settings.metrics_port, "--metrics-port")
            )
            self._files, self._served = self._identity()
            undo.pop_all()
        self.port: int = admission.getsockname()[1]
        self._admission = Listener(create_app(context), admission, self._served.context)
        self._side = Listener(create_page(self.metrics), side) if side else None

    @property
    def _host(self) -> str | None:
        """Local unless told otherwise; all addresses when certificates are given."""
        return self._settings.host or (names.LOCAL_HOST if self._settings.tls_cert is None else None)

    @property
    def address(self) -> str:
        """The URL to reach the server by from this machine."""
        host = self._host or "localhost"
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def run(self, stop: Stop, announce: Callable[[str], None]) -> None:
        """Serve until told to stop, then drain."""
        asyncio.get_running_loop().set_exception_handler(fault_handler(self.log))
        watcher = asyncio.create_task(self._watch())
        for listener in self._listeners():
            await listener.open()
        self.health.state = "ready"
        self.log.line("info", "started", address=self.address, version=__version__)
        announce(self.greeting())
        await stop.asked.wait()
        await self._stop(stop)
        watcher.cancel()

    def greeting(self) -> str:
        """Say in one line where the server is, which CA signs for it, and how to try it."""
        ca = self._settings.ca_out
        trust = f"--cacert {ca}" if ca else "-k"
        signer = f", CA in {ca}" if ca else ""
        side = f", metrics on port {self._settings.metrics_port}" if self._side else ""
        address = f"{self.address}{signer}{side}"
        return f"drainhook {__version__} serves {address}. Try: curl {trust} {self.address}{names.READYZ_PATH}"

    async def _stop(self, stop: Stop) -> None:
        started = time.monotonic()
        self.health.state = "shutting down"
        self._admission.announce_close()
        self.log.line("info", "stopping", delay=self._settings.shutdown_delay)
        await stop.wait(self._settings.shutdown_delay)
        cut = [await listener.drain(stop, DRAIN_SECONDS) for listener in self._listeners()]
        self.log.line("info", "stopped", seconds=round(time.monotonic() - started, 3), cut=cut[0])

    def _listeners(self) -> tuple[Listener, ...]:
        return (self._admission,) if self._side is None else (self._admission, self._side)

    def _identity(self) -> tuple[Files | None, Served]:
        """Load the given certificate, or make a CA that lives in this process only."""
        certificate, key = self._settings.tls_cert, self._settings.tls_key
        try:
            if certificate is not None and key is not None:
                files = Files(certificate, key)
                return files, Served(files.read(), self.metrics)
            return None, Served(self._own_pair(), self.metrics)
        except BadPairError as error:
            raise StartError(str(error)) from None
        except OSError as error:
            raise StartError(f"{error.filename}: {error.strerror}.") from None

    def _own_pair(self) -> Pair:
        given = (self._settings.host,) if self._settings.host and self._settings.host not in LOCAL_NAMES else ()
        ca, pair = make((*LOCAL_NAMES, *given))
        if self._settings.ca_out is not None:
            write_whole(self._settings.ca_out, ca)
        return pair

    async def _watch(self) -> None:
        if self._files is not None:
            await watch(self._files, self._served, self.metrics, self.log, seconds=self._settings.reload_seconds)


def fault_handler(log: Log) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Make the loop's handler of lost exceptions: what port scanners and TCP probes break is said at debug only."""

    def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        level = "debug" if isinstance(error, OSError) else "error"
        log.line(level, "loop", message=str(context.get("message")), error=type(error).__name__)

    return handle


def run(settings: Settings, catalog: Catalog, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; returns after the last answer. Raises StartError."""
    service = Service(settings, catalog)
    # All that lives now lives as long as the process: never look at it again (a full collection took 121 ms).
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_signalled(service, announce))


async def _until_signalled(service: Service, announce: Callable[[str], None]) -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.signal)
    await service.run(stop, announce)
