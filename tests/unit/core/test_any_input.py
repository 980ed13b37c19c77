"""Laws: whatever stands anywhere in an object, decide and validate answer, change nothing and agree with themselves."""

from __future__ import annotations

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.core.engines import (
    CATALOG,
    HIDDEN,
    OTHER_IMAGE,
    RIVAL,
    catalog,
    container,
    deployment,
    pod,
    profile,
    request,
)
from webhook import names
from webhook.core.admission import decide, prove, validate
from webhook.core.decision import Allow, Deny, Patch, Policy, Rule
from webhook.core.patch import apply
from webhook.core.profile import profile_from

STATUS = json.dumps({
    "version": "1.0",
    "hook": "sleep",
    "budget": {"settle": 10, "drain": 95, "reserve": 15, "grace": 120},
    "changed": ["spec.containers[0].lifecycle.preStop", "spec.containers[0].readinessProbe"],
    "reasons": ["hook_replaced"],
})  # fmt: skip
WORDS = st.sampled_from([
    "", "x", "1", "-1", "8000", "\u00b2", "9" * 5000, "\ud800", "a\nb", "$(P)", "$$", "${P:-1}", "--port", "--port=1",
    "--host", "127.0.0.1", "--prefix", "/{x}", "--cap", "own", "serve", "sh", "-c", "own serve; own serve --port 1",
    "auto", "none", "enabled", "chain", "replace", "sleep", "own/server", "x/mesh", "windows", "http", STATUS, "{}",
    '{"changed": 5, "reasons": []}', '{"changed": [], "reasons": [], "budget": 5}',
])  # fmt: skip
KEYS = st.sampled_from([
    "name", "image", "command", "args", "env", "value", "valueFrom", "ports", "containerPort", "lifecycle", "preStop",
    "exec", "httpGet", "httpHeaders", "sleep", "seconds", "port", "metadata", "labels", "annotations", "spec",
    names.BACKEND, names.INJECT, names.STATUS, names.DRAIN, names.HOOK, names.GRACE, "x.y/z", "",
])  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -1, 30, 8000, 65536, 2**63, 10**40])
JUNK = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.just(1.5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
HANDLERS = st.sampled_from([
    None,
    {"preStop": {"exec": {"command": ["sleep", "10"]}}},
    {"preStop": {"exec": {"command": ["stop"]}}},
    {"preStop": {"exec": {"command": ["sh", "-c", "OLD", "drainhook", "chained=sleep:5"]}}},
    {"preStop": {"exec": {"command": ["sh", "-c", "OLD", "drainhook", "--", "stop"]}}},
    {"preStop": {"httpGet": {"path": "/x", "port": "http", "httpHeaders": []}}},
    {"preStop": {"httpGet": {"path": "/x", "port": 1, "httpHeaders": [{"name": names.HOOK_HEADER, "value": "0"}]}}},
    {"preStop": {"sleep": {"seconds": 105}}},
    {"preStop": {"tcpSocket": {"port": 1}}},
    {"postStart": {"exec": {"command": ["warm"]}}},
])  # fmt: skip
CONTAINERS = st.builds(
    container,
    image=st.sampled_from(["own/server:1.2.3", OTHER_IMAGE, "x/rival", "x/proxy", "x/mesh"]),
    command=st.sampled_from([None, ["own", "serve"], ["sh", "-c", "exec own serve --port ${P:-9000}"], ["rival"]]),
    args=st.lists(WORDS, max_size=4),
    env=st.just([{"name": "P", "value": "9001"}, {"name": "OWN_KEY", "valueFrom": {"secretKeyRef": {}}}]),
    ports=st.sampled_from([None, [{"containerPort": 8000, "name": "http"}], [{"containerPort": 9000}]]),
    lifecycle=HANDLERS,
    readinessProbe=st.sampled_from([None, {"httpGet": {"path": "/ready", "port": 8000}}]),
    livenessProbe=st.just({"httpGet": {"path": "/ready"}, "terminationGracePeriodSeconds": 5}),
)
ANNOTATIONS = st.fixed_dictionaries({}, optional={
    "port": WORDS, "container": WORDS, "drain-seconds": WORDS, "hook": WORDS, "existing-hook": WORDS,
    "grace-period-seconds": st.sampled_from(["1", "60", "500"]), "native-drain": st.just("enabled"),
    "image-tools": st.sampled_from(["none", "sh"]), "readiness": st.just("none"), "status": st.just(STATUS),
})  # fmt: skip
PODS = st.builds(
    pod,
    CONTAINERS,
    backend=st.sampled_from(["own", "drains", "itself", "auto", "rival", "nothing", None]),
    annotations=ANNOTATIONS,
    terminationGracePeriodSeconds=st.sampled_from([None, 0, 30, 600]),
    hostPID=st.booleans(),
)


def kind(api, name, spec):
    """Return an object of a custom kind."""
    return {"apiVersion": api, "kind": name, "spec": spec}


WRAPS = st.sampled_from([
    lambda inner: inner,
    deployment,
    lambda inner: {"kind": "List", "items": [deployment(inner), inner, None]},
    lambda inner: {"apiVersion": "a/v1", "kind": "Pod", "\u00b2": {"x": [inner]}},
    lambda inner: kind("ray.io/v1", "RayCluster", {"workerGroupSpecs": [{"template": inner}]}),
    lambda inner: kind("serving.kserve.io/v1", "ServingRuntime", {**inner["metadata"], **inner}),
])  # fmt: skip
KNOWN = catalog(
    profile(name="drains", tools=[], drain_endpoint={"path": "/drain"}, shutdown_class="C"),
    profile(name="itself", shutdown_class="B", metrics=None, post_start=["warm"]),
    profile_from(RIVAL, "1"),
    profile_from(HIDDEN, "2"),
)
POLICIES = st.builds(
    Policy,
    st.just("1.0"),
    st.sampled_from([None, (1, 28), (1, 31)]),
    st.sampled_from([(), (Rule("own", image="*own*"),), (Rule("nothing", {}, {"a": "b"}),)]),
    deny_pods=st.booleans(),
)
NAMESPACES = st.sampled_from([{}, {names.INJECT: "enabled"}, {names.INJECT: None}])
DEFAULTS = st.dictionaries(KEYS, JUNK, max_size=3)
OFTEN = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


def places(value, at=()):
    """Yield every place in a JSON value."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*at, key))


def put(root, at, value):
    """Return the root with another value at a place."""
    if not at:
        return value
    copied = copy.copy(root)
    copied[at[0]] = put(root[at[0]], at[1:], value)
    return copied


@st.composite
def objects(draw):
    """Draw an object with junk at up to two places."""
    root = draw(WRAPS)(draw(PODS))
    for _ in range(draw(st.integers(0, 2))):
        root = put(root, draw(st.sampled_from(list(places(root)))), draw(JUNK))
    return root


@OFTEN
@given(
    root=objects() | JUNK, old=st.none() | JUNK | objects(), policy=POLICIES, labels=NAMESPACES, annotations=DEFAULTS
)
def test_every_object_gets_an_answer(root, old, policy, labels, annotations):
    """Nothing raises, and neither the object nor the old one is changed."""
    before = copy.deepcopy((root, old))
    created = request(root, old=old, labels=labels, annotations=annotations)
    updated = request(root, "UPDATE", old=old, labels=labels, annotations=annotations, uid="u")
    assert isinstance(decide(created, KNOWN, policy), Allow | Patch)
    assert isinstance(validate(created, KNOWN, policy), Allow | Deny)
    assert isinstance(validate(updated, KNOWN, policy), Allow | Deny)
    assert (root, old) == before


@OFTEN
@given(root=objects(), policy=POLICIES, labels=NAMESPACES)
def test_every_patch_is_proven(root, policy, labels):
    """It applies, a second decision on its result is empty and says the same, and only `add` is made."""
    created = request(root, labels=labels)
    found = decide(created, KNOWN, policy)
    patch = Patch(getattr(found, "operations", ()), found.outcomes)
    again = decide(request(apply(root, patch.operations), labels=labels), KNOWN, policy)
    assert {operation["op"] for operation in patch.operations} <= {"add"}
    assert again.outcomes == found.outcomes
    assert prove(created, patch, KNOWN, policy)


@OFTEN
@given(document=PODS, policy=POLICIES)
def test_no_patch_makes_a_pod_worse(document, policy):
    """Grace never shrinks, a user's probe stays, and every port in hook and probe is one that the API server takes."""
    found = decide(request(document), CATALOG, policy)
    after = apply(document, getattr(found, "operations", ()))["spec"]
    (before,), (now,) = document["spec"]["containers"], after["containers"]
    grace = after.get("terminationGracePeriodSeconds")
    spec = document["spec"]["terminationGracePeriodSeconds"]
    assert (30 if grace is None else grace) >= (30 if spec is None else spec)
    assert before["readinessProbe"] in (None, now["readinessProbe"])
    gets = [
        (now.get("readinessProbe") or {}).get("httpGet"),
        ((now["lifecycle"] or {}).get("preStop") or {}).get("httpGet"),
    ]
    assert all(1 <= get["port"] <= 65535 for get in gets if get and get["port"] != "http")
