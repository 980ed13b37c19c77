"""Containers as users write them: the servers of all profiles, sidecars beside them, hooks, probes, environment.

Sound for Kubernetes but for a few on purpose; `tests.fuzz.pods` puts pods around them.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from tests.fuzz.dice import Dice
from webhook import names
from webhook.core.profile import Profile

PORTS: Final = (80, 3000, 7997, 8000, 8080, 9000, 11434, 23333, 65535)
TEXTS: Final = (
    *("--model", "m", "0", "70000", "$(PORT)", "${PORT}", "$PORT", "--metrics", "--enable-metrics", "--uds", "/run/s"),
    *("--config", "c.yaml", "--api-server-count=2", "--shutdown-timeout", "60", "--api-key=s3cr3t", "é", "'", '"'),
    *("a\nb", "&&", ";", "", "--", "1e3", "~", "a/b~1", "\u2028", "--port=", "--host=::", "--host=127.0.0.1", "--x=y"),
)
OURS: Final = ["sh", "-c", "echo old", names.HOOK_NAME, "settle=1", "drain=2", "ports=1"]


def server(dice: Dice, profile: Profile) -> dict[str, Any]:
    """Give a container that runs the profile's engine in one of the ways in which it can be written."""
    item: dict[str, Any] = {"name": "server", "image": _image(dice, profile)}
    arguments = _arguments(dice, profile)
    commands = profile.match.commands
    if commands and (dice.often() or not profile.match.images):
        words = dice.pick(*commands).split()
        words = ["python3", *words] if words[0] == "-m" else words
        if dice.rarely(4):
            item["command"] = [dice.pick("sh", "/bin/bash"), dice.pick("-c", "-ec", "-lc")]
            item["args"] = [dice.pick("exec ", "", "sleep 1; ", "export PORT=9000; ") + shlex.join(words + arguments)]
        elif dice.often():
            item["command"], item["args"] = words, arguments
        else:
            item["command"] = words + arguments
    elif dice.often():
        item["args"] = arguments
    return {**item, **_rest(dice)}


def sidecar(dice: Dice, name: str, *, starts_first: bool) -> dict[str, Any]:
    """Give another container of the pod; `starts_first`: one of initContainers, a native sidecar in two of three."""
    image = dice.pick(
        "docker.io/istio/proxyv2:1.24", "nginx", "envoyproxy/envoy:v1", "busybox", "own/x@sha256:" + "0" * 64
    )
    item: dict[str, Any] = {"name": name, "image": image}
    if not starts_first:
        return {**item, **_rest(dice)}
    if dice.often():
        item |= {"restartPolicy": "Always"} | dice.fields({"lifecycle": lambda: _lifecycle(dice)}, 3)
    return item


def _image(dice: Dice, profile: Profile) -> Any:
    if not profile.match.images or dice.rarely(5):
        return dice.pick("team/own:1", "registry.example:5000/own/server", "own@sha256:" + "a" * 64)
    name = dice.pick(*profile.match.images).lstrip("*").replace("/*", "/meta/model").rstrip("*")
    return (
        dice.pick("", "mirror.example/")
        + name
        + dice.pick("", ":latest", ":v0.32.0", ":26.07-py3", "@sha256:" + "1" * 64)
    )


def _arguments(dice: Dice, profile: Profile) -> list[str]:
    """Give flags that the profile reads, among others, in a good or a bad form."""
    found: list[str] = []
    for setting in (profile.http.setting, profile.host.setting, profile.tls, profile.base_path):
        for flag in dice.some(setting.flags, 1):
            value = dice.pick("8000", "0.0.0.0", "127.0.0.1:8001", "9000", "::", "/llm", "$(PORT)", "x", "")  # noqa: S104
            found += dice.pick([flag, value], [f"{flag}={value}"])
    found += dice.some(profile.config_flags, 1) + dice.some(TEXTS, 4)
    return found


def _rest(dice: Dice) -> dict[str, Any]:
    """Give what else a container may carry."""
    found = dice.fields({"ports": lambda: _ports(dice), "env": lambda: _environment(dice)}, 2)
    found |= dice.fields({"lifecycle": lambda: _lifecycle(dice)}, 3)
    found |= dice.fields({key: lambda: probe(dice) for key in ("livenessProbe", "startupProbe", "readinessProbe")}, 4)
    return found | dice.fields(
        {
            "envFrom": lambda: [{"configMapRef": {"name": "c"}}, {"prefix": "X_", "secretRef": {"name": "s"}}],
            "resources": lambda: {"limits": {"nvidia.com/gpu": "1", "memory": "8Gi"}, "requests": {"cpu": "500m"}},
            "resizePolicy": lambda: [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
            "securityContext": lambda: {"readOnlyRootFilesystem": True, "runAsUser": 1000, "runAsNonRoot": True},
            "terminationMessagePath": lambda: dice.pick("/dev/termination-log", "/x/last words", ""),
            "terminationMessagePolicy": lambda: "FallbackToLogsOnError",
            "imagePullPolicy": lambda: dice.pick("Always", "IfNotPresent", "Never"),
            "volumeMounts": lambda: [{"name": "v", "mountPath": "/models", "readOnly": True}],
            "workingDir": lambda: "/srv",
            "tty": lambda: True,
        },
        6,
    )


def _ports(dice: Dice) -> list[dict[str, Any]]:
    return [_port(dice, index, port) for index, port in enumerate(dice.some(PORTS, 3))]


def _port(dice: Dice, index: int, port: int) -> dict[str, Any]:
    found = {"containerPort": port, **dice.fields({"hostPort": lambda: port}, 12)}
    return found | dice.fields({"name": lambda: f"http{index}", "protocol": lambda: dice.pick("TCP", "UDP", None)}, 2)


def _environment(dice: Dice) -> list[dict[str, Any]]:
    keys = ["PORT", "OLLAMA_HOST", "LLAMA_ARG_PORT", "LLAMA_ARG_HOST", "MLSERVER_HTTP_PORT", "NIM_SERVER_PORT"]
    keys += ["INFINITY_PORT", "VLLM_API_KEY", "LLAMA_API_KEY", "HF_TOKEN", "OTHER", "with.dot-and_more"]
    found: list[dict[str, Any]] = []
    for key in dice.some(keys, 4):
        source = dice.pick(
            {"secretKeyRef": {"name": "s", "key": "k", "optional": True}},
            {"configMapKeyRef": {"name": "c", "key": "k"}},
            {"fieldRef": {"fieldPath": "status.podIP"}},
            {"resourceFieldRef": {"resource": "limits.memory"}},
        )
        value = dice.pick("9000", "[::]:11500", "", "true", "$(OTHER)", "/llm", "127.0.0.1", "s3cr3t")
        found.append({"name": key, **dice.pick({"value": value}, {"value": value}, {"valueFrom": source}, {})})
    return found + ([found[0]] if found and dice.rarely() else [])


def handler(dice: Dice) -> Any:
    """Give a lifecycle handler of any kind, sometimes one of our own from an earlier version."""
    return dice.pick(
        {"exec": {"command": dice.pick(["/bin/deregister", "x"], ["sleep", "45"], ["sh", "-c", "sleep 5m"], OURS)}},
        {"exec": {"command": [*OURS, "--", "/bin/deregister", "s3cr3t"]}},
        {"httpGet": {"path": dice.pick("/stop", "stop", "", "/a?b=c#d"), "port": dice.pick(8000, "http0")}},
        {"httpGet": {"port": 8000, "scheme": "HTTPS", "host": "localhost"}},
        {"httpGet": {"path": "/", "port": 8000, "httpHeaders": [{"name": names.HOOK_HEADER, "value": "0"}]}},
        {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "Authorization", "value": "s3cr3t"}]}},
        {"tcpSocket": {"port": dice.pick(8000, "http0")}},
        {"sleep": {"seconds": dice.pick(0, 1, 5, 20, 30, 60, 105)}},
    )


def _lifecycle(dice: Dice) -> Any:
    if dice.rarely():
        return dice.pick(None, {}, {"preStop": None})
    found = dice.fields({"preStop": lambda: handler(dice), "postStart": lambda: handler(dice)}, 2)
    return found | dice.fields({"stopSignal": lambda: "SIGUSR1"}, 8)


def probe(dice: Dice) -> Any:
    """Give a probe of any kind; its own grace period is refused on a readiness probe."""
    if dice.rarely():
        return dice.pick(None, None, None, {}, {"periodSeconds": 5})
    found = dice.pick(
        {"exec": {"command": ["true"]}},
        {"tcpSocket": {"port": dice.pick(8000, "http0")}},
        {"grpc": {"port": 9000, "service": "s"}},
        {"httpGet": {"path": "/health", "port": dice.pick(8000, "http0"), "scheme": dice.pick("HTTP", "HTTPS")}},
    )
    numbers = {key: lambda: dice.pick(1, 3, 30) for key in ("timeoutSeconds", "periodSeconds", "failureThreshold")}
    own_grace = {"terminationGracePeriodSeconds": lambda: dice.pick(1, 600)}
    return {**found, **dice.fields(numbers, 6), **dice.fields(own_grace, 20)}
