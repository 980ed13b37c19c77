"""What the real server's pages say, and what the hook does where the gauges cannot be read."""

from __future__ import annotations

import pytest

from demo.engine import Engine
from demo.load import Fate
from tests.engine.hooks import PROFILE, HookHere
from tests.engine.load import drain, requests, wait

pytestmark = pytest.mark.engine

KEY = "not-a-secret"
PROMPT_SECONDS = 1.5
IDLE = PROFILE.metrics.idle_seconds


def samples(engine: Engine) -> dict[str, float]:
    """Read the unlabelled samples of the metrics page."""
    status, page = engine.get(PROFILE.metrics.path)
    assert status == 200
    pairs = (line.split() for line in page.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def gauges(engine: Engine) -> tuple[float, float]:
    """Add up the profile's running and waiting gauges; a name that the page lacks is an error."""
    found = samples(engine)
    return sum(found[name] for name in PROFILE.metrics.running), sum(found[name] for name in PROFILE.metrics.waiting)


def test_exports_the_gauges_of_the_profile(start):
    """Idle, the profile's gauges are 0; with five requests on two slots 2 run and 3 wait."""
    engine = start()
    assert gauges(engine) == (0, 0)
    streams = requests(engine, 5, tokens=1500)
    for stream in streams:
        stream.start()

    wait(lambda: sum(gauges(engine)) == 5)

    assert gauges(engine) == (2, 3)
    engine.end()  # rather than wait for all the tokens
    for stream in streams:
        stream.join()


def test_answers_the_readiness_path_of_the_profile(engine):
    """The probe that we add would pass on a server that can serve."""
    assert engine.get(PROFILE.readiness.path)[0] == 200


@pytest.mark.parametrize("flags", [["--metrics"], []], ids=["flag in the pod", "no flag in the pod"])
def test_counts_connections_when_metrics_are_off(start, tmp_path, flags):
    """The metrics page answers 501: the connection count alone decides, over the idle window."""
    engine = start(metrics=False)
    here = HookHere(engine.port, tmp_path, *flags, settle=0)

    one = drain(here.hook, requests(engine, 3))

    assert engine.get(PROFILE.metrics.path)[0] == 501
    assert one.fates == (Fate.COMPLETED,) * 3
    assert IDLE - PROMPT_SECONDS <= one.behind <= IDLE + PROMPT_SECONDS
    assert here.record()["end"] == "no_connections"


def test_reads_guarded_metrics_with_the_key_of_the_container(start, tmp_path):
    """With the key in the server's own environment the gauges are read, and the hook leaves soon."""
    engine = start(key=KEY)
    here = HookHere(engine.port, tmp_path, "--metrics", settle=0)

    one = drain(here.with_environment({PROFILE.metrics.key_env: KEY}), requests(engine, 3, key=KEY))

    assert one.fates == (Fate.COMPLETED,) * 3
    assert 0 < one.behind <= PROMPT_SECONDS
    assert here.record()["end"] == "idle"
    assert KEY not in here.log.read_text()


def test_counts_connections_when_the_key_is_unknown(start, tmp_path):
    """A key that stands only on the engine's command line cannot be used: 401, and the connection count decides."""
    engine = start(key=KEY)
    here = HookHere(engine.port, tmp_path, "--metrics", settle=0)

    one = drain(here.hook, requests(engine, 3, key=KEY))

    assert "401" in here.log.read_text()
    assert one.fates == (Fate.COMPLETED,) * 3
    assert IDLE - PROMPT_SECONDS <= one.behind <= IDLE + PROMPT_SECONDS
    assert here.record()["end"] == "no_connections"
