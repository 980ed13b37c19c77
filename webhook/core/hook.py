"""The hook: which rung of the ladder can run in a container, and the preStop handler that it becomes.

Ladder: exec (the drain script), the engine's own drain endpoint by httpGet, a native sidecar where the settings allow
it, native sleep, none. Every parameter of the script is an argv element of its own; no text is built from annotations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook import names
from webhook.core.container import Server
from webhook.core.decision import Finding, Level, Policy, Reason
from webhook.core.endpoint import Endpoint
from webhook.core.existing import PRE_STOP, Existing
from webhook.core.overrides import Overrides
from webhook.core.patch import look
from webhook.core.profile import IDLE_SECONDS, Budget, Json, Profile

ASSUMED_KUBERNETES = (1, 28)  # never guess upwards: older API servers drop a sleep hook and refuse the pod
LONGEST = 31_536_000  # seconds: a year; a shell's arithmetic overflows on what a grace period may be
SLEEP_SINCE = (1, 30)  # KEP-3960, on by default


@dataclass(slots=True)
class Rung:
    """The chosen kind of hook (exec, http, sidecar, sleep, none) with the reasons and findings of the choice."""

    name: str = "none"
    reasons: list[Reason] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a hook would run: the server, how it is reached, whether a mesh captures its port, its field path.

    `no_sidecar` says why the pod can take none; it is empty where it can. `has_sidecar`: one of ours stands there.
    """

    server: Server
    endpoint: Endpoint
    has_mesh: bool
    path: str
    annotations_path: str
    no_sidecar: str = ""
    has_sidecar: bool = False


def choose_rung(profile: Profile, overrides: Overrides, site: Site, policy: Policy) -> Rung:
    """Choose the rung: the one asked for if it can run here, else the first of the ladder that can."""
    rung = Rung()
    tools = profile.tools if overrides.tools is None else overrides.tools
    can = {
        "exec": "" if "sh" in tools else "the image holds no shell",
        "http": _http_refusal(profile, site),
        "sleep": _sleep_refusal(policy, site),
        "sidecar": site.no_sidecar,
    }
    wanted = overrides.hook
    if wanted == "none":
        rung.reasons.append(Reason.HOOK_NONE)
        return rung
    if wanted != "auto" and can[wanted]:
        key = Reason.SIDECAR_UNAVAILABLE if wanted == "sidecar" else Reason.HOOK_UNAVAILABLE
        path = f"{site.annotations_path}[{names.HOOK}]"
        rung.findings.append(Finding(key, Level.WARNING, path, f"{can[wanted]}; auto is used instead", wanted))
        wanted = "auto"
    if wanted == "auto":
        allowed = site.has_sidecar if policy.sidecar is None else policy.sidecar.without_shell
        wanted = _first(profile, can, has_sidecar=allowed)
        if allowed and wanted in {"sleep", "none"} and overrides.hook != "sidecar":
            message = f"no sidecar hook: {can['sidecar']}"
            rung.findings.append(Finding(Reason.SIDECAR_UNAVAILABLE, Level.WARNING, site.path, message))
    if wanted == "exec":
        rung.reasons += _tools_reason(overrides, site)
    rung.name = wanted
    rung.reasons.append(_REASONS[wanted])
    rung.findings += _rung_findings(profile, wanted, can, site)
    return rung


_REASONS = {
    "exec": Reason.HOOK_EXEC,
    "http": Reason.HOOK_HTTP,
    "sidecar": Reason.HOOK_SIDECAR,
    "sleep": Reason.HOOK_SLEEP,
    "none": Reason.NO_RUNG,
}


def _first(profile: Profile, can: dict[str, str], *, has_sidecar: bool) -> str:
    offered = {"exec": True, "http": _offers_http(profile), "sidecar": has_sidecar, "sleep": True}
    return next((name for name in offered if offered[name] and not can[name]), "none")


def _offers_http(profile: Profile) -> bool:
    """Say whether httpGet is a rung of this profile's ladder without being asked for."""
    return profile.drain_endpoint is not None and not profile.drain_endpoint.asked_only


def _tools_reason(overrides: Overrides, site: Site) -> list[Reason]:
    if overrides.tools is not None:
        return [Reason.IMAGE_TOOLS]
    return [] if site.server.by_image else [Reason.IMAGE_UNKNOWN]


def _http_refusal(profile: Profile, site: Site) -> str:
    if profile.drain_endpoint is None:
        return f"the profile {profile.name} has no drain endpoint"
    if site.endpoint.is_local or not site.endpoint.is_known:
        return "the kubelet cannot reach the port, or the port is not known"
    return "a mesh captures the port" if site.has_mesh else ""


def _sleep_refusal(policy: Policy, site: Site) -> str:
    """Say why no native sleep can be used; where the version is unknown, one that stands there proves that it can."""
    stands = look(site.server.container, (*PRE_STOP, "sleep"))
    return "" if policy.kubernetes is None and stands else too_old(policy, SLEEP_SINCE, "the sleep action")


def too_old(policy: Policy, since: tuple[int, int], what: str) -> str:
    """Say that the cluster is too old for something; empty where it is not."""
    version = policy.kubernetes or ASSUMED_KUBERNETES
    if version >= since:
        return ""
    said = "" if policy.kubernetes else " (unknown, assumed)"
    needed, present = (".".join(map(str, numbers)) for numbers in (since, version))
    return f"{what} needs Kubernetes {needed}, the cluster has {present}{said}"


def _rung_findings(profile: Profile, name: str, can: dict[str, str], site: Site) -> list[Finding]:
    found = []
    if name == "http" and not _offers_http(profile):
        message = "the kubelet calls from the node's address: allow it with the option drain_from of Drainable"
        found.append(Finding(Reason.DRAIN_FROM_NODE, Level.WARNING, site.path, message))
    if name in {"sleep", "none"} and _offers_http(profile) and site.has_mesh:
        found.append(Finding(Reason.MESH_CAPTURES_PORT, Level.WARNING, site.path, "no httpGet hook: " + can["http"]))
    if name == "none":
        message = f"no hook can run here: {can['exec']}; {can['sleep']}"
        found.append(Finding(Reason.NO_RUNG, Level.WARNING, site.path, message))
    return found


@dataclass(frozen=True, slots=True)
class Target:
    """What the drain script looks at: serving ports, candidate metrics pages, the server's base address.

    `log` and `record` are paths for progress lines and for the record at the end; None means the script's own default
    (the container's log, the termination message). `-` as log is standard output, `none` is nowhere. `is_guess`: the
    ports are candidates; where none of them listens, every listening port of the pod counts.
    """

    ports: tuple[int, ...]
    urls: tuple[str, ...]
    base: str = ""
    is_guess: bool = False
    log: str | None = None
    record: str | None = None


def parameters(profile: Profile, budget: Budget, target: Target) -> list[str]:
    """Return the parameters of the drain script for one server. Seconds are whole; order is stable."""
    page = profile.metrics
    settle, drain = min(budget.settle, LONGEST), min(budget.drain, LONGEST)
    words = [f"settle={settle}", f"drain={drain}", "ports=" + ",".join(map(str, target.ports))]
    if target.is_guess:
        words.append("guess=1")
    if page is not None and target.urls:
        words += [f"url={url}" for url in target.urls]
        words += [f"gauge={gauge}" for gauge in (*page.running, *page.waiting)]
        words.append(f"absent={page.absent}")
        if page.key_env:
            words.append(f"key={page.key_env}")
    words.append(f"idle={page.idle_seconds if page is not None else IDLE_SECONDS}")
    if profile.drain_endpoint is not None and target.base:
        words.append("call=" + target.base + _drain_path(profile, budget))
    words += [f"{key}={value}" for key, value in (("log", target.log), ("record", target.record)) if value]
    return words


def _drain_path(profile: Profile, budget: Budget) -> str:
    path = profile.drain_endpoint.path if profile.drain_endpoint else ""
    return path.replace("{settle}", str(budget.settle)).replace("{wait}", str(budget.drain))


def exec_hook(script: str, words: list[str], chained: Existing | None) -> Json:
    """Return the exec handler; `chained` is the user's own hook that runs first."""
    last = chained.words if chained is not None else []
    return {"exec": {"command": ["sh", "-c", script, names.HOOK_NAME, *words, *last]}}


def http_hook(profile: Profile, budget: Budget, endpoint: Endpoint, version: str) -> Json:
    """Return the httpGet handler on the server's own drain endpoint."""
    headers = [{"name": names.HOOK_HEADER, "value": version}]
    return {"httpGet": {**endpoint.http_get(_drain_path(profile, budget)), "httpHeaders": headers}}


def sidecar_hook(version: str) -> Json:
    """Return the httpGet handler on the pod's own sidecar; it answers when the drain has ended."""
    headers = [{"name": names.HOOK_HEADER, "value": version}]
    get = {"path": names.SIDECAR_PATH, "port": names.SIDECAR_PORT, "scheme": "HTTP", "httpHeaders": headers}
    return {"httpGet": get}


def sleep_hook(budget: Budget) -> Json:
    """Return the native sleep handler (Kubernetes 1.30 and later)."""
    return {"sleep": {"seconds": budget.deadline}}
