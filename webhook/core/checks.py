"""Warnings about a pod that drainhook patches: what would still lose requests, or can't be known.

Only findings are made here, nothing is changed. No secret is ever repeated in a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from webhook import names
from webhook.core.command import flag_value, is_image, setting_value
from webhook.core.container import Server
from webhook.core.decision import Finding, Level, Reason
from webhook.core.endpoint import Endpoint
from webhook.core.existing import Existing
from webhook.core.patch import field_path, look
from webhook.core.profile import Budget, Catalog, Json, Profile

_MESH_ANNOTATIONS = {"sidecar.istio.io/inject": "true", "linkerd.io/inject": "enabled"}


@dataclass(frozen=True, slots=True)
class View:
    """What the checks look at: one server of one pod, with the budget that it got."""

    pod: Json
    path: str  # field path of the pod template with a trailing dot, or empty
    server: Server
    endpoint: Endpoint
    kept: Existing | None  # the user's hook, where it stays alone
    profile: Profile
    budget: Budget
    catalog: Catalog
    servers: tuple[int, ...] = ()  # every container that is a server

    @property
    def at(self) -> str:
        """The field path of the container."""
        return self.path + field_path(self.server.tokens)


def has_mesh(pod: Json, catalog: Catalog) -> bool:
    """Say whether a mesh proxy is in the pod, or is asked for."""
    images = [
        str(item.get("image") or "")
        for group in ("containers", "initContainers")
        for item in look(pod, ("spec", group)) or []
    ]
    marks = (look(pod, ("metadata", "annotations")) or {}) | (look(pod, ("metadata", "labels")) or {})
    asked = any(str(marks.get(key, "")).lower() == value for key, value in _MESH_ANNOTATIONS.items())
    return asked or any(is_image(image, catalog.programs.meshes) for image in images)


def check(view: View) -> list[Finding]:
    """Return every warning about one server."""
    found: list[Finding] = []
    for rule in (_command_findings, _port_findings, _pod_findings, _probe_findings, _secret_findings):
        found.extend(rule(view))
    return found


def _warn(reason: Reason, path: str, message: str, value: Json = None) -> Finding:
    return Finding(reason, Level.WARNING, path, message, value)


def _command_findings(view: View) -> Iterator[Finding]:
    server, profile = view.server, view.profile
    if server.start.by_shell and not server.command.replaces_shell:
        where = "command" if server.container.get("command") else "args"
        program = server.command.argv[0]  # alone: its arguments may hold a key
        message = f"the shell stays PID 1 and may not pass SIGTERM on: write `exec {program} …`"
        yield _warn(Reason.PID1_SHELL, f"{view.at}.{where}", message)
    if view.endpoint.metrics_off and profile.metrics is not None:
        on, off = profile.metrics.on, profile.metrics.off
        fixes = [f"set {' or '.join((*on.flags, *on.env))}"] if on.flags or on.env else []
        fixes += [f"remove {' or '.join((*off.flags, *off.env))}"] if off.flags or off.env else []
        message = f"the gauges of {profile.title} are off, so only connections tell whether it is idle"
        message += ": " + ", ".join(fixes) if fixes else ""
        yield _warn(Reason.METRICS_OFF, view.at, message)
    cap = setting_value(server.command, profile.shutdown.cap)
    if cap is not None and re.fullmatch("[0-9]{1,9}", cap) and int(cap) > view.budget.reserve:
        message = (
            f"the engine's own limit of {cap} s after SIGTERM is longer than the reserve of {view.budget.reserve} s: "
            "set reserve-seconds to it, or leave the flag out"
        )
        yield _warn(Reason.NATIVE_CAP, view.at, message, int(cap))
    if view.kept is not None and view.kept.is_weak:
        message = "this hook does not wait for the engine's requests: existing-hook: chain runs both"
        yield _warn(Reason.WEAK_HOOK, f"{view.at}.lifecycle.preStop", message)


def _port_findings(view: View) -> Iterator[Finding]:
    endpoint = view.endpoint
    if endpoint.is_socket:
        return
    if endpoint.source == "unknown":
        message = f"the port cannot be read at admission: say it with the annotation {names.PORT}"
        yield _warn(Reason.PORT_UNKNOWN, view.at, message)
    elif endpoint.is_mismatched:
        declared = ", ".join(map(str, endpoint.declared))
        message = f"the server listens on {endpoint.port}, the container declares {declared}"
        yield _warn(Reason.PORT_MISMATCH, f"{view.at}.ports", message, endpoint.port)


def _pod_findings(view: View) -> Iterator[Finding]:
    spec = view.pod["spec"]
    for key in ("hostPID", "shareProcessNamespace"):
        if spec.get(key) is True:
            message = "PID 1 is not this container's: the hook does not write to its log"
            yield _warn(Reason.HOST_PID, f"{view.path}spec.{key}", message, value=True)
    programs = view.catalog.programs
    for index, item in enumerate(spec.get("containers") or []):
        if index in view.servers:
            continue
        image, at = str(item.get("image") or ""), f"{view.path}spec.containers[{index}]"
        if is_image(image, programs.meshes):
            message = (
                f"a mesh proxy that is no native sidecar gets SIGTERM while the engine drains: let it stay "
                f"{view.budget.deadline} s (Istio: EXIT_ON_ZERO_ACTIVE_CONNECTIONS or "
                "terminationDrainDuration; Linkerd: config.alpha.linkerd.io/proxy-wait-before-exit-seconds), "
                "or use native sidecars"
            )
            yield _warn(Reason.MESH_SIDECAR, at, message)
        elif is_image(image, programs.proxies) and not look(item, ("lifecycle", "preStop")):
            message = (
                "this proxy gets SIGTERM while the engine drains: "
                f"give it a preStop of {view.budget.deadline} s or a drain"
            )
            yield _warn(Reason.FRONT_PROXY, at, message)


def _probe_findings(view: View) -> Iterator[Finding]:
    probe = view.server.container.get("livenessProbe")
    if not probe:
        return
    at = f"{view.at}.livenessProbe"
    grace = probe.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < view.budget.grace:
        message = f"a liveness restart is cut after {grace} s, the drain needs {view.budget.grace} s"
        yield _warn(Reason.LIVENESS_KILLS_DRAIN, f"{at}.terminationGracePeriodSeconds", message, grace)
    timeout = probe.get("timeoutSeconds") or 1  # what the API server fills in for 0 and null
    same = look(probe, ("httpGet", "path")) == view.profile.readiness.path
    if same and isinstance(timeout, int) and timeout <= view.profile.readiness.min_seconds:
        message = f"{view.profile.readiness.path} takes at least {view.profile.readiness.min_seconds:g} s to answer"
        yield _warn(Reason.LIVENESS_KILLS_DRAIN, f"{at}.timeoutSeconds", message, timeout)


def _secret_findings(view: View) -> Iterator[Finding]:
    secret, container, command = view.profile.secret, view.server.container, view.server.command
    message = "a key in plain text: take it from a Secret by valueFrom.secretKeyRef"
    keys = [flag_value(command, secret.flags)]
    keys += [command.env.get(name) for name in secret.env if command.env.get(name) != view.server.start.env.get(name)]
    if any(key and not key.startswith(("$", "`")) for key in keys):
        yield _warn(Reason.SECRET_INLINE, f"{view.at}.{'args' if container.get('args') else 'command'}", message)
    for index, item in enumerate(container.get("env") or []):
        value = item.get("value")
        if item.get("name") in secret.env and value and not value.startswith("$("):
            yield _warn(Reason.SECRET_INLINE, f"{view.at}.env[{index}].value", message)
