"""A profile: the facts of one backend as frozen values, and the catalog of all of them.

Built from data that `webhook.catalog` has checked against the JSON Schema. No file is read here, and no
fact about an engine may be written in Python: it belongs into `webhook/profiles/<name>.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A decoded JSON value. Kubernetes objects stay plain JSON from wire to wire; this is the only `Any`."""


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
    `others` have the same form: with one of them this container is not the HTTP server of the profile.
    """

    images: tuple[str, ...]
    commands: tuple[str, ...]
    others: tuple[str, ...] = ()


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
    idle_seconds: int = 5


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
    def grace(self) -> int:
        """The whole termination grace period in seconds."""
        return self.settle + self.drain + self.reserve


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
