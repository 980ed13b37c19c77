"""One test for each row of the practice list that the core fulfils: M of mutation, S of delivery.

What production webhooks got wrong, as input; the rows of the HTTP door are in tests/server.
"""

from __future__ import annotations

import copy
import re
from importlib.metadata import version
from pathlib import Path

import jsonpatch
import pytest

from tests.builders import child, container, pod, review, workload
from tests.conformance.case import all_cases, catalog
from tests.conformance.doors import Http
from tests.conformance.passes import decided, hook_of, patched
from webhook import names
from webhook.cli.offline import Settings, decide_document
from webhook.core.admission import decide, validate
from webhook.core.budget import spec_grace
from webhook.core.decision import Allow, Patch, Policy, Reason, Request

PATH = "/spec/containers/0/lifecycle/preStop"


def words(document):
    """Return the parameters of our exec hook."""
    return hook_of(document)["exec"]["command"][4:]


def test_m1_unknown_fields_and_nulls_survive():
    odd = {"new": [1, {"deep": None}], "nothing": None, "": {"~": "/"}}
    item = container(resizePolicy=odd, lifecycle={"stopSignal": "SIGUSR1"})
    before = pod(item, schedulingGates=[odd]) | {"futureField": odd}
    after = patched(copy.deepcopy(before))
    assert after["futureField"] == odd
    assert after["spec"]["schedulingGates"] == [odd]
    assert after["spec"]["containers"][0]["resizePolicy"] == odd
    assert after["spec"]["containers"][0]["lifecycle"]["stopSignal"] == "SIGUSR1"


def test_m2_no_operation_replaces_a_list():
    document = pod(container(), container("proxy", "nginx"), initContainers=[{"name": "i", "image": "busybox"}])
    for operation in decided(document).operations:
        assert operation["op"] == "add"
        assert not isinstance(operation["value"], list)
        assert operation["path"] not in {"/spec", "/spec/containers", "/spec/containers/0", "/metadata"}


@pytest.mark.parametrize("parent", [lambda: None, dict])
def test_m3_null_and_empty_parents_count_as_missing(parent):
    plain = pod()
    document = pod(container(lifecycle=parent(), readinessProbe=parent()))
    document["metadata"]["annotations"] = parent()
    assert patched(document) == patched(plain) == jsonpatch.apply_patch(document, decided(document).operations)


def test_m4_keys_are_escaped_tilde_first():
    document = pod(annotations={"drain-seconds": "60"})
    document["metadata"]["annotations"] |= {"a/b~c": "1", "a~1b": "2"}
    (operation,) = (item for item in decided(document).operations if "annotations" in item["path"])
    assert operation["path"] == "/metadata/annotations/drainhook.dev~1status"
    kept = patched(document)["metadata"]["annotations"]
    assert (kept["a/b~c"], kept["a~1b"]) == ("1", "2")


HANDLERS = [
    {"exec": {"command": ["/bin/deregister"]}},
    {"exec": {"command": ["sleep", "20"]}},
    {"sleep": {"seconds": 20}},
    {"httpGet": {"path": "/stop", "port": 8000}},
    {"tcpSocket": {"port": 8000}},
    {"newHandler": {"x": 1}},
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_m8_users_hook_and_probe_are_never_overwritten(handler):
    probe = {"exec": {"command": ["true"]}}
    after = patched(pod(container(lifecycle={"preStop": handler, "postStart": handler}, readinessProbe=probe)))
    (item,) = after["spec"]["containers"]
    assert item["lifecycle"] == {"preStop": handler, "postStart": handler}
    assert item["readinessProbe"] == probe


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("wish", ["keep", "chain", "replace"])
def test_m8_one_handler_stands_in_each_hook(handler, wish):
    after = patched(pod(container(lifecycle={"preStop": handler}), annotations={"existing-hook": wish}))
    assert len(hook_of(after)) == 1


def test_m9_init_containers_are_left_alone():
    inits = [
        {"name": "download", "image": "vllm/vllm-openai:v0.32.0", "command": ["vllm", "serve"]},
        {"name": "sidecar", "image": "vllm/vllm-openai:v0.32.0", "restartPolicy": "Always"},
    ]
    assert patched(pod(initContainers=inits))["spec"]["initContainers"] == inits


@pytest.mark.parametrize(
    ("kubernetes", "handler"), [((1, 28), None), ((1, 29), None), (None, None), ((1, 30), "sleep"), ((1, 37), "sleep")]
)
def test_m10_sleep_is_used_where_no_shell_is_and_the_cluster_has_it(kubernetes, handler):
    after = patched(pod(annotations={"image-tools": "none"}), kubernetes)
    hook = after["spec"]["containers"][0].get("lifecycle", {}).get("preStop", {})
    assert list(hook) == ([handler] if handler else [])


@pytest.mark.parametrize("grace", [None, 0, 1, 30, 105, 106, 120, 121, 5000])
def test_m10_sleep_stays_below_the_grace_period(grace):
    after = patched(pod(annotations={"hook": "sleep"}, terminationGracePeriodSeconds=grace))
    assert 0 < hook_of(after)["sleep"]["seconds"] < after["spec"]["terminationGracePeriodSeconds"]


@pytest.mark.parametrize(
    "seconds", [{}, {"settle": 300, "drain": 86400, "reserve": 2}, {"settle": 0, "drain": 1, "reserve": 2}]
)
def test_m11_engine_always_gets_its_reserve(seconds):
    after = patched(pod(annotations={f"{part}-seconds": str(value) for part, value in seconds.items()}))
    found = dict(word.split("=", 1) for word in words(after) if "=" in word)
    spent = int(found["settle"]) + int(found["drain"])
    assert spec_grace(after) - spent >= seconds.get("reserve", 15)


def test_m12_port_names_resolve_in_the_same_container_only():
    front = container("front", "nginx", ports=[{"name": "http", "containerPort": 80}])
    own = container(ports=[{"name": "api", "containerPort": 9000}])
    assert "ports=9000" in words(
        {"spec": {"containers": [patched(pod(front, own, annotations={"port": "api"}))["spec"]["containers"][1]]}}
    )
    found = decided(pod(front, own, annotations={"port": "http"})).findings
    assert [item.path for item in found if item.reason is Reason.BAD_OVERRIDE] == [
        "metadata.annotations[drainhook.dev/port]"
    ]


HOSTILE = [
    "$(reboot)",
    "`reboot`",
    "1; reboot",
    "1\nreboot",
    "'\"",
    "-- reboot",
    "url=http://evil",
    "chain=x",
    "é\x00",
    "9" * 5000,
]


@pytest.mark.parametrize("key", sorted({key.partition("/")[2] for key in (
    names.SETTLE, names.DRAIN, names.RESERVE, names.GRACE, names.HOOK, names.EXISTING_HOOK, names.READINESS,
    names.NATIVE_DRAIN, names.IMAGE_TOOLS, names.PORT, names.CONTAINER,
)}))  # fmt: skip
@pytest.mark.parametrize("text", HOSTILE)
def test_m13_annotation_text_reaches_no_command(key, text):
    hook = hook_of(patched(pod(annotations={key: text})))
    assert hook in (hook_of(patched(pod())), {"sleep": {"seconds": 105}})


SKIPPED = [
    ({"metadata": {"annotations": {names.MIRROR_POD: "x"}}}, Reason.MIRROR_POD),
    ({"spec": {"os": {"name": "windows"}}}, Reason.WINDOWS_POD),
    ({"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}}, Reason.WINDOWS_POD),
    ({"spec": {"nodeSelector": {"beta.kubernetes.io/os": "windows"}}}, Reason.WINDOWS_POD),
    ({"metadata": {"ownerReferences": [{"kind": "Job", "name": "j"}]}}, Reason.BATCH_JOB),
]


@pytest.mark.parametrize(("more", "reason"), SKIPPED)
def test_m14_m15_pods_that_no_webhook_may_touch_are_left_alone(more, reason):
    document = pod()
    for part, fields in more.items():
        document[part] |= fields
    assert decided(document) == Allow(decided(document).outcomes)
    assert [outcome.reasons for outcome in decided(document).outcomes] == [(reason,)]


def test_m14_absence_of_a_selector_is_linux_and_host_network_is_fine():
    assert isinstance(decided(pod(hostNetwork=True)), Patch)


def test_m18_names_and_namespaces_of_the_object_reach_no_patch():
    document = child(pod(), namespace="other")
    text = str(decided(document).operations)
    assert "other" not in text
    assert "llm-5d4f" not in text


def test_m22_label_counts_on_the_template_alone():
    plain, labelled = pod(backend=None), pod()
    on_workload = workload(plain)
    on_workload["metadata"]["labels"] = {names.BACKEND: "vllm"}
    assert isinstance(decided(on_workload), Allow)
    found = validate(Request(on_workload), catalog(), Policy("0.0.0")).findings
    assert [(item.reason, item.path) for item in found] == [
        (Reason.WRONG_OBJECT, "metadata.labels[drainhook.dev/backend]")
    ]
    assert isinstance(decided(workload(labelled)), Patch)


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if "s3cr3t" in str(case.documents if not case.is_text else "")]
)
def test_o3_no_key_of_a_manifest_is_logged_or_said(case):
    http = Http(case)
    for document in case.documents:
        response = http.post(names.MUTATE_PATH, review(document))
        assert "s3cr3t" not in str(response.get("warnings")) + str(response["auditAnnotations"])
        assert "s3cr3t" not in str(http.post(names.VALIDATE_PATH, review(document)))
    assert len(http.logged) == 2 * len(case.documents)
    assert "s3cr3t" not in "".join(http.logged)


def test_s10_command_line_decides_as_the_webhook_does():
    settings = Settings(catalog(), Policy("0.0.0"))
    for case in all_cases():
        if not case.is_text and "profiles" not in case.options:
            for document in case.documents:
                if document.get("kind") in {"Pod", "Deployment"} and "namespace" not in case.folder.parent.name:
                    offline = decide_document(document, settings)
                    online = decide(Request(document), catalog(), Policy("0.0.0"))
                    assert tuple(offline.operations) == getattr(online, "operations", ())
                    assert tuple(offline.findings) == online.findings


def test_s11_jsonpatch_is_one_that_makes_right_patches():
    assert tuple(map(int, version("jsonpatch").split(".")))[:2] >= (1, 34)
    pinned = re.search(r'"jsonpatch>=(\d+)\.(\d+)"', Path("pyproject.toml").read_text("utf-8"))
    assert pinned
    assert (int(pinned[1]), int(pinned[2])) >= (1, 34)
    before, after = {"a": [1, [2], {"b": 3}]}, {"a": [{"b": 3}, [2, 1]]}
    assert jsonpatch.make_patch(before, after).apply(before) == after
    assert list(jsonpatch.make_patch([1], [True]))
