"""Ten thousand open streams on one worker: counted right, none lost, one line."""

from __future__ import annotations

import asyncio
import resource

import pytest

from tests.drainable.servers import SERVERS, Running

STREAMS = 10_000
HALF_CLOSED = 100  # clients that have closed their side: to uvicorn they are gone, to the application they are not
BATCH = 250
FILES = STREAMS + 1_000


@pytest.fixture
def many_files():
    """Allow this process and the server, which inherits it, that many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.skip(f"this machine allows {hard} open files, {FILES} are needed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def opened(port):
    """Open one stream and read its first chunk."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /wait HTTP/1.1\r\nHost: here\r\n\r\n")
    await reader.readuntil(b"token\n")
    return reader, writer


async def read_out(running):
    """Open them all, count, drain, let them end; give the ends of the answers."""
    streams = []
    while len(streams) < STREAMS:
        streams += await asyncio.gather(*(opened(running.port) for _ in range(BATCH)))
    assert await asyncio.to_thread(running.metric, "inflight_requests") == STREAMS
    for _, writer in streams[:HALF_CLOSED]:
        writer.write_eof()
    drain = asyncio.ensure_future(asyncio.to_thread(running.get, "/drain?settle=0&wait=80"))
    await asyncio.to_thread(running.said, "new work is refused")
    assert (await asyncio.to_thread(running.get, "/pid"))[0] == 503
    assert await asyncio.to_thread(running.metric, "inflight_requests") == STREAMS
    running.open_gate()
    ends = [await reader.read() for reader, _ in streams]
    assert await drain == (200, "idle, in flight 0\n")
    for _, writer in streams:
        writer.close()
    return ends[HALF_CLOSED:]


@pytest.mark.slow
def test_ten_thousand_streams_are_counted_and_none_is_lost(many_files, tmp_path):
    with Running(SERVERS["uvicorn"], "bare", tmp_path) as running:
        running.ready()
        ends = asyncio.run(read_out(running))
        running.terminate()

        assert sum(b"END" in end for end in ends) == STREAMS - HALF_CLOSED
        assert running.exit_code() == 0
        assert f"drain: new work is refused from now on, in flight {STREAMS}" in running.lines
        assert running.lines[-1].endswith(": in flight at SIGTERM 0, at the end 0, refused 1")
        assert len(running.lines) == 6
    assert many_files is None
