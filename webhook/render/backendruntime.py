"""llmaz's BackendRuntime with the drain hook: where the administrator of llmaz says once how a backend ends.

The hook and the readiness probe are those that `decide()` gives the pod which llmaz makes of the runtime, so that the
webhook, where it is there too, has nothing left to change. No fact about an engine stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook import names
from webhook.core.admission import decide
from webhook.core.budget import DEFAULT_GRACE, with_grace
from webhook.core.decision import Finding, Patch, Policy, Request
from webhook.core.patch import apply
from webhook.core.probe import TIMEOUT_SECONDS
from webhook.core.profile import Budget, Catalog, Json, Profile

API_VERSION: Final = "inference.llmaz.io/v1alpha1"
KIND: Final = "BackendRuntime"
CONTAINER: Final = "model-runner"  # as llmaz names it
PORT: Final = 8080
"""The only port that llmaz's pods declare and its Services lead to, whatever the engine's own default is."""
GRACE_SECONDS: Final = 130
"""What llmaz's Playground controller gives its pods; earlier releases leave Kubernetes' 30 s."""
STARTUP: Final = {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 180}
LIVENESS: Final = {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6}
_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 (the address of a container)
_PLACEHOLDER: Final = "example/server"


@dataclass(frozen=True, slots=True)
class Start:
    """How llmaz's own runtime of a backend starts it: the program, and the arguments that name the model."""

    command: Sequence[str] = ()
    args: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the administrator says: image (empty: the profile's official one), tag, port, grace period of the pods."""

    name: str
    image: str = ""
    version: str = "latest"
    port: int = PORT
    grace: int = GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class Rendered:
    """The object, notes that say why its fields are as they are (by field of `spec`), and what was found.

    `findings` are those of the decision about the pod, `warnings` what only this kind of object brings.
    """

    object: Json
    notes: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()


def render(profile: Profile, wanted: Wanted, start: Start, catalog: Catalog, policy: Policy) -> Rendered:
    """Return the runtime. Raises ValueError where the grace period has no room for a drain."""
    budget = _budget(profile, wanted.grace)
    image = wanted.image or _official(profile)
    listen, envs = _listen(profile, wanted.port)
    command = list(start.command) or ([] if start.args else _program(profile))
    container = {"image": f"{image}:{wanted.version}", "command": command, "args": [*start.args, *listen], "env": envs}
    pod = _pod(profile, budget, {key: value for key, value in container.items() if value}, wanted)
    decision = decide(Request(pod, "default"), catalog, policy)
    pod = apply(pod, decision.operations) if isinstance(decision, Patch) else pod
    made = pod["spec"]["containers"][0]
    fields = {
        "image": image,
        "version": wanted.version,
        "command": command,
        "envs": envs,
        "lifecycle": made.get("lifecycle"),
        **_probes(made, wanted.port),
        # llmaz refuses a Playground without a configuration of this name.
        "recommendedConfigs": [{"name": "default", **({"args": container["args"]} if container["args"] else {})}],
    }
    spec = {key: value for key, value in fields.items() if value}
    obj = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": wanted.name}, "spec": spec}
    return Rendered(obj, _notes(profile, wanted, budget, start), decision.findings, _warnings(profile, wanted))


def _budget(profile: Profile, grace: int) -> Budget:
    """Return the profile's budget within the grace period that llmaz gives; what is left over goes to the drain."""
    settle, reserve = profile.budget.settle, profile.budget.reserve
    least = max(settle + reserve + 1, DEFAULT_GRACE)
    if grace < least:
        raise ValueError(f"{grace} s: must be at least {least}: settle {settle} + reserve {reserve} + 1 s to drain")
    return with_grace(profile.budget, grace)


def _official(profile: Profile) -> str:
    """Return an image name that the profile recognises, without a registry where the profile names none."""
    name = profile.match.images[0].strip("*") if profile.match.images else _PLACEHOLDER
    return f"{name}model" if name.endswith("/") else name


def _program(profile: Profile) -> list[str]:
    """Return the command that the profile knows the engine by, empty where only its image tells."""
    words = profile.match.commands[0].split() if profile.match.commands else []
    return ["python3", *words] if words[:1] == ["-m"] else words


def _listen(profile: Profile, port: int) -> tuple[list[str], list[Json]]:
    """Return arguments and variables by which the server listens on all addresses of a port, and shows its gauges."""
    http, host, page = profile.http.setting, profile.host.setting, profile.metrics
    args: list[str] = []
    envs: list[Json] = []
    if host.flags:
        args += [host.flags[0], _ALL_ADDRESSES]
    if http.flags:
        args += [http.flags[0], str(port)]
    elif http.env:
        is_both = http.env[0] in host.env  # address and port in one variable
        envs.append({"name": http.env[0], "value": f"{_ALL_ADDRESSES}:{port}" if is_both else str(port)})
    if page is not None and not page.enabled and page.on.flags:
        args.append(page.on.flags[0])
    return args, envs


def _pod(profile: Profile, budget: Budget, container: Json, wanted: Wanted) -> Json:
    """Return the pod that llmaz makes of the runtime, labelled, with the budget written down."""
    seconds = {names.SETTLE: budget.settle, names.DRAIN: budget.drain, names.RESERVE: budget.reserve}
    ports = [{"name": "http", "containerPort": wanted.port, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": wanted.name,
            "labels": {names.BACKEND: profile.name},
            "annotations": {key: str(value) for key, value in seconds.items()},
        },
        "spec": {
            "terminationGracePeriodSeconds": wanted.grace,
            "containers": [{"name": CONTAINER, "ports": ports, **container}],
        },
    }


def _probes(container: Json, port: int) -> dict[str, Json]:
    """Return the three probes: readiness as decided, start-up by the same path, liveness by the port alone."""
    readiness = container.get("readinessProbe")
    if not readiness:
        return {}
    return {
        "startupProbe": {"httpGet": readiness["httpGet"], **STARTUP},
        "livenessProbe": {"tcpSocket": {"port": port}, **LIVENESS},
        "readinessProbe": readiness,
    }


def _warnings(profile: Profile, wanted: Wanted) -> list[str]:
    """Find a port that the server cannot be told, and ports that it opens besides the wanted one."""
    setting = profile.http.setting
    found = []
    if not setting.flags and not setting.env and profile.http.default != wanted.port:
        found.append(f"nothing tells the server to listen on port {wanted.port}: the profile knows no flag or variable")
    others = {"gRPC": profile.grpc, "metrics": profile.metrics and profile.metrics.port}
    taken = [name for name, port in others.items() if port and port.default == wanted.port]
    found += [f"port {wanted.port} is also the default of the engine's {name}: give that another one" for name in taken]
    return found


def _notes(profile: Profile, wanted: Wanted, budget: Budget, start: Start) -> dict[str, str]:
    """Say why each number stands where it stands, and what the kind cannot carry."""
    image = []
    if not wanted.image:
        known = "The name that the profile knows" if profile.match.images else "A placeholder, the profile knows none"
        image.append(f"{known}: give yours, with its registry, by --image.")
    if wanted.version == "latest":
        image.append("Pin the version that you run.")
    waits = f"up to {budget.drain} s until nothing is in flight (drain)"
    if profile.shutdown_class == "B" and not profile.has_gauges:
        waits = f"then SIGTERM, after which the engine has {budget.drain} s for what is in flight (drain)"
    lifecycle = (
        f"preStop: {budget.settle} s until endpoints and routers have forgotten the pod (settle), {waits};"
        f" {budget.reserve} s are left for the engine's end (reserve). Together {budget.grace} s, the grace period of"
        f" the pods. A BackendRuntime has no field for it: llmaz sets {GRACE_SECONDS} s, earlier releases leave"
        f" {DEFAULT_GRACE} s. Look at a pod (docs/llmaz.md)."
    )
    model = "llmaz fills in what stands in braces." if start.args else "Add the arguments that name the model."
    return {
        "image": " ".join(image),
        "lifecycle": lifecycle,
        "startupProbe": f"{STARTUP['failureThreshold']} x {STARTUP['periodSeconds']} s: half an hour to load a model;"
        " the other probes wait for it.",
        "livenessProbe": "The port alone: a path that fails while the engine drains, or is busy, would restart it.",
        "readinessProbe": f"{profile.readiness.path} answers 200 when the server can serve. {TIMEOUT_SECONDS} s to"
        " answer: a check that generates takes 1 s.",
        "recommendedConfigs": f"Port {wanted.port} is the one that llmaz's Service leads to; hook and probes ask the"
        f" same. {model}",
    }
