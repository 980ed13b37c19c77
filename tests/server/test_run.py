"""The process around the routes, run inside the test: what a stop waits for, what it cuts, and what the loop logs."""

from __future__ import annotations

import asyncio
import socket
import ssl
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

HALF = b"POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"


def unending(arrived):
    """Make an application that waits for a body that never comes."""

    async def app(_scope, receive, _send):
        arrived.set()
        while (await receive())["type"] != "http.disconnect":
            continue

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
        listener = Listener(unending(arrived), listening)
        await listener.open()
        _, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(HALF)
        await arrived.wait()
        if hurry:
            stop.signal()
            stop.signal()
        cut = await listener.drain(stop, 300 if hurry else 0.05)
        writer.close()
        return cut

    assert looped(story()) == 1


def test_r2_a_drain_with_nothing_in_flight_cuts_nothing(listening, context):
    async def story():
        listener = Listener(create_page(context.metrics), listening)
        await listener.open()
        return await listener.drain(Stop(), 300)

    assert looped(story()) == 0


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
    stops[1].call_soon_threadsafe(stops[0].signal)
    thread.join(20)

    assert answer["response"]["patchType"] == "JSONPatch"
    assert 'drainhook_admission_requests_total{decision="patch",operation="CREATE",path="mutate"} 1.0' in page
    assert [thread.is_alive(), len(lines), service.health.state] == [False, 4, "shutting down"]


@pytest.mark.parametrize(("error", "level"), [(ConnectionResetError("peer"), "debug"), (ValueError("ours"), "error")])
def test_what_peers_break_is_no_error_of_ours(lines, error, level):
    fault_handler(Log("debug", lines.append))(None, {"message": "m", "exception": error})

    assert f'"level":"{level}"'.encode() in lines[-1]


def test_a_pair_that_cannot_be_made_is_said():
    with pytest.raises(OSError, match="could not make a certificate"):
        own.make(["no name"])
