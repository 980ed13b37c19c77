"""The process around the routes, run inside the test: what a stop waits for, what it cuts, and what the loop logs."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import threading

import httpx
import pytest
import uvloop

from tests.server.reviews import pod, review
from webhook.server import own
from webhook.server.listener import Listener, Stop
from webhook.server.log import Log
from webhook.server.metrics import create_page
from webhook.server.run import Service, fault_handler
from webhook.settings import Settings

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LARGE = 32 << 20  # more than the system buffers for a socket


def until(finish, arrived=None, size=2):
    """Make an application that says when a request has arrived, and answers it with so many bytes when told to."""

    async def app(_scope, _receive, send):
        if arrived:
            arrived.set()
        await finish.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
        await send({"type": "http.response.body", "body": b"x" * size})

    return app


def looped(main):
    """Run a coroutine on the loop that the server uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound


@pytest.mark.parametrize("hurry", [False, True])
def test_r2_a_request_that_never_ends_is_cut_after_the_limit(listening, hurry):
    async def story():
        arrived, stop = asyncio.Event(), Stop()
        listener = Listener(until(asyncio.Event(), arrived), listening)
        await listener.open()
        _, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(GET)
        await arrived.wait()
        if hurry:
            stop.signal()
            stop.signal()
        cut = await listener.drain(stop, 300 if hurry else 0.05, linger=300 if hurry else 0)
        writer.close()
        return cut

    assert looped(story()) == 1


def test_r2_a_drain_with_nothing_in_flight_cuts_nothing(listening, context):
    async def story():
        listener = Listener(create_page(context.metrics), listening)
        await listener.open()
        return await listener.drain(Stop(), 300)

    assert looped(story()) == 0


def test_r2_a_request_in_flight_is_waited_for(listening):
    """It is answered whole, with `Connection: close`, and nothing is cut."""

    async def story():
        arrived, finish = asyncio.Event(), asyncio.Event()
        listener = Listener(until(finish, arrived), listening)
        await listener.open()
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(GET)
        await arrived.wait()
        asyncio.get_running_loop().call_later(0.1, finish.set)
        cut = await listener.drain(Stop(), 300, linger=0)
        answer = await reader.read()
        writer.close()
        return cut, answer

    cut, answer = looped(story())
    assert (cut, answer.endswith(b"\r\nconnection: close\r\n\r\nxx")) == (0, True)


def test_r2_a_request_that_is_on_its_way_still_arrives(listening):
    """The connection was made before the stop, its first request is sent after the listener closed."""

    async def story():
        finish = asyncio.Event()
        finish.set()
        listener = Listener(until(finish), listening)
        await listener.open()
        listener.announce_close()
        address = listening.getsockname()
        reader, writer = await asyncio.open_connection(*address)
        drain = asyncio.create_task(listener.drain(Stop(), 300, linger=300))
        await asyncio.sleep(0)
        writer.write(GET)
        answer = await reader.read()
        writer.close()
        return await drain, answer[:15]

    assert looped(story()) == (0, b"HTTP/1.1 200 OK")


def test_r2_the_last_bytes_leave_before_the_end(listening):
    """A slow reader of a large answer gets all of it, although the loop is closed right after the drain."""
    read = bytearray()

    async def story():
        finish, arrived = asyncio.Event(), asyncio.Event()
        finish.set()
        listener = Listener(until(finish, arrived, LARGE), listening)
        await listener.open()
        thread = threading.Thread(target=fetch, args=(listening.getsockname(), read))
        thread.start()
        await arrived.wait()
        return await listener.drain(Stop(), 300, linger=0), thread

    cut, thread = looped(story())
    thread.join(20)
    assert (cut, len(read.partition(b"\r\n\r\n")[2])) == (0, LARGE)


def fetch(address, into):
    """Read an answer to its end."""
    with socket.create_connection(address, 20) as connection:
        connection.sendall(GET)
        while part := connection.recv(1 << 16):
            into += part


def test_the_garbage_collector_looks_at_what_lives_for_ever_once():
    """It is frozen before the first request; the process ends by itself after SIGTERM."""
    code = """
import gc, os, signal
from webhook.core.profile import Catalog
from webhook.server.run import run
from webhook.settings import Settings
def announce(line):
    print(gc.get_freeze_count() > 10_000)
    os.kill(os.getpid(), signal.SIGTERM)
run(Settings(port=0, metrics_port=0, log_level="error"), Catalog({}, ""), announce)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)

    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_stop_that_is_not_hurried_waits_its_time():
    async def story():
        stop = Stop()
        stop.signal()
        await stop.wait(0.01)
        return stop.asked.is_set(), stop.hurried.is_set()

    assert looped(story()) == (True, False)


def test_the_whole_life_of_a_service(catalog, tmp_path, lines):
    """From bound sockets to the last answer, in one process."""
    greeted, stops = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics_port = free.getsockname()[1]
    settings = Settings(port=0, metrics_port=metrics_port, ca_out=tmp_path / "ca.crt")
    service = Service(settings, catalog, Log("info", lines.append))
    assert service.health.state == "starting"

    async def life():
        stops.extend([Stop(), asyncio.get_running_loop()])
        await service.run(stops[0], lambda _line: greeted.set())

    thread = threading.Thread(target=looped, args=(life(),))
    thread.start()
    assert greeted.wait(20)
    trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
    with httpx.Client(base_url=service.address, verify=trust) as client:
        answer = client.post("/mutate", json=review(pod())).json()
    page = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics").text
    stops[1].call_soon_threadsafe(stops[1].call_exception_handler, {"message": "lost", "exception": ValueError()})
    stops[1].call_soon_threadsafe(stops[0].signal)
    thread.join(20)

    assert answer["response"]["patchType"] == "JSONPatch"
    assert 'drainhook_admission_requests_total{decision="patch",operation="CREATE",path="mutate"} 1.0' in page
    assert (thread.is_alive(), service.health.state) == (False, "shutting down")
    events = [json.loads(line)["event"] for line in lines]
    assert events == ["started", "admission", "loop", "stopping", "stopped"]


@pytest.mark.parametrize(("error", "level"), [(ConnectionResetError("peer"), "debug"), (ValueError("ours"), "error")])
def test_what_peers_break_is_no_error_of_ours(lines, error, level):
    fault_handler(Log("debug", lines.append))(None, {"message": "m", "exception": error})

    assert f'"level":"{level}"'.encode() in lines[-1]


def test_a_log_that_nobody_reads_any_more_fails_no_request(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr("webhook.server.log.STDOUT", writing)

    Log().line("error", "event")  # a broken pipe

    os.close(writing)


def test_a_pair_that_cannot_be_made_is_said():
    with pytest.raises(OSError, match="could not make a certificate"):
        own.make(["no name"])
