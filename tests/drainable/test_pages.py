"""What the middleware reads and answers itself: budgets, probes, metrics; and options that make no sense."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.drainable.direct import Call, drained, figures, hello, together
from webhook.drainable import Drainable


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS"])
@together
async def test_a_drain_is_asked_for_by_get_or_post(method):
    app = Drainable(hello)

    call = await Call(app, "/drain?settle=0&wait=1", method=method).done()

    assert (call.status, (b"allow", b"GET, POST") in call.headers) == (405, True)
    assert (await Call(app, "/drain?settle=0&wait=1", method="POST").done()).status == 200


SETTLE, WAIT = "expected whole seconds from 0 to 300\n", "expected whole seconds from 1 to 86400\n"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("settle=-1", f"settle=-1: {SETTLE}"),
        ("settle=301", f"settle=301: {SETTLE}"),
        ("settle=", f"settle=: {SETTLE}"),
        ("settle=1.5", f"settle=1.5: {SETTLE}"),
        ("settle=ten", f"settle=ten: {SETTLE}"),
        ("settle=%D9%A3", f"settle=\u0663: {SETTLE}"),
        ("settle=0000000009999999", f"settle=0000000009999999: {SETTLE}"),
        (f"settle={'9' * 5000}", f"settle={'9' * 40}: {SETTLE}"),
        ("wait=0", f"wait=0: {WAIT}"),
        ("wait=86401", f"wait=86401: {WAIT}"),
        ("wait=1e3", f"wait=1e3: {WAIT}"),
        ("wait=%201", f"wait= 1: {WAIT}"),
        ("wait=inf", f"wait=inf: {WAIT}"),
        ("settle=1&settle=2", "expected settle and wait once each\n"),
        ("seconds=5", "seconds: expected settle and wait only\n"),
    ],
)
@together
async def test_a_bad_budget_is_named_with_its_range_and_nothing_begins(query, text):
    app = Drainable(hello)

    call = await drained(app, query)

    assert (call.status, call.text) == (400, text)
    assert (await Call(app).done()).status == 200
    assert (await figures(app))["draining"] == 0


@together
async def test_probes_and_metrics_are_the_application_s_where_it_has_them():
    async def own(request):
        return PlainTextResponse(f"own {request.url.path}")

    app = Drainable(Starlette(routes=[Route(path, own) for path in ("/readyz", "/healthz", "/metrics")]))
    pages = ("/readyz", "/healthz", "/metrics")

    assert [(await Call(app, path).done()).text for path in pages] == [f"own {path}" for path in pages]
    await drained(app)
    assert [(await Call(app, path).done()).text for path in pages] == ["draining\n", "own /healthz", "own /metrics"]


@together
async def test_probes_and_metrics_are_ours_where_the_application_has_none():
    app = Drainable(hello, readiness="/ready", liveness="/live", metrics="/figures")

    pages = [await Call(app, path).done() for path in ("/ready", "/live", "/figures")]

    assert [page.status for page in pages] == [200, 200, 200]
    assert [page.text for page in pages[:2]] == ["ready\n", "alive\n"]
    assert "inflight_requests 0\n" in pages[2].text
    assert [len([m for m in page.sent if m["type"] == "http.response.start"]) for page in pages] == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drain": "drain"}, "drain='drain': expected a path like /drain"),
        ({"metrics": ""}, "metrics='': expected a path like /metrics"),
        ({"liveness": "/readyz"}, "expected four different paths, not /drain, /readyz, /readyz, /metrics"),
        ({"sigterm_seconds": 0}, "sigterm_seconds=0: expected seconds above 0 and up to 600"),
        ({"sigterm_seconds": float("nan")}, "sigterm_seconds=nan: expected seconds above 0 and up to 600"),
        ({"cleanup_seconds": 601}, "cleanup_seconds=601: expected seconds above 0 and up to 600"),
        (
            {"drain_from": ["10.0.0.1/8"]},
            "drain_from: 10.0.0.1/8 has host bits set; expected a network like 10.0.0.0/8",
        ),
        ({"drain_from": "10.0.0.0/8"}, "drain_from='10.0.0.0/8': expected a list of networks like"),
        ({"token": ""}, "token: expected ASCII text that is not empty"),
        ({"token": "käse"}, "token: expected ASCII text that is not empty"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(options, said):
    with pytest.raises(ValueError, match="expected") as caught:
        Drainable(hello, **options)

    assert said in str(caught.value)
