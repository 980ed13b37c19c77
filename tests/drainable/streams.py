"""Clients that stay: responses and websockets that are read to their end in threads."""

from __future__ import annotations

import http.client
import threading
import time
from typing import Self

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.drainable.servers import PATIENCE, Running


class Stream(threading.Thread):
    """One that reads. The first line names the worker; `is_whole` says whether the last one came."""

    def __init__(self, running: Running, path: str = "/stream") -> None:
        """Begin at once; /socket is a websocket."""
        super().__init__(daemon=True)
        self._running, self._path = running, path
        self.first = ""
        self.status = 0
        self.close_code = 0
        self.fault = ""
        self.is_whole = False
        self.ended_at = 0.0
        self._began = threading.Event()
        self.start()

    def began(self) -> Self:
        """Wait for the first line."""
        if not self._began.wait(PATIENCE):
            raise TimeoutError(f"{self._path} did not begin")
        return self

    def ended(self) -> Self:
        """Wait for the end."""
        self.join(PATIENCE)
        if self.is_alive():
            raise TimeoutError(f"{self._path} did not end")
        return self

    def run(self) -> None:
        """Read to the end, whatever it is."""
        try:
            if self._path == "/socket":
                self._websocket()
            else:
                self._response()
        except InvalidStatus as refused:
            self.status = refused.response.status_code
        except (OSError, http.client.HTTPException) as error:
            self.fault = repr(error)
        finally:
            self.ended_at = time.monotonic()
            self._began.set()

    def _line(self, line: str) -> None:
        if not self._began.is_set():
            self.first = line.strip()
            self._began.set()
        self.is_whole = line.startswith("END")

    def _response(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._running.port, timeout=PATIENCE)
        connection.request("GET", self._path)
        response = connection.getresponse()
        self.status = response.status
        while line := response.readline():
            self._line(line.decode())
            if self.is_whole:
                self.ended_at = time.monotonic()
        connection.close()

    def _websocket(self) -> None:
        with connect(f"ws://127.0.0.1:{self._running.port}/socket", open_timeout=PATIENCE) as socket:
            self.status = 101
            try:
                while True:
                    self._line(str(socket.recv(PATIENCE)))
            except ConnectionClosed as closed:
                self.close_code = closed.rcvd.code if closed.rcvd else 1006


def on_every_worker(running: Running, *, websocket: bool = True) -> list[Stream]:
    """Open streams until each worker has one, and a websocket."""
    streams: list[Stream] = []
    while len({stream.first for stream in streams}) < running.server.workers:
        streams += [Stream(running).began(), Stream(running).began()]
        if len(streams) > 60:
            raise TimeoutError(
                f"60 streams reach {len({s.first for s in streams})} of {running.server.workers} workers"
            )
    if websocket:
        streams.append(Stream(running, "/socket").began())
    return streams
