"""The native sidecar: which pods can take one, the init container that it is, and which one of a pod is ours.

It runs `drainhook drain --listen`, and the server's preStop is a blocking httpGet to it: the containers of a pod share
one network, so it sees the server's port, its metrics page and its connections. The kubelet ends native sidecars after
the other containers, within the same grace period. Which rung is chosen is decided in `webhook.core.hook`.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook import names
from webhook.core.decision import Policy, Sidecar
from webhook.core.endpoint import Endpoint
from webhook.core.hook import too_old
from webhook.core.patch import Change, Tokens, field_path, look
from webhook.core.profile import Json

SINCE = (1, 29)  # KEP-753, on by default; 1.28 drops restartPolicy, and the pod would wait for its end for ever
INITS: Tokens = ("spec", "initContainers")
VOLUMES: Tokens = ("spec", "volumes")
USER = 65532  # the image's own
# Requests are the limits, so that a pod of the class Guaranteed stays one. The listener takes 23 MiB at rest; where
# only python3 fetches, one look takes about 15 MiB and 0.1 s of CPU.
RESOURCES = {"cpu": "200m", "memory": "64Mi"}
_COMMAND = "drain"
_SETTLED = ("image", "imagePullPolicy")


def refusal(pod: Json, endpoint: Endpoint, policy: Policy, *, servers: int, has_mesh: bool) -> str:
    """Say why no sidecar can be used for a server; empty where it can. First row that fits.

    | the pod or the cluster                                 | why not                                               |
    |--------------------------------------------------------|-------------------------------------------------------|
    | no image is set                                        | a pod with an image that nobody can pull never starts |
    | Kubernetes before 1.29, or unknown                     | the API server would make an ordinary init container  |
    | the host's network                                     | the port would be the node's                          |
    | two servers                                            | the script polls one page of gauges                   |
    | a mesh                                                 | the kubelet's call would not arrive                   |
    | the server listens on a socket in the file system      | nothing of it can be seen from another container      |
    | names or port are taken                                | the API server, or the listener, would refuse         |

    One of ours that stands there proves that it can: image and version need not be known then.
    """
    stands = standing(pod) is not None
    if policy.sidecar is None and not stands:
        return "no image is set for it: sidecarImage of the settings"
    if not (policy.kubernetes is None and stands) and (old := too_old(policy, SINCE, "a native sidecar")):
        return old
    if look(pod, ("spec", "hostNetwork")) is True:
        return "on the host's network its port would be the node's"
    if servers > 1:
        return f"it drains one server, the pod has {servers}"
    if has_mesh:
        return "a mesh captures the port"
    if endpoint.is_socket:
        return "the server listens on a socket in its own file system"
    return _taken(pod, endpoint)


def standing(pod: Json) -> int | None:
    """Return the index of our init container, recognised by its form; None where there is none."""
    for index, item in enumerate(look(pod, INITS) or []):
        if item["name"] == names.SIDECAR and _is_ours(item):
            return index
    return None


def place_of(index: int) -> str:
    """Return the field path of an init container."""
    return field_path((*INITS, index))


def changes(
    pod: Json, words: list[str], settings: Sidecar | None, *, is_current: bool
) -> tuple[list[Change], list[str]]:
    """Return what a template with a sidecar needs, and the places that are ours.

    A new one goes behind all other init containers: an ordinary one that waits for something is held up by nothing of
    ours, what other webhooks put in front stays there, and the last one started is the first that the kubelet ends.
    One that stands is brought up to date field by field, so that what others added to it stays. `is_current`: this
    version made it; then its image is left as it is, since another webhook may have moved it to a mirror. So it is
    without `settings`.
    """
    index, wanted, mount = standing(pod), _container(pod, words, settings), _mount()
    volume = _volume_index(pod)
    made: list[Change] = [] if volume is not None else [((*VOLUMES, "-"), _volume())]
    volume = len(look(pod, VOLUMES) or []) if volume is None else volume
    if index is None:
        index = len(look(pod, INITS) or [])
        made.append(((*INITS, "-"), {**wanted, "volumeMounts": [mount]}))
    else:
        at = (*INITS, index)
        settled = _SETTLED if is_current or settings is None else ()
        fields = {key: value for key, value in wanted.items() if key not in settled}
        made += _leaves(at, fields)
        mounts = look(pod, (*at, "volumeMounts")) or []
        if all(look(item, ("mountPath",)) != names.TOKEN_PATH for item in mounts):
            made.append(((*at, "volumeMounts", "-"), mount))
    return made, [place_of(index), field_path((*VOLUMES, volume))]


def _container(pod: Json, words: list[str], settings: Sidecar | None) -> Json:
    """Return the init container without its mount. The API server reads `$(NAME)` in args, and `$$` as `$`."""
    security: Json = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if look(pod, ("spec", "securityContext", "runAsUser")) == 0:
        security["runAsUser"] = USER  # else the image's number holds; OpenShift takes none outside its own range
    made: Json = {
        "name": names.SIDECAR,
        "image": settings.image if settings else None,
        "args": [_COMMAND, f"--listen={names.SIDECAR_PORT}", "--", *(word.replace("$", "$$") for word in words)],
        "restartPolicy": "Always",
        "securityContext": security,
    }
    if settings and settings.pull_policy:
        made["imagePullPolicy"] = settings.pull_policy
    if not look(pod, ("spec", "resources")):  # a pod's own resources must not be less than the sum of its containers'
        made["resources"] = {"requests": dict(RESOURCES), "limits": dict(RESOURCES)}
    return made


def _mount() -> Json:
    """Return the mount that keeps the token out: the API server mounts it only where nothing is mounted."""
    return {"name": names.SIDECAR_VOLUME, "mountPath": names.TOKEN_PATH, "readOnly": True}


def _volume() -> Json:
    """Return an empty volume; no emptyDir, which keeps `kubectl drain` and cluster-autoscaler from ending the pod."""
    return {"name": names.SIDECAR_VOLUME, "downwardAPI": {}}


def _volume_index(pod: Json) -> int | None:
    for index, item in enumerate(look(pod, VOLUMES) or []):
        if look(item, ("name",)) == names.SIDECAR_VOLUME:
            return index
    return None


def _is_ours(item: Json) -> bool:
    return item.get("restartPolicy") == "Always" and (item.get("args") or [])[:1] == [_COMMAND]


def _taken(pod: Json, endpoint: Endpoint) -> str:
    """Say which name or port another part of the pod has."""
    ours, items = standing(pod), look(pod, ("spec", "containers")) or []
    others = [*items, *(item for index, item in enumerate(look(pod, INITS) or []) if index != ours)]
    if any(item["name"] == names.SIDECAR for item in others):
        return f"the pod has another container named {names.SIDECAR}"
    volume = _volume_index(pod)
    if volume is not None and look(pod, (*VOLUMES, volume, "downwardAPI")) is None:
        return f"the pod has another volume named {names.SIDECAR_VOLUME}"
    declared = [look(port, ("containerPort",)) for item in others for port in item.get("ports") or []]
    is_page = any(f":{names.SIDECAR_PORT}/" in url for url in endpoint.metrics_urls)
    if is_page or names.SIDECAR_PORT in (*declared, *endpoint.ports, *endpoint.extra_ports):
        return f"port {names.SIDECAR_PORT} is taken in this pod"
    return ""


def _leaves(at: Tokens, value: Json) -> Iterator[Change]:
    """Yield every value below a mapping with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves((*at, key), inner)
    else:
        yield at, value
