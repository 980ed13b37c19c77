"""A profile: the facts of one backend as frozen values, and the catalog of all of them.

Built from data that `webhook.catalog` has checked against the JSON Schema. No file is read here, and no
fact about an engine may be written in Python: it belongs into `webhook/profiles/<name>.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
"""A decoded JSON value. Kubernetes objects stay plain JSON from wire to wire; this is the only `Any`."""

IDLE_SECONDS: Final = 5
"""Zeros must span this while connections are open: a request was in no gauge for 2.4 s (vLLM 0.32.0)."""
DEFAULT_BUDGET: Final = {"settle": 10, "drain": 95, "reserve": 15}


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a setting of the server hides: command line flags (last one wins) beat environment variables."""

    flags: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """A port: its setting, its default, the default that the official image sets, and defaults of other releases."""

    setting: Setting
    default: int | None
    in_image: int | None = None
    also: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """How the engine is recognised, and what proves that it is another program.

    `images` are globs over the image's repository without tag and digest. `commands` are words that must stand
    next to each other in the command line (`vllm serve`, `-m sglang.launch_server`); a program's path is ignored.
    `others` have the same form: with one of them this container is not the HTTP server of the profile. The backend
    `auto` never finds a profile that says `auto: false`: its program alone proves nothing (any uvicorn application).
    """

    images: tuple[str, ...]
    commands: tuple[str, ...]
    others: tuple[str, ...] = ()
    auto: bool = True


@dataclass(frozen=True, slots=True)
class Host:
    """The address that the server binds by default (`in_image`: in its official image), and where it is set."""

    setting: Setting
    default: str
    in_image: str | None = None
    socket_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """The path that answers 200 only when the server can serve, and how long a healthy answer takes at least."""

    path: str
    min_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Metrics:
    """Where the gauges are and what their values mean.

    `running` and `waiting` are `NAME` or `NAME{label="value"}`; all series of a name are added. `absent` says what
    a missing sample means: `idle` or `unknown`. `port` is None where metrics share the HTTP port. `on` turns a page
    that is off by default on, `off` turns one that is on by default off. `key_env` names the environment variable
    of the engine that holds the key which guards the page.
    """

    path: str
    running: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    absent: str = "unknown"
    port: Port | None = None
    enabled: bool = True
    on: Setting = Setting()
    off: Setting = Setting()
    key_env: str | None = None
    refresh_seconds: float = 0.0
    idle_seconds: int = IDLE_SECONDS


@dataclass(frozen=True, slots=True)
class DrainEndpoint:
    """An endpoint of the server that drains: `{settle}` and `{wait}` in `path` become seconds.

    `asked_only`: an `httpGet` hook is chosen only where `hook: http` asks for it (it comes from the node's address).
    """

    path: str
    asked_only: bool = False


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The engine's own drain after SIGTERM: flags that cap it, and the flag that `native-drain` may add.

    `single` lists flags whose value above 1 makes the native drain lose requests (vLLM with several API servers).
    """

    cap: Setting = Setting()
    flag: str | None = None
    since: str | None = None
    single: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds of one termination: `grace` = `settle` + `drain` + `reserve`."""

    settle: int
    drain: int
    reserve: int

    @property
    def deadline(self) -> int:
        """The most seconds that the hook may take; what comes after them is the engine's own."""
        return self.settle + self.drain

    @property
    def grace(self) -> int:
        """The whole termination grace period in seconds."""
        return self.deadline + self.reserve


@dataclass(frozen=True, slots=True)
class Profile:
    """All that drainhook knows of one backend.

    `shutdown_class`: A loses work on SIGTERM, B drains without limit, C drains with a cap, D loses work and cannot be
    polled.
    """

    name: str
    title: str
    digest: str
    shutdown_class: str
    match: Match
    http: Port
    grpc: Port | None
    host: Host
    tls: Setting
    base_path: Setting
    config_flags: tuple[str, ...]
    readiness: Readiness
    metrics: Metrics | None
    drain_endpoint: DrainEndpoint | None
    shutdown: Shutdown
    tools: tuple[str, ...]
    budget: Budget
    secret: Setting
    post_start: Json = None
    unverified: Mapping[str, str] | None = None

    @property
    def drains_itself(self) -> bool:
        """Say whether the engine finishes its work after SIGTERM, if it gets the time."""
        return self.shutdown_class in {"B", "C"}

    @property
    def has_gauges(self) -> bool:
        """Say whether there is anything to poll."""
        return self.metrics is not None and bool(self.metrics.running or self.metrics.waiting)


@dataclass(frozen=True, slots=True)
class Programs:
    """Image globs of programs that are no engine: mesh proxies, proxies in front of a server, anything else known."""

    meshes: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """All profiles by name, the drain script as it is embedded, and the programs that are no engine."""

    profiles: Mapping[str, Profile]
    script: str
    programs: Programs = Programs()


def profile_from(data: Json, digest: str) -> Profile:
    """Build a profile from data that fits the JSON Schema; `digest` identifies its content in the status.

    Fields that are not said get the defaults of the schema and of the classes above.
    """
    return Profile(
        name=data["name"],
        title=data["title"],
        digest=digest,
        shutdown_class=data["shutdown_class"],
        match=_match(data["match"]),
        http=_port(data["http"]),
        grpc=_port(data["grpc"]) if data.get("grpc") else None,
        host=_host(data["host"]),
        tls=_setting(data.get("tls")),
        base_path=_setting(data.get("base_path")),
        config_flags=tuple(data.get("config_flags", ())),
        readiness=Readiness(data["readiness"]["path"], float(data["readiness"].get("min_seconds", 0))),
        metrics=_metrics(data["metrics"]) if data["metrics"] else None,
        drain_endpoint=DrainEndpoint(**data["drain_endpoint"]) if data.get("drain_endpoint") else None,
        shutdown=_shutdown(data.get("shutdown", {})),
        tools=tuple(data["tools"]),
        budget=_budget(data.get("budget", {})),
        secret=_setting(data.get("secret")),
        post_start=_handler(data.get("post_start")),
        unverified=dict(data.get("unverified", {})),
    )


def _setting(data: Json) -> Setting:
    found = data or {}
    return Setting(tuple(found.get("flags", ())), tuple(found.get("env", ())))


def _port(data: Json) -> Port:
    return Port(_setting(data), data["default"], data.get("in_image"), tuple(data.get("also", ())))


def _match(data: Json) -> Match:
    return Match(
        tuple(data["images"]), tuple(data["commands"]), tuple(data.get("others", ())), auto=data.get("auto", True)
    )


def _host(data: Json) -> Host:
    return Host(_setting(data), data["default"], data.get("in_image"), tuple(data.get("socket_flags", ())))


def _metrics(data: Json) -> Metrics:
    return Metrics(
        path=data["path"],
        running=tuple(data.get("running", ())),
        waiting=tuple(data.get("waiting", ())),
        absent=data.get("absent", "unknown"),
        port=_port(data["port"]) if data.get("port") else None,
        enabled=data.get("enabled", True),
        on=_setting(data.get("enabled_by")),
        off=_setting(data.get("disabled_by")),
        key_env=data.get("key_env"),
        refresh_seconds=float(data.get("refresh_seconds", 0)),
        idle_seconds=data.get("idle_seconds", IDLE_SECONDS),
    )


def _shutdown(data: Json) -> Shutdown:
    return Shutdown(_setting(data.get("cap")), data.get("flag"), data.get("since"), tuple(data.get("single", ())))


def _budget(data: Json) -> Budget:
    return Budget(**{**DEFAULT_BUDGET, **data})


def _handler(data: Json) -> Json:
    """Return a lifecycle handler as Kubernetes writes it, with the scheme that the API server would fill in."""
    if isinstance(data, list):
        return {"exec": {"command": list(data)}}
    return {"httpGet": {"scheme": "HTTP", **data["httpGet"]}} if data else None
