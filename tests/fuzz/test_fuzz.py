"""The check itself: it finds a planted fault of every kind, repeats itself by seed, fails where nothing is shown."""

from __future__ import annotations

import pytest

from tests.cluster import build
from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places
from tests.conformance.passes import decided
from tests.fuzz.__main__ import dry_runs, main
from tests.fuzz.chunks import run
from tests.fuzz.laws import SHOWN, WRITTEN, Trial, broken, check, different
from tests.fuzz.oracle import Oracle
from tests.fuzz.pods import pod
from webhook import names
from webhook.core.decision import Patch

KUBERNETES_OF_CASE = (1, 34)


@pytest.fixture(scope="module")
def binary():
    """Return the in-process validation; from nothing it takes minutes, which is no test's business."""
    if not (Places.of().binaries(KUBERNETES) / build.ORACLE).exists():
        pytest.skip("Kubernetes' validation is not built yet: make fuzz")
    return build.oracle(Places.of())


@pytest.fixture(scope="module")
def oracle(binary):
    with Oracle(binary) as started:
        yield started


def server(**fields):
    """Return a pod that gets a patch."""
    container = {"name": "server", "image": "vllm/vllm-openai:v0.32.0", "ports": [{"containerPort": 8000}], **fields}
    metadata = {"name": "llm", "labels": {names.BACKEND: "vllm"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def laws_broken(oracle, document, *operations):
    """Return the laws that a patch with more operations than ours breaks."""
    (plain,) = oracle.ask([(document, ())])
    ours = decided(document, KUBERNETES_OF_CASE)
    decision = Patch((*ours.operations, *operations), ours.outcomes)
    trial = Trial("x", KUBERNETES_OF_CASE, WRITTEN, document, plain, decision)
    (verdict,) = oracle.ask([(document, decision.operations)])
    return {fault.law for fault in broken(trial, verdict)}


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def test_our_own_patch_breaks_no_law(oracle):
    assert laws_broken(oracle, server()) == set()


def test_a_patch_that_is_refused_is_found(oracle):
    hook = add("/spec/containers/0/lifecycle/preStop", {"sleep": {"seconds": 10**6}})
    assert laws_broken(oracle, server(), hook) == {"accepted"}


def test_a_new_api_warning_is_found(oracle):
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert "accepted" in laws_broken(oracle, server(), add("/spec/containers/0/env", env))


def test_a_foreign_path_is_found(oracle):
    assert laws_broken(oracle, server(), add("/metadata/labels/app", "x")) == {"owned"}


def test_a_patch_that_the_library_reads_differently_is_found(oracle):
    document = server(args=["a", "b"])
    ours = decided(document, KUBERNETES_OF_CASE)
    (plain,) = oracle.ask([(document, ())])
    (other,) = oracle.ask([({**document, "metadata": {**document["metadata"], "name": "other"}}, ours.operations)])
    trial = Trial("x", KUBERNETES_OF_CASE, WRITTEN, document, plain, ours)
    assert "library" in {fault.law for fault in broken(trial, other)}


def test_a_second_pass_that_changes_something_is_found(oracle):
    lost = add("/metadata/annotations", {})  # the status is gone, so that the next pass writes it again
    assert laws_broken(oracle, server(), lost) == {"second"}


def test_forms_that_end_differently_are_found(oracle):
    one, other = server(), server(args=["--port", "9000"])
    trials = [
        Trial("x", KUBERNETES_OF_CASE, form, document, None, decided(document, KUBERNETES_OF_CASE))
        for form, document in ((WRITTEN, one), (SHOWN, other))
    ]
    verdicts = oracle.ask([(trial.before, trial.patch) for trial in trials])
    assert {fault.law for fault in different(trials[0], verdicts[0], trials[1], verdicts[1])} == {"same"}
    assert not list(different(trials[0], verdicts[0], trials[0], verdicts[0]))


def test_the_oracle_is_strict_and_fills_in(oracle):
    unknown, sound = oracle.ask([({**server(), "x": 1}, ()), (server(), ())])
    assert (unknown.accepted, unknown.stage) == (False, "decode")
    assert 'unknown field "x"' in unknown.message
    assert sound.accepted
    assert sound.shown["spec"]["terminationGracePeriodSeconds"] == 30


def test_a_deployment_is_judged_as_one(oracle):
    number = next(number for number in range(100) if pod(f"d:{number}")["kind"] == "Deployment")
    assert check(oracle, [("x", pod(f"d:{number}"))]).seen == 1


def test_no_law_is_broken_in_a_short_run(binary):
    tally = run(binary, "short", 400, jobs=1)
    assert [(fault.law, fault.text) for fault in tally.faults] == []
    assert tally.seen == 400
    assert tally.accepted > 200
    assert tally.patched > 200
    assert {"exec", "kept", "sleep", "none"} <= set(tally.hooks)


def test_the_number_of_processes_changes_nothing(binary):
    one, three = run(binary, "same", 33, jobs=1), run(binary, "same", 33, jobs=3)
    assert (one.accepted, one.patched, one.hooks) == (three.accepted, three.patched, three.hooks)


@pytest.mark.usefixtures("binary")
def test_a_run_that_shows_nothing_fails(capsys):
    assert main(["--count", "0", "--jobs", "1", "--live", "0"]) == 1
    assert "nothing was shown" in capsys.readouterr().out


def test_dry_runs_without_a_cluster_are_said_to_be_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert dry_runs("1", 10) == 2
    assert capsys.readouterr().out == "Dry runs: not run: No cluster is up: make cluster\n"


def test_the_same_seed_gives_the_same_pod():
    assert [pod(f"s:{number}") for number in range(50)] == [pod(f"s:{number}") for number in range(50)]
    assert pod("s:1") != pod("s:2")
