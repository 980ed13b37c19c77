"""The manifests agree with the code: ports, paths, names, kinds, the server's flags; and every object is valid."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from webhook import __version__, names
from webhook.cli.ensure import ensure
from webhook.cli.serve import serve
from webhook.core.workload import KINDS
from webhook.server.listener import FLUSH_SECONDS, LINGER_SECONDS
from webhook.server.run import DRAIN_SECONDS
from webhook.settings import CLUSTER_DELAY_SECONDS

ROOT = Path(__file__).parents[2]
BASE = ROOT / "manifests/base"
OVERLAY = ROOT / "manifests/overlays/self-signed"
SUPPORTED = ("1.28", "1.37")


def documents(*folders):
    """Return every object of the folders' files by kind and name."""
    found = {}
    for folder in folders:
        listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
        for file in [name for name in listed if name.endswith(".yaml")]:
            for document in yaml.safe_load_all((folder / file).read_text()):
                found[document["kind"], document["metadata"]["name"]] = document
    return found


OBJECTS = documents(BASE, OVERLAY)
DEPLOYMENT = OBJECTS["Deployment", names.SERVICE]
POD = DEPLOYMENT["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
INIT = yaml.safe_load((OVERLAY / "deployment.yaml").read_text())["spec"]["template"]["spec"]["initContainers"][0]
MUTATING = OBJECTS["MutatingWebhookConfiguration", names.CONFIGURATION]["webhooks"]
VALIDATING = OBJECTS["ValidatingWebhookConfiguration", names.CONFIGURATION]["webhooks"]
ENTRIES = [*MUTATING, *VALIDATING]
PLURALS = {"DaemonSet": "daemonsets", "RayService": "rayservices"}


def flags(arguments):
    """Return the flags of a command line as a mapping."""
    return dict(argument.removeprefix("--").split("=", 1) for argument in arguments if argument.startswith("--"))


def expected_places():
    """Return where each kind of the table keeps labels and annotations that count."""
    places = {"metadata"}
    for kind in KINDS.values():
        places |= {f"{path}.metadata".removeprefix(".") for path in kind.templates}
        places |= {kind.labels.rpartition(".")[0]} if kind.labels else set()
    return sorted(places)


def condition():
    """Write the one matchCondition of the validating webhook from the table of kinds."""
    groups = ",\n".join(map(_group, expected_places()))
    reads = " ||\n".join(
        f"(has(place.{group}) && place.{group}.exists(key, key.startsWith('{names.DOMAIN}/')))"
        for group in ("labels", "annotations")
    )
    return f"[\n{groups}\n].exists(places, places.exists(place,\n{reads}))"


def _group(place):
    """Return a CEL list of the maps at a place; empty where the object lacks it."""
    path, star, rest = place.partition(".*.")
    place = f"object.{path}"
    value = f"{place}.filter(item, {_present('item', rest)}).map(item, item.{rest})" if star else f"[{place}]"
    return f"{_present('object', path)} ? {value} : []"


def _present(root, path):
    parts = path.split(".")
    return " && ".join(f"has({root}.{'.'.join(parts[: end + 1])})" for end in range(len(parts)))


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize("key", OBJECTS, ids=" ".join)
def test_every_object_is_valid(key, version):
    """The oldest supported cluster and the newest take it."""
    kubernetes_validate.validate(OBJECTS[key], version, strict=True)


def test_the_server_is_started_with_flags_that_it_has():
    """A renamed flag would stop every replica."""
    assert set(flags(CONTAINER["args"])) <= {option.opts[0].removeprefix("--") for option in serve.params}
    assert CONTAINER["args"][0] == serve.name


def test_the_init_container_is_started_with_flags_that_it_has():
    """A renamed flag would stop every replica."""
    known = {opt.removeprefix("--") for option in ensure.params for opt in option.opts}
    assert set(flags(INIT["args"])) <= known
    assert INIT["args"][:2] == ["certs", ensure.name]


def test_ports_are_those_of_the_server():
    """The Service leads to the port that the server listens on, by name."""
    ports = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
    given = flags(CONTAINER["args"])
    service = OBJECTS["Service", names.SERVICE]["spec"]["ports"][0]

    assert ports == {"https": names.CONTAINER_PORT, "metrics": names.METRICS_PORT}
    assert (int(given["port"]), int(given["metrics-port"])) == (names.CONTAINER_PORT, names.METRICS_PORT)
    assert ports[service["targetPort"]] == names.CONTAINER_PORT
    assert all(entry["clientConfig"]["service"]["port"] == service["port"] for entry in ENTRIES)


def test_probes_ask_the_admission_port_by_the_servers_paths():
    """A side port could be up while admission is not (R6)."""
    asked = {name: CONTAINER[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    expected = {"port": "https", "scheme": "HTTPS"}
    assert asked == {
        "startupProbe": {"path": names.HEALTHZ_PATH, **expected},
        "livenessProbe": {"path": names.HEALTHZ_PATH, **expected},
        "readinessProbe": {"path": names.READYZ_PATH, **expected},
    }


def test_webhooks_call_the_servers_paths_through_the_service():
    """Name, namespace and path are those of the Service and the routes."""
    called = [entry["clientConfig"]["service"] for entry in ENTRIES]
    place = {"name": names.SERVICE, "namespace": names.SYSTEM_NAMESPACE, "port": 443}
    assert called == [{**place, "path": names.MUTATE_PATH}, {**place, "path": names.VALIDATE_PATH}]


def test_no_ca_bundle_is_in_the_manifests():
    """Who applies them again would own the field and fight with its writer (C8)."""
    assert [entry["name"] for entry in ENTRIES if "caBundle" in entry["clientConfig"]] == []


def test_certificates_are_written_where_the_server_reads_them():
    """Init container, volume and flags name one directory, Secret and Service."""
    given, asked = flags(CONTAINER["args"]), flags(INIT["args"])
    mounts = {item["volumeMounts"][0]["mountPath"] for item in (CONTAINER, INIT)}
    volume = POD["volumes"][0]

    assert mounts == {asked["directory"]}
    assert (given["tls-cert"], given["tls-key"]) == (f"{asked['directory']}/tls.crt", f"{asked['directory']}/tls.key")
    assert volume["secret"]["secretName"] == asked["secret"] == names.TLS_SECRET
    assert (asked["service"], asked["webhook"]) == (names.SERVICE, names.CONFIGURATION)
    assert asked["namespace"] == names.SYSTEM_NAMESPACE


def test_every_object_is_in_the_namespace():
    """Nothing lands in the namespace of whoever applies it."""
    placed = {key: item["metadata"].get("namespace") for key, item in OBJECTS.items()}
    cluster_wide = {kind for (kind, _), namespace in placed.items() if namespace is None and kind != "Namespace"}
    assert cluster_wide == {
        "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    }  # fmt: skip
    assert {namespace for namespace in placed.values() if namespace} == {names.SYSTEM_NAMESPACE}
    assert ("Namespace", names.SYSTEM_NAMESPACE) in OBJECTS


def test_the_image_has_the_packages_version():
    """An install takes the server that these manifests were made for."""
    assert {CONTAINER["image"], INIT["image"]} == {f"drainhook:{__version__}"}


def test_shutdown_fits_into_the_grace_period():
    """Delay, requests in flight and closing come before SIGKILL (R2)."""
    longest = CLUSTER_DELAY_SECONDS + DRAIN_SECONDS + LINGER_SECONDS + FLUSH_SECONDS
    assert longest + 5 <= POD["terminationGracePeriodSeconds"]


def test_replicas_survive_a_rollout_and_a_node():
    """Two, spread, never fewer while one is replaced, critical, and one at a time under eviction (R1)."""
    spec = DEPLOYMENT["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert POD["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"
    assert POD["priorityClassName"] == "system-cluster-critical"
    assert OBJECTS["PodDisruptionBudget", names.SERVICE]["spec"]["maxUnavailable"] == 1


@pytest.mark.parametrize("container", [CONTAINER, INIT], ids=["server", "init container"])
def test_containers_may_do_nothing_more_than_they_need(container):
    """The restricted pod security standard, and a root file system that nobody writes (S1)."""
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert "cpu" not in container["resources"]["limits"]


def test_the_pod_runs_as_a_numeric_user_of_the_image():
    """A name could not be checked by the kubelet."""
    context = POD["securityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in (ROOT / "Dockerfile").read_text()
    assert POD["enableServiceLinks"] is False


def test_the_image_exposes_the_ports():
    """What the Dockerfile says is what the server uses."""
    assert f"EXPOSE {names.CONTAINER_PORT} {names.METRICS_PORT}\n" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_webhooks_fail_open_and_soon(entry):
    """Our failure must not block a pod (C3, C4); side effects are none, so dry runs call us too."""
    assert (entry["failurePolicy"], entry["timeoutSeconds"]) == ("Ignore", 5)
    assert (entry["sideEffects"], entry["matchPolicy"]) == ("None", "Equivalent")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_system_namespaces_and_our_own_pods_are_left_alone(entry):
    """A webhook that admits its own pods could never start again (C1, C2)."""
    (namespace,) = entry["namespaceSelector"]["matchExpressions"]
    assert namespace == {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["kube-system", "kube-public", "kube-node-lease", names.SYSTEM_NAMESPACE],
    }
    refused = {
        (item["key"], value) for item in entry["objectSelector"]["matchExpressions"] for value in item.get("values", ())
    }
    assert refused & set(DEPLOYMENT["spec"]["template"]["metadata"]["labels"].items())


def test_the_mutating_webhook_takes_labelled_pods_at_their_creation():
    """Opted in by the label, not opted out by the other; never a mirror pod."""
    (entry,) = MUTATING
    assert entry["rules"] == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
         "scope": "Namespaced"}
    ]  # fmt: skip
    assert entry["objectSelector"]["matchExpressions"][:2] == [
        {"key": names.BACKEND, "operator": "Exists"},
        {"key": names.INJECT, "operator": "NotIn", "values": [names.INJECT_DISABLED]},
    ]
    assert f"'{names.MIRROR_POD}' in object.metadata.annotations" in entry["matchConditions"][0]["expression"]


def test_m6_the_mutating_webhook_is_called_again_after_others():
    """Containers that a mesh adds later are seen; a second pass over our own result changes nothing (M5)."""
    (entry,) = MUTATING

    assert entry["reinvocationPolicy"] == "IfNeeded"


def test_the_validating_webhook_takes_every_kind_of_the_table():
    """A kind without a rule would never be validated; Jobs are left alone."""
    (entry,) = VALIDATING
    ruled = {(rule["apiGroups"][0], resource) for rule in entry["rules"] for resource in rule["resources"]}
    wanted = {(group, f"{kind.lower()}s") for (group, kind), row in KINDS.items() if not row.batch}

    assert ruled == wanted
    assert {tuple(rule["operations"]) for rule in entry["rules"]} == {("CREATE", "UPDATE")}


def test_the_validating_condition_looks_where_the_table_of_kinds_says():
    """It is written from the table; this prints what should stand there."""
    (entry,) = VALIDATING
    (found,) = entry["matchConditions"]
    assert found["expression"].split() == condition().split()


@pytest.mark.parametrize("folder", [BASE, OVERLAY], ids=["base", "self-signed"])
def test_kustomize_builds_the_folder(folder):
    """`kubectl apply -k` starts with this; the overlay puts the certificates into memory."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is missing; `make cluster` brings one, or install it from kubernetes.io")
    built = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True, check=True).stdout
    objects = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(built)}

    assert set(objects) == set(documents(*{BASE, folder}))
    (volume,) = objects["Deployment", names.SERVICE]["spec"]["template"]["spec"]["volumes"]
    assert ("emptyDir" in volume, "secret" in volume) == (folder == OVERLAY, folder == BASE)


def test_permissions_name_what_is_written():
    """One Secret and two configurations by name; only a creation cannot be limited so (S2)."""
    role, cluster = (OBJECTS[kind, "drainhook-certificates"]["rules"] for kind in ("Role", "ClusterRole"))
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in role] == [
        (["secrets"], [names.TLS_SECRET], ["get", "update"]),
        (["secrets"], None, ["create"]),
    ]
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in cluster] == [
        (["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], [names.CONFIGURATION], ["get", "patch"])
    ]


def test_the_build_takes_what_the_wheel_is_made_of():
    """A folder that the .dockerignore leaves out would be missing in the image."""
    ignore = (ROOT / ".dockerignore").read_text().split("\n")
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {f"!{name}" for line in copied for name in line.split()} <= set(ignore)
