"""The observer's manifests agree with the code, hold no permission too many, and are apart from the webhook's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from webhook import __version__, names
from webhook.cli.observe import observe
from webhook.observe.feeds import feeds

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "manifests/observe"
BASE, EVENTS = FOLDER / "base", FOLDER / "events"
SUPPORTED = ("1.28", "1.37")
NAME = "drainhook-observe"


def documents(folder):
    """Return every object of a folder's own files by kind and name."""
    files = [file for file in sorted(folder.glob("*.yaml")) if file.name != "kustomization.yaml"]
    found = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return {(item["kind"], item["metadata"]["name"]): item for item in found}


OBJECTS = documents(BASE)
MORE = documents(EVENTS)
DEPLOYMENT = OBJECTS["Deployment", NAME]
POD = DEPLOYMENT["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
EVERY = [(key, item) for objects in (OBJECTS, MORE) for key, item in objects.items()]


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize(("key", "item"), EVERY, ids=lambda value: str(value) if isinstance(value, tuple) else "")
def test_every_object_is_valid(key, item, version):
    """The oldest supported cluster and the newest take it."""
    assert key == (item["kind"], item["metadata"]["name"])
    kubernetes_validate.validate(item, version, strict=True)


@pytest.mark.parametrize("folder", [BASE, EVENTS], ids=["base", "events"])
def test_every_file_is_in_its_kustomization(folder):
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    files = {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in listed if name.endswith(".yaml")} == files


def test_neither_base_nor_overlay_includes_the_observer():
    """It is an option of its own."""
    others = [
        file.read_text() for file in (ROOT / "manifests").rglob("kustomization.yaml") if FOLDER not in file.parents
    ]
    assert len(others) >= 2
    assert [text for text in others if "observe" in text] == []


def test_the_observer_may_read_what_it_watches_and_nothing_else():
    """Every path that is watched has its rule, and every rule a path."""
    asked = {tuple(feed.path.removeprefix("/api").removeprefix("s").strip("/").split("/")) for feed in feeds(None)}
    wanted = {("" if len(parts) == 2 else parts[0], parts[-1]) for parts in asked}
    rules = OBJECTS["ClusterRole", NAME]["rules"]
    granted = {(group, kind) for rule in rules for group in rule["apiGroups"] for kind in rule["resources"]}

    assert granted == wanted == {("", "pods"), ("", "events"), ("discovery.k8s.io", "endpointslices")}
    assert [rule["verbs"] for rule in rules] == [["get", "list", "watch"]] * 2


def test_writing_events_is_a_permission_of_its_own():
    (rule,) = MORE["ClusterRole", "drainhook-observe-events"]["rules"]
    assert rule == {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}


@pytest.mark.parametrize("objects", [OBJECTS, MORE], ids=["observe", "events"])
def test_roles_are_bound_to_the_observers_account(objects):
    """And to nobody else; a binding to another role would grant more."""
    (binding,) = [item for (kind, _), item in objects.items() if kind == "ClusterRoleBinding"]
    assert ("ClusterRole", binding["roleRef"]["name"]) in objects
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": names.SYSTEM_NAMESPACE}]
    assert POD["serviceAccountName"] == NAME
    assert ("ServiceAccount", NAME) in OBJECTS


def test_it_is_started_with_flags_that_it_has():
    """A renamed flag would stop it."""
    known = {opt for option in observe.params for opt in option.opts}
    given = [argument.partition("=")[0] for argument in CONTAINER["args"][1:]]
    assert CONTAINER["args"][0] == observe.name
    assert set(given) <= known
    (patch,) = yaml.safe_load((EVENTS / "kustomization.yaml").read_text())["patches"]
    assert [item["value"] for item in yaml.safe_load(patch["patch"])] == ["--events"]
    assert "--events" in known - set(given)


def test_port_and_probes_are_those_of_the_page():
    """Service, annotation, port and flag name one port; the probes ask whether the loop runs."""
    (port,) = CONTAINER["ports"]
    (service,) = OBJECTS["Service", NAME]["spec"]["ports"]
    annotations = DEPLOYMENT["spec"]["template"]["metadata"]["annotations"]
    assert port == {"name": "metrics", "containerPort": names.METRICS_PORT}
    assert f"--metrics-port={names.METRICS_PORT}" in CONTAINER["args"]
    assert (service["port"], service["targetPort"]) == (names.METRICS_PORT, "metrics")
    assert annotations["prometheus.io/port"] == str(names.METRICS_PORT)
    probes = [CONTAINER[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert probes == [{"path": names.HEALTHZ_PATH, "port": "metrics"}] * 3


def test_there_is_one_observer():
    """Two would count every shutdown twice, also during a rollout."""
    assert (DEPLOYMENT["spec"]["replicas"], DEPLOYMENT["spec"]["strategy"]) == (1, {"type": "Recreate"})


def test_selectors_find_the_observer_and_not_the_webhook():
    """The webhook's Service and disruption budget select by its own name."""
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    assert labels == {"app.kubernetes.io/name": NAME}
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == OBJECTS["Service", NAME]["spec"]["selector"] == labels


def test_it_may_do_nothing_more_than_it_needs():
    """The restricted pod security standard, a root file system that nobody writes, the goal's memory."""
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    context = POD["securityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in (ROOT / "Dockerfile").read_text()
    assert CONTAINER["resources"]["limits"] == {"memory": "256Mi"}


def test_the_image_has_the_packages_version():
    assert CONTAINER["image"] == f"drainhook:{__version__}"


def test_everything_is_in_the_namespace_of_the_webhook():
    """Its object is the same in both folders: whichever is applied later changes nothing."""
    placed = {item["metadata"].get("namespace") for (kind, _), item in EVERY if kind != "Namespace"}
    assert placed == {names.SYSTEM_NAMESPACE, None}
    assert (BASE / "namespace.yaml").read_text().partition("\n")[2] == (
        ROOT / "manifests/base/namespace.yaml"
    ).read_text()


@pytest.mark.parametrize(("folder", "objects"), [(FOLDER, OBJECTS), (EVENTS, {**OBJECTS, **MORE})])
def test_kustomize_builds_the_folder(folder, objects):
    """`kubectl apply -k` starts with this; no cluster is asked."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is missing; `make cluster` brings one, or install it from kubernetes.io")
    built = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True, check=True).stdout
    found = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(built)}
    (container,) = found["Deployment", NAME]["spec"]["template"]["spec"]["containers"]

    assert set(found) == set(objects)
    assert container["args"] == [*CONTAINER["args"], *(["--events"] if folder == EVENTS else [])]
