"""The four metrics, with and without prometheus-client, and what the import of the package costs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.drainable.direct import Call, Held, Serving, drained, figures, hello, together
from webhook.drainable import Drainable

ROOT = Path(__file__).parents[2]
NAMES = {"inflight_requests", "requests_rejected_draining_total", "draining", "shutdown_duration_seconds"}


def python(program, **options):
    """Run a program in an interpreter of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@together
async def test_the_page_is_what_prometheus_reads():
    page = await Call(Drainable(hello), "/metrics").done()
    families = list(text_string_to_metric_families(page.text))

    assert dict(page.headers)[b"content-type"] == b"text/plain; version=0.0.4; charset=utf-8"
    assert {sample.name for family in families for sample in family.samples} == NAMES
    assert {family.type for family in families} == {"gauge", "counter"}
    assert all(family.documentation for family in families)


@together
async def test_the_duration_grows_from_the_drain_s_start():
    app = Drainable(hello)
    before = await figures(app)
    await drained(app)
    first = await figures(app)

    assert (before["draining"], before["shutdown_duration_seconds"]) == (0, 0)
    assert first["draining"] == 1
    async with asyncio.timeout(20):
        while (await figures(app))["shutdown_duration_seconds"] <= first["shutdown_duration_seconds"]:  # noqa: ASYNC110
            await asyncio.sleep(0)


def registered():
    """Read the default registry as an application's own page does."""
    return {
        family.name: family.samples[0].value
        for family in REGISTRY.collect()
        if {sample.name for sample in family.samples} <= NAMES
    }


@together
async def test_the_default_registry_has_them_while_the_server_runs():
    held = Held()
    app = Drainable(held)
    assert registered() == {}

    async with Serving(app):
        call = Call(app)
        await held.entered.wait()
        assert registered()["inflight_requests"] == 1
        held.gate.set()
        await call.done()

    assert registered() == {}


@together
async def test_of_two_applications_the_one_that_serves_is_registered():
    held = Held()
    app = Drainable(Drainable(held))

    async with Serving(app), Serving(Drainable(hello)):
        call = Call(app)
        await held.entered.wait()
        assert registered()["inflight_requests"] == 1
        held.gate.set()
        await call.done()


@together
async def test_another_registry_can_have_them_too():
    registry = CollectorRegistry()
    app = Drainable(hello)
    registry.register(app.collector)
    await drained(app)
    await Call(app).done()

    text = generate_latest(registry).decode()

    assert "\nrequests_rejected_draining_total 1.0\n" in text
    assert "\ndraining 1.0\n" in text


def test_the_import_loads_the_standard_library_alone():
    program = """
import sys
before = set(sys.modules)
import webhook.drainable
own = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(own - sys.stdlib_module_names - {"__mp_main__"}))  # that is this program
"""
    assert python(program) == "['webhook']\n"


def test_without_prometheus_client_the_page_is_there():
    program = """
import asyncio, sys
sys.modules["prometheus_client"] = None  # its import fails
from tests.drainable.direct import Serving, figures, hello
from webhook.drainable import Drainable
async def main():
    app = Drainable(hello)
    async with Serving(app):
        print(await figures(app))
asyncio.run(main())
"""
    assert python(program).count("0.0") == len(NAMES)
