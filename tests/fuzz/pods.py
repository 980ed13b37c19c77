"""Pods as users write them, mostly sound: labels, annotations, pod fields around the containers, faults on purpose.

`pod` gives one per seed. Nothing is judged here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from tests.conformance.strategies import CATALOG
from tests.fuzz.dice import Dice
from tests.fuzz.servers import server, sidecar
from webhook import names

MOST_ANNOTATIONS: Final = 256 * 1024  # bytes of all keys and values together that the API server takes
GRACES: Final = (None, 0, 1, 2, 15, 30, 60, 105, 120, 600, 3600, 86_400, 10**6, 2**31, 2**62)


def pod(seed: str) -> dict[str, Any]:
    """Give the pod of a seed: Kind Pod, in one of eight cases a Deployment of it."""
    dice = Dice(seed)
    profile = CATALOG.profiles[dice.choice(sorted(CATALOG.profiles))]
    containers = [server(dice, profile)]
    containers += [sidecar(dice, f"side{index}", starts_first=False) for index in range(dice.pick(0, 0, 0, 1, 2))]
    dice.shuffle(containers)
    backend = dice.pick(*[profile.name] * 14, *[names.AUTO] * 4, dice.pick("nobody", *CATALOG.profiles))
    labels = {names.BACKEND: backend, **dice.fields({"app": lambda: "x"}, 2)}
    metadata = {"generateName": "llm-", "labels": labels, **_annotations(dice)}
    found = {"metadata": metadata, "spec": {"containers": containers, **_spec(dice)}}
    document = _deployment(found) if dice.rarely() else {"apiVersion": "v1", "kind": "Pod", **found}
    document = copy.deepcopy(document)  # parts of it are shared with other pods
    if dice.rarely(6):
        _spoil(dice, document)
    return document


def _deployment(template: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": "x"}
    template["metadata"].pop("generateName", None)
    template["metadata"]["labels"] |= labels
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}


def _annotations(dice: Dice) -> Any:
    if dice.rarely(3):
        return dice.pick({}, {"annotations": None}, {"annotations": {}})
    seconds = lambda: dice.pick("0", "1", "2", "5", "60", "300", "3600", "86400", "-1", "5m", "1.5", "", "9" * 40)  # noqa: E731
    found = dice.fields(dict.fromkeys((names.SETTLE, names.DRAIN, names.RESERVE, names.GRACE), seconds), 6)
    found |= dice.fields({names.EXISTING_HOOK: lambda: dice.pick("keep", "chain", "replace", "x")}, 2)
    found |= dice.fields({names.HOOK: lambda: dice.pick("auto", "exec", "http", "sleep", "sidecar", "none")}, 3)
    found |= dice.fields(
        {
            names.IMAGE_TOOLS: lambda: dice.pick("none", "sh", "sh,curl", "sh;x"),
            names.NATIVE_DRAIN: lambda: dice.pick("enabled", "disabled"),
            names.READINESS: lambda: dice.pick("auto", "none"),
            names.CONTAINER: lambda: dice.pick("server", "side0", "nobody"),
            names.PORT: lambda: dice.pick("8000", "http0", "0", "65535", "65536", "x"),
            names.STATUS: lambda: dice.pick("{}", "x", '{"changed":5}', '{"changed":[],"reasons":["hook_replaced"]}'),
            "example.com/note": lambda: dice.pick("", "é\n", "x" * 300),
            "sidecar.istio.io/inject": lambda: "true",
        },
        6,
    )
    if dice.rarely(100):  # near the limit, where one more annotation may be one too many
        used = sum(len(key.encode()) + len(value.encode()) for key, value in found.items())
        found["example.com/big"] = "x" * (MOST_ANNOTATIONS - used - 15 - dice.pick(0, 50, 300, 700, 5000))
    return {"annotations": found}


def _spec(dice: Dice) -> dict[str, Any]:
    often: dict[str, Any] = {"volumes": [{"name": "v", "emptyDir": {}}]}
    if dice.often():
        often["terminationGracePeriodSeconds"] = dice.pick(*GRACES)
    if dice.rarely(4):
        first = [sidecar(dice, f"init{index}", starts_first=True) for index in range(dice.pick(1, 2))]
        often["initContainers"] = dice.pick(first, first, None, [])
    if dice.rarely(20):
        often["os"] = {"name": dice.pick("linux", "linux", "windows")}
    return often | dice.fields(
        {
            "hostNetwork": lambda: True,
            "hostPID": lambda: True,
            "shareProcessNamespace": lambda: True,
            "hostIPC": lambda: True,
            "hostUsers": lambda: False,
            "automountServiceAccountToken": lambda: False,
            "nodeSelector": lambda: dice.pick(None, {}, {"kubernetes.io/os": "linux"}, {"gpu": "h100"}),
            "restartPolicy": lambda: dice.pick("Always", "OnFailure", "Never"),
            "activeDeadlineSeconds": lambda: 600,
            "enableServiceLinks": lambda: False,
            "tolerations": lambda: [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": lambda: {"nodeAffinity": {}},
            "securityContext": lambda: {"runAsNonRoot": True, "fsGroup": 1000},
            "dnsPolicy": lambda: "Default",
            "hostname": lambda: "h",
            "subdomain": lambda: "s",
            "readinessGates": lambda: [{"conditionType": "example.com/ready"}],
            "schedulingGates": lambda: [{"name": "example.com/wait"}],
            "priorityClassName": lambda: "high",
            "serviceAccountName": lambda: "sa",
            "imagePullSecrets": lambda: [{"name": "s"}],
        },
        16,
    )


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping and list of a tree with each of its keys."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _spoil(dice: Dice, root: dict[str, Any]) -> None:
    """Put junk somewhere: an unknown field, another type, nothing."""
    node, key = dice.choice([place for place in _places(root) if place[1] != "kind"])
    junk = dice.pick(None, "", "x", -1, 0, 70_000, 1.5, True, [], {}, [None], {"a": {"b": 1}}, "\U0001f600", 2**63 - 1)
    if isinstance(node, dict) and dice.rarely(3):
        node["futureField"] = junk
    else:
        node[key] = junk
