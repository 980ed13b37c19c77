"""The API server's door on the host: carries connections of a host port to the API server inside.

It runs inside the namespaces and inherits a socket that listens outside (a socket keeps the network it was made in).
Bytes only: nothing here knows TLS or Kubernetes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys

from tests.cluster.pins import API_PORT


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError):
        writer.write_eof()  # the other direction may go on


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", API_PORT)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
    finally:
        for end in (writer, inner_writer):
            end.close()


async def serve(listener: socket.socket) -> None:
    """Carry every connection of the listener until the process ends."""
    server = await asyncio.start_server(_carry, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(socket.socket(fileno=int(sys.argv[1]))))
