"""Where a server listens: port, scheme, base path, bind address, and the page of its gauges.

Flags beat environment beat defaults; what stands in a file or comes from a Secret is unknown, never guessed at.
A guessed port carries all its candidates, so that the hook can look which one listens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from webhook import names
from webhook.core.command import env_value, flag_value, has_words, is_on, setting_value
from webhook.core.container import Server
from webhook.core.profile import Json, Port, Profile, Setting

_LOCAL = ("127.", "localhost", "::1", "[::1]")
_NUMBER = re.compile(r"(?:.*[^:]:|\[.*\]:|:)?([0-9]{1,5})/?")  # `N`, `host:N`, `[::]:N`, `:N`, but not `::1`
_HOST = re.compile(r"[^$:/]+|\[[^$/]*\]|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*|")  # a bind address without a port
_LARGEST_PORT = 65535
_WRITTEN = frozenset({"annotation", "flag", "env"})  # sources that say the port itself


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a server is reached. `source` of the port: annotation, flag, env, default, or unknown.

    `is_sure` is False where scheme, path or a default port could be set in a place that cannot be read at admission.

    `ports` are the candidates of the HTTP port, best first; `declared` the container's TCP ports; `is_local` says that
    only the pod itself can reach it, `is_socket` that there is no TCP port; `metrics_urls` is empty when there is no
    page or it is off; `metrics_off` says that the profile has a page and this container turned it off.
    """

    ports: tuple[int, ...]
    source: str
    scheme: str
    prefix: str
    is_local: bool
    is_socket: bool
    extra_ports: tuple[int, ...]
    declared: tuple[int, ...]
    metrics_urls: tuple[str, ...]
    metrics_off: bool
    is_sure: bool = True

    @property
    def port(self) -> int | None:
        """The best candidate."""
        return self.ports[0] if self.ports else None

    @property
    def is_known(self) -> bool:
        """The port is written somewhere, or it is the default and the container declares it."""
        return _is_known(self.source, self.port, self.declared)

    @property
    def is_mismatched(self) -> bool:
        """The container declares ports, but not the one that the server listens on."""
        return bool(self.declared) and self.source != "unknown" and self.port not in self.declared

    @property
    def base(self) -> str:
        """The server's address from within its pod; empty without a port."""
        return _address(self.scheme, self.port, self.prefix) if self.port else ""

    def http_get(self, path: str) -> Json:
        """Return what a kubelet needs to fetch a path of the server."""
        return {"path": self.prefix + path, "port": self.port, "scheme": self.scheme.upper()}


def locate(server: Server, profile: Profile, port: int | None) -> Endpoint:
    """Find how a server is reached; `port` is the annotation's, already resolved to a number."""
    declared = declared_ports(server)
    shared = not {*profile.http.setting.flags, *profile.http.setting.env}.isdisjoint(
        (*profile.host.setting.flags, *profile.host.setting.env)
    )
    number, source = (port, "annotation") if port else _port(server, profile.http, profile.config_flags, shared=shared)
    host, is_socket = _host(server, profile)
    if is_socket:
        ports: tuple[int, ...] = ()
    elif _is_known(source, number, declared):
        ports = (number,) if number else ()
    else:
        ports = _candidates(number, server, profile, declared)
    scheme = "https" if is_on(server.command, profile.tls.flags) or _env_set(server, profile.tls) else "http"
    base = setting_value(server.command, profile.base_path) or ""
    prefix = "/" + base.strip("/") if base.strip("/") else ""
    urls, off = _metrics(server, profile, [_address(scheme, number, prefix) for number in ports])
    more = [port for port in _more_ports(server, profile) if port not in ports]
    return Endpoint(
        ports, source, scheme, prefix,
        is_local=is_socket or host.startswith(_LOCAL), is_socket=is_socket,
        extra_ports=(*_grpc(server, profile), *filter(None, more)), declared=declared,
        metrics_urls=() if more else urls, metrics_off=off,  # the gauges of one server prove nothing about another
        is_sure=not more and _is_sure(server, profile, source, base),
    )  # fmt: skip


def _is_known(source: str, number: int | None, declared: tuple[int, ...]) -> bool:
    return source in _WRITTEN or (source == "default" and number in declared)


def _address(scheme: str, port: int, prefix: str) -> str:
    return f"{scheme}://{names.LOCAL_HOST}:{port}{prefix}"


def _is_sure(server: Server, profile: Profile, source: str, base: str) -> bool:
    """Say whether nothing that cannot be read here could move the port, the scheme or the path.

    | what hides it                                            | makes unsure                                  |
    |----------------------------------------------------------|-----------------------------------------------|
    | a configuration file                                     | all but a port that the annotation says       |
    | the base path comes from a variable of unknown value     | everything                                    |
    | a base path together with a key (health may ask for it)  | everything                                    |
    | `envFrom`, or a word `$NAME` of unknown value            | an undeclared default port (see `probe.py`)   |
    """
    start, argv = server.start, server.command.argv
    if flag_value(server.command, profile.config_flags) and source != "annotation":
        return False
    if "$" in base or start.unknown_env.intersection(profile.base_path.env):
        return False
    if base and (setting_value(server.command, profile.secret) or start.unknown_env.intersection(profile.secret.env)):
        return False
    variables = (*profile.http.setting.env, *profile.tls.env, *profile.base_path.env)
    hidden = bool(server.container.get("envFrom")) and bool(variables)
    loose = any(
        word.startswith("$") and not argv[place - 1].startswith("-") for place, word in enumerate(argv) if place
    )
    is_declared = bool({profile.http.default, profile.http.in_image} & set(declared_ports(server)))
    return source in _WRITTEN or is_declared or not (hidden or loose)


def declared_ports(server: Server) -> tuple[int, ...]:
    """Return the TCP ports that a container declares."""
    return tuple(
        item["containerPort"]
        for item in server.container.get("ports") or []
        if _is_port(item.get("containerPort")) and (item.get("protocol") or "TCP") == "TCP"
    )


def named_port(server: Server, name: str) -> int | None:
    """Resolve a port annotation: a number, or a name among the same container's ports."""
    if name.isascii() and name.isdigit():
        return int(name) if len(name) <= len(str(_LARGEST_PORT)) and 1 <= int(name) <= _LARGEST_PORT else None
    for item in server.container.get("ports") or []:
        if item.get("name") == name and _is_port(item.get("containerPort")):
            return int(item["containerPort"])
    return None


def _is_port(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_PORT


def _port(server: Server, port: Port, config_flags: tuple[str, ...], *, shared: bool = False) -> tuple[int | None, str]:
    """Return (number, source) of a port; a value that is no number makes it unknown.

    `shared`: the setting holds address and port (`OLLAMA_HOST`, `--bind`), so an address alone means the default port.
    """
    for source, text in (
        ("flag", flag_value(server.command, port.setting.flags)),
        ("env", env_value(server.command, port.setting.env)),
    ):
        found = _NUMBER.fullmatch(text) if text is not None else None
        if found:
            return (int(found[1]), source) if 1 <= int(found[1]) <= _LARGEST_PORT else (None, "unknown")
        if text is not None and not (shared and _HOST.fullmatch(text)):
            return None, "unknown"
    if server.start.unknown_env.intersection(port.setting.env) or flag_value(server.command, config_flags):
        return None, "unknown"
    in_image = port.in_image if server.by_image else None
    return in_image or port.default, "default" if in_image or port.default else "unknown"


def _candidates(number: int | None, server: Server, profile: Profile, declared: tuple[int, ...]) -> tuple[int, ...]:
    """Best first: what is set by default, what is declared, what other images and releases have by default."""
    others = {port.default for port in (profile.grpc, profile.metrics and profile.metrics.port) if port}
    serving = [port for port in declared if port not in others]
    rest = profile.http.also if server.by_image else (profile.http.default, profile.http.in_image, *profile.http.also)
    order = [*serving, profile.http.in_image, *rest] if number is None else [number, *serving, *rest]
    found = tuple(dict.fromkeys(port for port in order if port))
    return found or tuple(port for port in (profile.http.default,) if port)


def _host(server: Server, profile: Profile) -> tuple[str, bool]:
    """Return the bind address, and whether it is a socket in the file system."""
    if flag_value(server.command, profile.host.socket_flags):
        return "", True
    default = profile.host.in_image if server.by_image and profile.host.in_image else profile.host.default
    host = (setting_value(server.command, profile.host.setting) or default).rpartition("://")[2] or default
    return host, host.endswith(".sock") or host.startswith(("unix:", "/"))


def _env_set(server: Server, setting: Setting) -> bool:
    values = [server.command.env.get(name, "") for name in setting.env]
    return bool(server.start.unknown_env.intersection(setting.env)) or any(
        value.lower() not in {"", "0", "false", "none", "off", "disabled"} for value in values
    )


def _grpc(server: Server, profile: Profile) -> tuple[int, ...]:
    if profile.grpc is None:
        return ()
    number, _ = _port(server, profile.grpc, ())
    if number is None:  # a connection that nobody counts is a request that nobody waits for
        return tuple(port for port in (profile.grpc.default, *declared_ports(server)) if port)
    return (number,)


def _more_ports(server: Server, profile: Profile) -> list[int | None]:
    """Return the ports of further servers of this profile in one container (`serve A & serve B & wait`)."""
    rest = [
        replace(server, command=command)
        for command in server.start.commands
        if command != server.command and any(has_words(command, words) for words in profile.match.commands)
    ]
    return [_port(other, profile.http, ())[0] for other in rest]


def _metrics(server: Server, profile: Profile, bases: list[str]) -> tuple[tuple[str, ...], bool]:
    """Return the candidate addresses of the page of gauges, and whether it is turned off."""
    page = profile.metrics
    if page is None:
        return (), False
    is_off = not page.enabled
    if _switched(server, page.on) or server.start.unknown_env.intersection(page.on.env):
        is_off = False
    if _switched(server, page.off):
        is_off = True
    if is_off:
        return (), True
    if page.port is not None:
        number, _ = _port(server, page.port, ())
        return ((_address("http", number, page.path),) if number else ()), False
    return tuple(base + page.path for base in bases), False


def _switched(server: Server, setting: Setting) -> bool:
    """Say whether a switch is given as a flag or as a variable that is not false."""
    env = server.command.env
    return is_on(server.command, setting.flags) or any(
        env.get(name, "0").lower() not in {"", "0", "false"} for name in setting.env
    )
