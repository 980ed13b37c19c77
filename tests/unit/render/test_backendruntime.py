"""Every profile as llmaz's BackendRuntime: valid for llmaz, and the same decision as the webhook's on llmaz's pods."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from webhook import __version__, names
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Patch, Policy, Reason, Request
from webhook.core.existing import PRE_STOP
from webhook.core.patch import apply, look
from webhook.profile_file import parse
from webhook.render.backendruntime import CONTAINER, GRACE_SECONDS, PORT, Start, Wanted, render

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests/fixtures/llmaz"
EXAMPLES = ROOT / "examples/llmaz"
CATALOG = load()[0]
POLICY = Policy(__version__)
STARTS = parse((ROOT / "webhook/render/llmaz.yaml").read_text())
IN_TREE = ("vllm", "tgi", "llamacpp", "sglang", "ollama", "tensorrt-llm")


def made(name, catalog=CATALOG, policy=POLICY, **wanted):
    """Render the runtime of a backend."""
    start = Start(**STARTS.get(name, {}))
    return render(catalog.profiles[name], Wanted(name, **wanted), start, catalog, policy)


def strict(schema):
    """Give a schema that refuses the fields which an API server would drop in silence."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: strict(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if isinstance(schema.get("properties"), dict) else inner


def check(obj):
    """Refuse an object that llmaz's definition of its kind does not know."""
    definition = yaml.safe_load((FIXTURES / f"{obj['kind'].lower()}.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    assert obj["apiVersion"] == f"{definition['spec']['group']}/{version['name']}"
    schema = strict(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    jsonschema.Draft7Validator(schema).validate(obj)


def llmaz_pod(runtime, name, grace=GRACE_SECONDS, labels=None):
    """Give the pod that llmaz makes of a runtime for a Playground."""
    spec = runtime["spec"]
    (config,) = spec["recommendedConfigs"]
    values = {
        "image": f"{spec['image']}:{spec['version']}",
        "command": spec.get("command"),
        "args": config.get("args"),
        "env": spec.get("envs"),
        **{key: spec.get(key) for key in ("lifecycle", "startupProbe", "livenessProbe", "readinessProbe")},
    }
    ports = [{"name": "http", "protocol": "TCP", "containerPort": PORT}]
    container = {key: value for key, value in values.items() if value is not None}
    pod_spec = {"containers": [{"name": CONTAINER, "ports": ports, **copy.deepcopy(container)}]}
    if grace is not None:
        pod_spec["terminationGracePeriodSeconds"] = grace
    metadata = {"name": "model-0", "labels": labels or {names.BACKEND: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec}


def words(obj, path=("spec", "lifecycle")):
    """Give the parameters of the drain script in an object."""
    return look(obj, (*path, "preStop", "exec", "command"))[4:]


@pytest.mark.parametrize("kind", ["backendruntime", "playground"])
def test_the_definitions_are_valid(kind):
    """A fixture that no API server takes would prove nothing."""
    definition = yaml.safe_load((FIXTURES / f"{kind}.yaml").read_text())
    kubernetes_validate.validate(definition, "1.34", strict=True)


def test_the_definition_refuses_what_llmaz_does_not_know():
    """The check below can fail: a BackendRuntime has no grace period."""
    obj = made("vllm").object
    obj["spec"]["terminationGracePeriodSeconds"] = 120
    with pytest.raises(jsonschema.ValidationError, match="terminationGracePeriodSeconds"):
        check(obj)


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_every_profile_is_a_valid_runtime(name):
    """Each field is known to llmaz, its pod is valid, and all probes ask the port that llmaz's Service leads to."""
    obj = made(name).object

    check(obj)
    kubernetes_validate.validate(llmaz_pod(obj, name), "1.28", strict=True)
    asked = [obj["spec"][probe] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    ports = [next(probe[kind]["port"] for kind in ("httpGet", "tcpSocket") if kind in probe) for probe in asked]
    assert ports == [PORT] * 3
    assert str(PORT) in next(word for word in words(obj) if word.startswith("ports="))
    assert [config["name"] for config in obj["spec"]["recommendedConfigs"]] == ["default"]


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_the_webhook_has_nothing_left_to_change(name):
    """On llmaz's own pod the hook is recognised as ours and the probes are kept; only the status is written."""
    pod = llmaz_pod(made(name).object, name)

    decision = decide(Request(pod, "default"), CATALOG, POLICY)

    assert isinstance(decision, Patch)
    assert [operation["path"] for operation in decision.operations] == ["/metadata/annotations"]
    after = apply(pod, decision.operations)
    assert after["spec"] == pod["spec"]
    again = decide(Request(after, "default"), CATALOG, POLICY)
    assert not isinstance(again, Patch)


@pytest.mark.parametrize("name", IN_TREE)
def test_a_pod_without_a_label_is_left_alone(name):
    """Without the webhook's label the runtime alone does it: nothing depends on drainhook being installed."""
    pod = llmaz_pod(made(name).object, name, labels={"app": "model"})

    decision = decide(Request(pod, "default"), CATALOG, POLICY)

    assert [outcome.reasons for outcome in decision.outcomes] == [(Reason.NOT_LABELLED,)]


def test_a_pod_of_an_earlier_llmaz_gets_its_grace_from_the_webhook():
    """30 s would cut the hook: the webhook raises them, and its hook replaces ours of the runtime."""
    pod = llmaz_pod(made("vllm").object, "vllm", grace=None)

    after = apply(pod, decide(Request(pod, "default"), CATALOG, POLICY).operations)

    assert after["spec"]["terminationGracePeriodSeconds"] == 120
    assert words(after, ("spec", "containers", 0, "lifecycle"))[:2] == ["settle=10", "drain=95"]


def test_a_runtime_for_an_earlier_llmaz_fits_into_its_grace():
    """Where nothing raises the 30 s, the hook ends before them."""
    obj = made("vllm", grace=30).object
    assert words(obj)[:2] == ["settle=10", "drain=5"]


@pytest.mark.parametrize(("name", "grace", "least"), [("vllm", 29, 30), ("triton", 45, 46), ("vllm", 0, 30)])
def test_a_grace_without_room_for_a_drain_is_refused(name, grace, least):
    """The message says what would be right."""
    with pytest.raises(ValueError, match=rf"^{grace} s: must be at least {least}: settle 10 \+ reserve"):
        made(name, grace=grace)


def test_another_port_is_the_same_everywhere():
    """Server, hook and probes agree; llmaz's own vLLM runtime polls 8000 while its server listens on 8080."""
    spec = made("vllm", port=9000).object["spec"]
    assert spec["recommendedConfigs"][0]["args"][-2:] == ["--port", "9000"]
    assert words({"spec": spec})[2:4] == ["ports=9000", "url=http://127.0.0.1:9000/metrics"]
    assert (spec["readinessProbe"]["httpGet"]["port"], spec["livenessProbe"]["tcpSocket"]["port"]) == (9000, 9000)


@pytest.mark.parametrize(
    ("name", "args", "envs"),
    [
        ("llamacpp", ["-m", "{{ .ModelPath }}", "--host", "0.0.0.0", "--port", "8080", "--metrics"], None),  # noqa: S104
        ("ollama", None, [{"name": "OLLAMA_HOST", "value": "0.0.0.0:8080"}]),
        ("mlserver", None, [{"name": "MLSERVER_HTTP_PORT", "value": "8080"}]),
        ("kserve-huggingface", ["--http_port", "8080"], None),
    ],
)
def test_the_server_is_told_where_to_listen(name, args, envs):
    """By flag, by variable, by one variable for both; metrics are turned on where they are off."""
    spec = made(name).object["spec"]
    assert (spec["recommendedConfigs"][0].get("args"), spec.get("envs")) == (args, envs)


def test_an_image_of_ones_own_is_taken_as_it_is():
    """The administrator's image and tag; the note about them goes."""
    rendered = made("vllm", image="mirror.example/vllm/vllm-openai", version="v0.33.0")
    spec = rendered.object["spec"]
    assert (spec["image"], spec["version"]) == ("mirror.example/vllm/vllm-openai", "v0.33.0")
    assert rendered.notes["image"] == ""


def test_post_start_of_a_profile_is_rendered(tmp_path):
    """A full lifecycle (B5): a profile of one's own pulls the model once Ollama is up."""
    (tmp_path / "ollama.yaml").write_text("extends: ollama\npost_start: [sh, -c, ollama pull qwen2:0.5b]\n")
    catalog, _ = load((tmp_path,))

    obj = made("ollama", catalog=catalog).object

    check(obj)
    assert obj["spec"]["lifecycle"]["postStart"] == {"exec": {"command": ["sh", "-c", "ollama pull qwen2:0.5b"]}}
    pod = llmaz_pod(obj, "ollama")
    after = apply(pod, decide(Request(pod, "default"), catalog, POLICY).operations)
    assert after["spec"] == pod["spec"]


@pytest.mark.parametrize(
    ("kubernetes", "pre_stop", "reason"),
    [((1, 34), {"sleep": {"seconds": 115}}, []), (None, None, [Reason.NO_RUNG])],
)
def test_an_image_without_a_shell_gets_the_next_rung(tmp_path, kubernetes, pre_stop, reason):
    """By the version of the cluster; where nothing can run, no lifecycle is made and it is said."""
    (tmp_path / "vllm.yaml").write_text("extends: vllm\ntools: []\n")
    catalog, _ = load((tmp_path,))

    rendered = made("vllm", catalog=catalog, policy=Policy(__version__, kubernetes))

    check(rendered.object)
    assert look(rendered.object, ("spec", *PRE_STOP)) == pre_stop
    assert [finding.reason for finding in rendered.findings] == reason


def test_a_port_that_the_engine_opens_besides_is_warned_about():
    """KubeRay puts Ray's metrics on 8080, which is llmaz's port."""
    assert made("ray-serve").warnings == [
        "port 8080 is also the default of the engine's metrics: give that another one"
    ]
    assert made("vllm").warnings == []


def test_a_server_that_cannot_be_told_where_to_listen_is_warned_about(tmp_path):
    """No flag, no variable, localhost: no probe that nobody could answer, and a warning."""
    (tmp_path / "acme.yaml").write_text(
        "extends: vllm\nhttp: {default: 7000, flags: []}\nhost: {default: 127.0.0.1, flags: []}\n"
    )
    catalog, _ = load((tmp_path,))

    rendered = made("acme", catalog=catalog)

    check(rendered.object)
    assert rendered.warnings == [
        "nothing tells the server to listen on port 8080: the profile knows no flag or variable"
    ]
    assert {"startupProbe", "livenessProbe", "readinessProbe"} & set(rendered.object["spec"]) == set()


@pytest.mark.parametrize("name", CATALOG.profiles)
def test_notes_say_the_numbers_that_stand_there(name):
    """Settle, drain and reserve of the note are the hook's, and add up to the grace period."""
    rendered, budget = made(name), CATALOG.profiles[name].budget
    note = rendered.notes["lifecycle"]
    drain = GRACE_SECONDS - budget.settle - budget.reserve
    assert [f"{budget.settle} s until" in note, f"{drain} s" in note, f"; {budget.reserve} s are left" in note] == [
        True
    ] * 3
    settle, wait = (int(word.partition("=")[2]) for word in words(rendered.object)[:2])
    assert (settle, wait) in {(budget.settle, drain), (budget.settle, 0)}
    assert set(rendered.notes) <= set(rendered.object["spec"])


def test_the_examples_are_objects_that_llmaz_knows():
    """The runtime, and the Playground that uses it without saying so: its name is llmaz's default (B3)."""
    runtime = yaml.safe_load((EXAMPLES / "backendruntime.yaml").read_text())
    model, playground = yaml.safe_load_all((EXAMPLES / "playground.yaml").read_text())
    check(runtime)
    check(playground)

    backend = playground["spec"].get("backendRuntimeConfig", {}).get("backendName")
    definition = yaml.safe_load((FIXTURES / "playground.yaml").read_text())["spec"]["versions"][0]
    at = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "backendRuntimeConfig", "properties")
    assert backend is None
    assert look(definition, (*at, "backendName", "default")) == runtime["metadata"]["name"]
    assert model["metadata"]["name"] == playground["spec"]["modelClaim"]["modelName"]


def test_rendering_is_pure():
    """Values in, objects out: it imports the core, names and nothing that reads or prints."""
    tree = ast.parse((ROOT / "webhook/render/backendruntime.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = {"__future__", "collections.abc", "dataclasses", "typing", "webhook"}
    assert {module for module in imported if not module.startswith("webhook.core.")} == plain
    assert [node for node in ast.walk(tree) if isinstance(node, ast.Import)] == []
