"""The server's settings: one frozen object from flags, environment and a settings file; the only reader of either.

Order: flag, then `DRAINHOOK_*`, then the file, then the default. Every fault is said with the place where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import yaml

from webhook import __version__, names
from webhook.core.decision import Policy, Rule, Sidecar
from webhook.core.profile import Json

ENVIRONMENT: Final = "DRAINHOOK_"
SETTINGS_VARIABLE: Final = f"{ENVIRONMENT}SETTINGS"  # the path of the settings file
# Inside a cluster: endpoints, kube-proxy and the API server need this long to forget a terminating pod (R2).
CLUSTER_DELAY_SECONDS: Final = 10.0
MAX_DELAY_SECONDS: Final = 300.0
LEVELS: Final = ("debug", "info", "warning", "error")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
# A Service named `drainhook` puts DRAINHOOK_PORT=tcp://10.0.0.1:443 and the like into every pod of its namespace.
_SERVICE_LINK: Final = re.compile(r"DRAINHOOK_(\w+_)?(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)")
_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://")
_IMAGE: Final = re.compile(r"[\w][\w.:@/-]*", re.ASCII)  # what the API server would refuse would stop every such pod
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(\.\d+)?([-+].*)?")


@dataclass(frozen=True, slots=True)
class SettingFault:
    """One setting that cannot be used: `place` is the flag, the variable, or the file and its key."""

    place: str
    message: str

    def __str__(self) -> str:
        """Write the fault as one line."""
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Settings:
    """All that `drainhook serve` can be told. `host` is None where the addresses follow from the certificates."""

    host: str | None = None
    port: int = names.LOCAL_PORT
    metrics_port: int = names.METRICS_PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    ca_out: Path | None = None
    profiles: tuple[Path, ...] = ()
    skip_invalid_profiles: bool = False
    kubernetes_version: tuple[int, int] | None = None
    shutdown_delay: float = 0.0
    reload_seconds: float = 10.0  # the kubelet refreshes a mounted Secret about once a minute
    log_level: str = "info"
    rules: tuple[Rule, ...] = ()
    validate_pods: bool = False
    sidecar_image: str = ""
    sidecar_pull_policy: str = ""
    sidecar_without_shell: bool = False

    @classmethod
    def build(
        cls, flags: Mapping[str, Json], environ: Mapping[str, str], file: tuple[str, str] | None = None
    ) -> Settings | tuple[SettingFault, ...]:
        """Make the settings, or say every fault in them.

        `flags` maps field names to values, None where a flag was not given. `file` is name and text of a YAML file,
        whose keys are the field names in camel case. Relative paths count from the working directory.
        """
        faults: list[SettingFault] = []
        given = _from_file(file, faults) | _from_environment(environ, faults) | _from_flags(flags)
        values: dict[str, Json] = {}
        for field, (place, raw) in given.items():
            try:
                values[field] = _PARSERS[field](raw)
            except (TypeError, ValueError) as error:
                faults.append(SettingFault(place, str(error)))
        if "shutdown_delay" not in values and names.IN_CLUSTER in environ:
            values["shutdown_delay"] = CLUSTER_DELAY_SECONDS
        settings = cls(**values)
        faults += _contradictions(settings)
        return tuple(faults) if faults else settings

    @property
    def policy(self) -> Policy:
        """The part that decisions depend on."""
        sidecar = None
        if self.sidecar_image:
            sidecar = Sidecar(self.sidecar_image, self.sidecar_pull_policy, self.sidecar_without_shell)
        return Policy(__version__, self.kubernetes_version, self.rules, self.validate_pods, sidecar)


def parse_kubernetes_version(raw: Json) -> tuple[int, int]:
    """Read `1.30`, `v1.30.2` or `1.30.2-gke.100` as (1, 30). Raises ValueError."""
    found = _VERSION.fullmatch(raw) if isinstance(raw, str) else None
    if found is None:
        raise ValueError(f"{raw!r} is no Kubernetes version; write it in quotes, like '1.30'.")
    return int(found[1]), int(found[2])


def _from_flags(flags: Mapping[str, Json]) -> dict[str, tuple[str, Json]]:
    return {
        field: (f"--{field.replace('_', '-')}", value)
        for field, value in flags.items()
        if value is not None and value != ()
    }


def _from_environment(environ: Mapping[str, str], faults: list[SettingFault]) -> dict[str, tuple[str, Json]]:
    """Take the variables that name a field; an unknown one is a fault, else a typing mistake would do nothing."""
    given: dict[str, tuple[str, Json]] = {}
    for variable, text in sorted(environ.items()):
        is_link = _SERVICE_LINK.fullmatch(variable) or _LINK_VALUE.match(text)
        if not variable.startswith(ENVIRONMENT) or variable == SETTINGS_VARIABLE or not text or is_link:
            continue
        field = variable.removeprefix(ENVIRONMENT).lower()
        if field not in _PARSERS or field == "rules":
            faults.append(SettingFault(variable, "there is no such setting."))
        else:
            given[field] = (variable, text.split(":") if field == "profiles" else text)
    return given


def _from_file(file: tuple[str, str] | None, faults: list[SettingFault]) -> dict[str, tuple[str, Json]]:
    if file is None:
        return {}
    name, text = file
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        faults.append(SettingFault(f"{name}{line}", f"not YAML: {getattr(error, 'problem', None) or 'unreadable'}."))
        return {}
    if document is None:
        return {}
    if not isinstance(document, dict):
        faults.append(SettingFault(name, "must be a mapping of settings."))
        return {}
    given: dict[str, tuple[str, Json]] = {}
    for key, value in document.items():
        field = _FIELDS.get(key) if isinstance(key, str) else None
        if field is None:
            faults.append(SettingFault(f"{name}: {key}", f"no such setting; there are {', '.join(sorted(_FIELDS))}."))
        else:
            given[field] = (f"{name}: {key}", value)
    return given


def _contradictions(settings: Settings) -> list[SettingFault]:
    faults = []
    if (settings.tls_cert is None) is not (settings.tls_key is None):
        faults.append(SettingFault("--tls-cert, --tls-key", "give both or neither."))
    if settings.tls_cert is not None and settings.ca_out is not None:
        faults.append(SettingFault("--ca-out", "there is no CA to write where a certificate is given."))
    if settings.port and settings.port == settings.metrics_port:
        faults.append(SettingFault("--metrics-port", "must differ from --port."))
    if not settings.sidecar_image and (settings.sidecar_pull_policy or settings.sidecar_without_shell):
        faults.append(SettingFault("sidecarPullPolicy, sidecarWithoutShell", "need sidecarImage."))
    return faults


def _text(raw: Json) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError(f"{raw!r} is no text.")
    return raw


def _path(raw: Json) -> Path:
    return raw if isinstance(raw, Path) else Path(_text(raw))


def _paths(raw: Json) -> tuple[Path, ...]:
    if not isinstance(raw, list | tuple):
        raise TypeError(f"{raw!r} is no list of directories.")
    return tuple(_path(item) for item in raw)


def _port(raw: Json) -> int:
    try:
        port = int(raw) if not isinstance(raw, bool | float) else -1
    except (TypeError, ValueError):
        port = -1
    if not 0 <= port <= 65535:  # noqa: PLR2004 (the range of TCP ports)
        raise ValueError(f"{raw!r} is no port; it must be 0 to 65535.")
    return port


def _boolean(raw: Json) -> bool:
    if isinstance(raw, bool):
        return raw
    if raw in ("true", "1"):
        return True
    if raw in ("false", "0"):
        return False
    raise ValueError(f"{raw!r} is neither true nor false.")


def _seconds(raw: Json) -> float:
    try:
        seconds = float(raw) if not isinstance(raw, bool) else -1.0
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= MAX_DELAY_SECONDS:
        raise ValueError(f"{raw!r} is no number of seconds from 0 to {MAX_DELAY_SECONDS:.0f}.")
    return seconds


def _level(raw: Json) -> str:
    if raw not in LEVELS:
        raise ValueError(f"{raw!r} is none of {', '.join(LEVELS)}.")
    return str(raw)


def _image(raw: Json) -> str:
    if not _IMAGE.fullmatch(_text(raw)):
        raise ValueError(f"{raw!r} is no image like registry.example/drainhook:0.1.0.")
    return str(raw)


def _pull_policy(raw: Json) -> str:
    if raw not in PULL_POLICIES:
        raise ValueError(f"{raw!r} is none of {', '.join(PULL_POLICIES)}.")
    return str(raw)


def _deny(raw: Json) -> bool:
    if raw not in ("deny", "warn"):
        raise ValueError(f"{raw!r} is neither deny nor warn.")
    return bool(raw == "deny")


def _rules(raw: Json) -> tuple[Rule, ...]:
    if not isinstance(raw, list):
        raise TypeError("must be a list of rules.")
    return tuple(_rule(item, f"[{index}]") for index, item in enumerate(raw))


def _rule(raw: Json, place: str) -> Rule:
    keys = {"backend", "namespaceSelector", "podSelector", "image"}
    if not isinstance(raw, dict) or set(raw) - keys or not isinstance(raw.get("backend"), str):
        raise ValueError(f"{place} must have a backend, and may have namespaceSelector, podSelector and image.")
    image = raw.get("image", "")
    if not isinstance(image, str):
        raise TypeError(f"{place}.image must be a text.")
    namespace = _selector(raw.get("namespaceSelector"), f"{place}.namespaceSelector")
    return Rule(raw["backend"], namespace, _selector(raw.get("podSelector"), f"{place}.podSelector"), image)


def _selector(raw: Json, place: str) -> dict[str, str]:
    """Read a selector: labels to values, as they are or under `matchLabels`."""
    labels = raw["matchLabels"] if isinstance(raw, dict) and set(raw) == {"matchLabels"} else raw
    if labels is None:
        return {}
    if not isinstance(labels, dict) or not all(isinstance(item, str) for pair in labels.items() for item in pair):
        raise ValueError(f"{place} must map labels to texts (matchExpressions are not supported).")
    return labels


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


_PARSERS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "host": _text,
    "port": _port,
    "metrics_port": _port,
    "tls_cert": _path,
    "tls_key": _path,
    "ca_out": _path,
    "profiles": _paths,
    "skip_invalid_profiles": _boolean,
    "kubernetes_version": parse_kubernetes_version,
    "shutdown_delay": _seconds,
    "reload_seconds": _seconds,
    "log_level": _level,
    "rules": _rules,
    "validate_pods": _deny,
    "sidecar_image": _image,
    "sidecar_pull_policy": _pull_policy,
    "sidecar_without_shell": _boolean,
}
_FIELDS: Final = {_camel(field.name): field.name for field in fields(Settings)}
