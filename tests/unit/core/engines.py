"""An invented engine, its rivals and containers that run it: the smallest values that the core accepts."""

from __future__ import annotations

from webhook import names
from webhook.core.container import read
from webhook.core.decision import Policy, Request
from webhook.core.endpoint import locate
from webhook.core.profile import Catalog, Programs, profile_from

DATA = {
    "name": "own",
    "title": "Own",
    "shutdown_class": "A",
    "match": {
        "images": ["*own/server"],
        "commands": ["own serve", "-m own.server"],
        "others": ["own bench", "--headless"],
    },
    "http": {"default": 8000, "flags": ["--port", "-p"], "env": ["OWN_PORT"]},
    "host": {"default": "0.0.0.0", "flags": ["--host"], "env": ["OWN_HOST"], "socket_flags": ["--uds"]},  # noqa: S104
    "tls": {"flags": ["--tls-key"], "env": ["OWN_TLS"]},
    "base_path": {"flags": ["--prefix"], "env": ["OWN_PREFIX"]},
    "config_flags": ["--config"],
    "readiness": {"path": "/ready", "min_seconds": 1},
    "metrics": {
        "path": "/metrics",
        "running": ["own_running"],
        "waiting": ["own_waiting"],
        "disabled_by": {"flags": ["--quiet"], "env": ["OWN_QUIET"]},
    },
    "shutdown": {"cap": {"flags": ["--cap"]}, "flag": "--cap", "since": "1.2.0", "single": ["--api", "--parallel"]},
    "tools": ["sh", "curl"],
    "secret": {"flags": ["--key"], "env": ["OWN_KEY"]},
}
RIVAL = DATA | {
    "name": "rival",
    "title": "Rival",
    "match": {"images": ["*rival*"], "commands": ["rival"]},
}
HIDDEN = DATA | {
    "name": "hidden",
    "title": "Hidden",
    "match": {"images": [], "commands": ["webserver"], "auto": False},
}

IMAGE = "own/server:1.2.3"
OTHER_IMAGE = "team/inference:7"
STARTED = {"image": OTHER_IMAGE, "command": ["own", "serve"]}


def profile(**changes):
    """Return the invented engine's profile with parts changed."""
    return profile_from(DATA | changes, "0123abcd")


OWN = profile()
PROGRAMS = Programs(meshes=("*mesh*",), proxies=("*proxy*",), others=("*web-ui*",))
SCRIPT = "true\n"
POLICY = Policy("1.0", (1, 28))


def catalog(*more):
    """Return the invented engine, its rivals and more profiles."""
    known = [OWN, profile_from(RIVAL, "4567cdef"), profile_from(HIDDEN, "89abcdef"), *more]
    return Catalog({item.name: item for item in known}, SCRIPT, PROGRAMS)


CATALOG = catalog()


def server(own=OWN, **fields):
    """Read one container of a pod against a profile."""
    return read({"spec": {"containers": [{"name": "server", **fields}]}}, own)[0]


def endpoint(own=OWN, port=None, **fields):
    """Locate the server in one container."""
    return locate(server(own, **fields), own, port)


def container(name="server", image=IMAGE, **fields):
    """Return a container that the invented engine is recognised by."""
    return {"name": name, "image": image, **fields}


def pod(*containers, backend="own", annotations=None, labels=None, **spec):
    """Return a pod that asks for a backend; annotations are written without their domain."""
    metadata = {"labels": {**({names.BACKEND: backend} if backend else {}), **(labels or {})}}
    if annotations:
        metadata["annotations"] = {f"{names.DOMAIN}/{key}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def deployment(template, **metadata):
    """Return a Deployment of a pod."""
    inner = {key: template[key] for key in ("metadata", "spec")}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": inner}}


def request(document, operation="CREATE", **fields):
    """Return a request to create an object."""
    return Request(object=document, operation=operation, **fields)
