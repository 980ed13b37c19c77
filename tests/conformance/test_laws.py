"""What holds for every pod: never an exception, nothing touched but what is ours, no pod worse, a second pass empty."""

from __future__ import annotations

import copy
import json
import re

import jsonpatch
import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.builders import UID, filled_in
from tests.conformance.strategies import CATALOG, SECRET, objects, pods, versions
from webhook import names
from webhook.core.admission import decide, prove, validate
from webhook.core.budget import spec_grace
from webhook.core.decision import Allow, Patch, Policy, Request, Sidecar
from webhook.core.patch import apply
from webhook.core.sidecar import standing

FIELDS = re.compile(
    r"/spec/containers/\d+/(lifecycle/preStop|readinessProbe|args/\d+)|/spec/terminationGracePeriodSeconds"
    r"|/metadata/annotations/drainhook\.dev~1status"
)
OWNED = re.compile(FIELDS.pattern + r"|/spec/(initContainers|volumes)/\d+")  # the sidecar, behind all others
SIDECAR = Sidecar("registry.example/drainhook:0.0.0", without_shell=True)


def laws(examples):
    """Return the settings of a law; the same law runs long as a slow test."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=checks, derandomize=examples < 1000)


def policy(version):
    return Policy("0.0.0", version, sidecar=SIDECAR)


def patched(pod, version):
    """Return the patch of a pod; pods that get none are not the law's business."""
    decision = decide(Request(pod), CATALOG, policy(version))
    assume(isinstance(decision, Patch))
    return decision


def check_total(document, version):
    for operation in ("CREATE", "UPDATE", "DELETE", ""):
        request = Request(document, operation=operation, old=document, uid=UID)
        before = copy.deepcopy(document)
        decision = decide(request, CATALOG, policy(version))
        validate(request, CATALOG, policy(version))
        assert document == before
        assert not isinstance(decision, Patch) or prove(request, decision, CATALOG, policy(version))


def check_patch(pod, version):
    before = copy.deepcopy(pod)
    decision = patched(pod, version)
    assert pod == before, "the input was changed"
    assert all(set(item) == {"op", "path", "value"} and item["op"] == "add" for item in decision.operations)
    after = apply(pod, decision.operations)
    assert pod == before, "the applier changed its input"
    assert after == jsonpatch.apply_patch(pod, list(decision.operations))
    rest = (before, after) if standing(after) is None else (without_sidecar(before), without_sidecar(after))
    wrong = [path for path in differences(*rest) if not FIELDS.fullmatch(path)]
    assert wrong == []
    check_arithmetic(before, after, decision)
    check_probes(before, after)


def without_sidecar(pod):
    """Return a pod without what is ours as a whole: one init container and one volume."""
    spec, ours = pod["spec"], standing(pod)
    inits = [item for index, item in enumerate(spec.get("initContainers") or ()) if index != ours]
    volumes = [item for item in spec.get("volumes") or () if item["name"] != names.SIDECAR_VOLUME]
    return {**pod, "spec": {**spec, "initContainers": inits, "volumes": volumes}}


def check_second_pass(pod, version):
    decision = patched(pod, version)
    first = apply(pod, decision.operations)
    for again in (first, filled_in(first)):
        second = decide(Request(again), CATALOG, policy(version))
        assert isinstance(second, Allow), second.operations
        assert second.outcomes == decision.outcomes
        assert [(item.reason, item.path) for item in second.findings] == [
            (item.reason, item.path) for item in decision.findings
        ]


def check_filled_in(pod, version):
    """Decide about a pod as the API server fills it in: that changes nothing."""
    decision = patched(pod, version)
    assert decide(Request(filled_in(pod)), CATALOG, policy(version)).outcomes == decision.outcomes


def check_secrets(pod, version):
    decision = decide(Request(pod), CATALOG, policy(version))
    verdict = validate(Request(pod, uid=UID), CATALOG, policy(version))
    said = [str(item) for item in (*decision.findings, *verdict.findings)]
    assert SECRET not in json.dumps([said, [item.status for item in decision.outcomes]])


def check_arithmetic(before, after, decision):
    """Check that grace never shrinks and is the sum of its parts, and that no hook outlives settle and drain."""
    grace = spec_grace(after)
    assert grace >= spec_grace(before)
    (outcome,) = decision.outcomes
    budget = outcome.status["budget"]
    assert budget["grace"] == grace
    if outcome.status["hook"] == "none":
        return
    assert budget["settle"] + budget["drain"] + budget["reserve"] == grace
    assert budget["reserve"] >= 2
    for place in outcome.status["changed"]:
        if place.endswith("preStop"):
            hook = at(after, place)
            if outcome.status["hook"] == "sidecar":
                hook = {"exec": {"command": after["spec"]["initContainers"][standing(after)]["args"]}}
            assert hook_seconds(hook) <= budget["settle"] + budget["drain"] < grace


def check_probes(before, after):
    """Check that an added probe is one that the API server takes, and that it replaces none."""
    for old, new in zip(before["spec"]["containers"], after["spec"]["containers"], strict=True):
        if new.get("readinessProbe") == old.get("readinessProbe"):
            continue
        assert not old.get("readinessProbe")
        get = new["readinessProbe"]["httpGet"]
        assert isinstance(get["port"], int)
        assert 1 <= get["port"] <= 65535
        assert get["path"].startswith("/")
        assert "$" not in get["path"]
        assert get["scheme"] in {"HTTP", "HTTPS"}


def hook_seconds(hook):
    """Return how long one of our hooks may take."""
    if "sleep" in hook:
        return hook["sleep"]["seconds"]
    words = hook["exec"]["command"] if "exec" in hook else re.split(r"[?&]", hook["httpGet"]["path"])
    found = dict(word.split("=", 1) for word in words if re.fullmatch(r"(settle|drain|wait)=\d+", word))
    return sum(map(int, found.values()))


def at(root, place):
    for key in re.findall(r"[^.\[\]]+", place):
        root = root[int(key)] if key.isdigit() else root[key]
    return root


def differences(one, other, path=""):
    """Yield the pointers of the deepest places that differ; a missing or empty parent counts as its members."""
    if isinstance(one, dict | None) and isinstance(other, dict):
        for key in sorted((one or {}).keys() | other.keys()):
            inner = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if OWNED.fullmatch(inner):
                if (one or {}).get(key) != other.get(key):
                    yield inner
            elif key not in other or (key not in (one or {}) and not isinstance(other[key], dict | list)):
                yield inner
            else:
                yield from differences((one or {}).get(key), other[key], inner)
    elif isinstance(one, list | None) and isinstance(other, list):
        one = one or []
        for index in range(max(len(one), len(other))):
            if index >= len(one) or index >= len(other):
                yield f"{path}/{index}"
            else:
                yield from differences(one[index], other[index], f"{path}/{index}")
    elif type(one) is not type(other) or one != other:
        yield path


LAWS = {
    "never_raises": (check_total, objects),
    "patch_applies_and_touches_only_what_is_ours": (check_patch, pods()),
    "second_pass_is_empty_and_says_the_same": (check_second_pass, pods()),
    "what_the_api_server_fills_in_changes_nothing": (check_filled_in, pods()),
    "no_secret_is_repeated": (check_secrets, pods()),
}


@pytest.mark.parametrize("name", LAWS)
def test_law(name):
    check, documents = LAWS[name]
    laws(80)(given(documents, versions)(check))()


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_law_at_length(name):
    check, documents = LAWS[name]
    laws(4000)(given(documents, versions)(check))()


def test_the_strategies_reach_the_sidecar():
    """Of pods that the law draws, some get a new one and some have an old one."""
    seen = set()

    @laws(300)
    @given(pods())
    def look(pod):
        found = decide(Request(pod), CATALOG, policy((1, 34)))
        for outcome in found.outcomes:
            if outcome.status is not None and outcome.status["hook"] == "sidecar":
                seen.add(standing(pod) is not None)

    look()
    assert seen == {True, False}


def test_names_of_the_law_are_those_of_the_product():
    assert names.STATUS.replace("/", "~1").replace(".", r"\.") in OWNED.pattern
