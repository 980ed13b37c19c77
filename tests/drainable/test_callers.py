"""Who may ask for a drain."""

from __future__ import annotations

import logging

import pytest

from tests.drainable.direct import Call, figures, hello, together
from webhook.drainable import Drainable

POD = ("10.1.2.3", 8000)
OTHER = ("10.9.9.9", 4000)


async def ask(client, headers=(), server=POD, **options):
    """Ask for a drain from an address; give the status and the text."""
    app = Drainable(hello, **options)
    call = await Call(app, "/drain?settle=0&wait=1", client=client, server=server, headers=list(headers)).done()
    assert (call.status == 200) == bool((await figures(app))["draining"])
    return call.status, call.text.strip()


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (("127.0.0.1", 1), POD),
        (("127.9.8.7", 1), POD),
        (("::1", 1), ("::", 8000)),
        (("::ffff:127.0.0.1", 1), POD),
        (("10.1.2.3", 1), POD),
        (("::ffff:10.1.2.3", 1), POD),
        (("10.1.2.3", 1), ("::ffff:10.1.2.3", 8000)),
        (("fd00::7", 1), ("fd00:0:0:0::7", 8000)),
        (("fe80::1%eth0", 1), ("fe80::1", 8000)),
    ],
)
@together
async def test_the_pod_itself_may(client, server):
    assert await ask(client, server=server) == (200, "idle, in flight 0")


@pytest.mark.parametrize(
    ("client", "server", "said"),
    [
        (OTHER, POD, "10.9.9.9 is neither this pod nor in drain_from"),
        (("::ffff:10.9.9.9", 1), POD, "10.9.9.9 is neither this pod nor in drain_from"),
        (("fd00::8", 1), ("fd00::7", 1), "fd00::8 is neither this pod nor in drain_from"),
        (OTHER, ("0.0.0.0", 8000), "10.9.9.9 is neither this pod nor in drain_from"),  # noqa: S104 (a server's own)
        (OTHER, None, "10.9.9.9 is neither this pod nor in drain_from"),
        (None, POD, "the caller has no address"),
        (("", 0), ("", 0), "the caller has no address"),
        (("unix:", None), POD, "the caller has no address"),
        (("localhost", 1), ("localhost", 8000), "the caller has no address"),
    ],
)
@together
async def test_others_may_not_and_are_told_why(client, server, said):
    assert await ask(client, server=server) == (403, said)


@pytest.mark.parametrize(
    "header",
    [
        "forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-client-cert",
        "x-real-ip", "x-envoy-attempt-count", "l5d-client-id",
    ],
)  # fmt: skip
@together
async def test_what_came_through_a_proxy_is_refused_whatever_it_says(header):
    for value in ("127.0.0.1", "10.1.2.3", ""):
        assert await ask(("127.0.0.1", 1), [(header, value)]) == (
            403,
            f"the call came through a proxy (header {header})",
        )


@together
async def test_one_proxy_header_among_many_is_enough():
    headers = [("host", "a"), ("x-forwarded-for", "127.0.0.1"), ("x-forwarded-for", "127.0.0.1"), ("accept", "*/*")]

    assert (await ask(("127.0.0.1", 1), headers))[0] == 403


@pytest.mark.parametrize(
    ("networks", "client", "status"),
    [
        (["10.9.0.0/16"], OTHER, 200),
        (["10.9.0.0/16"], ("::ffff:10.9.9.9", 1), 200),
        (["10.8.0.0/16", "10.9.9.9"], OTHER, 200),
        (["fd00::/8"], ("fd12::1", 1), 200),
        (["10.8.0.0/16"], OTHER, 403),
        (["fd00::/8"], OTHER, 403),
        (["10.9.0.0/16"], None, 403),
    ],
)
@together
async def test_hosts_of_named_networks_may(networks, client, status):
    assert (await ask(client, drain_from=networks))[0] == status


TOKEN = "t0ken"  # a test's


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ([f"Bearer {TOKEN}"], 200),
        ([f"bearer {TOKEN}"], 200),
        (["Basic eDp5", f"Bearer {TOKEN}"], 200),
        ([f"Bearer {TOKEN}", "Basic eDp5"], 200),
        ([f"Bearer {TOKEN}x"], 403),
        ([f"Bearer {TOKEN[:-1]}"], 403),
        ([f"Bearer  {TOKEN}"], 403),
        ([TOKEN], 403),
        ([f"Basic {TOKEN}"], 403),
        (["Bearer "], 403),
        (["Bearer t0k\u00e9n"], 403),
        ([""], 403),
        ([], 403),
    ],
)
@together
async def test_who_knows_the_token_may_from_anywhere(values, status):
    headers = [("authorization", value) for value in values]

    for client in (OTHER, None):
        assert (await ask(client, headers, token=TOKEN))[0] == status
    through_a_proxy = [*headers, ("x-forwarded-for", "192.0.2.1")]
    assert (await ask(("127.0.0.1", 1), through_a_proxy, token=TOKEN))[0] == status


@together
async def test_without_a_token_no_header_is_one():
    assert (await ask(OTHER, [("authorization", "Bearer ")]))[0] == 403
    assert (await ask(OTHER, [("authorization", "Bearer None")]))[0] == 403


@together
async def test_a_refused_drain_is_logged_with_the_reason(caplog):
    caplog.set_level(logging.INFO, "drainhook")

    await ask(OTHER)

    assert caplog.messages == ["drain refused: 10.9.9.9 is neither this pod nor in drain_from"]
