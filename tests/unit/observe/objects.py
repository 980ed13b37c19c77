"""Objects as Kubernetes 1.37.2 writes them, and the facts that are kept of them. No claim is made here."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from webhook import names
from webhook.observe import facts
from webhook.observe.join import LINGER_SECONDS, Join

T0 = 1_796_135_000.0
DIGESTS = {"vllm": "0a1b2c3d", "tgi": "11112222"}
HOOK = {
    "drainhook": 1, "inflight_start": 4, "inflight_end": 0, "connections_end": 0, "settle": 10, "last_busy": 3.36,
    "seconds": 14, "end": "idle",
}  # fmt: skip
STATUS = json.dumps({
    "v": 1, "version": "0.1.0", "profile": "vllm@0a1b2c3d", "container": "server", "hook": "exec",
    "budget": {"settle": 10, "drain": 95, "reserve": 15, "grace": 120}, "changed": [], "kept": [], "reasons": [],
})  # fmt: skip


def stamp(at):
    """Return a time as the API writes it: whole seconds, cut."""
    return datetime.fromtimestamp(int(at), UTC).isoformat().replace("+00:00", "Z")


def message(**changes):
    """Return a termination message: the engine's own line, then the hook's record."""
    return "INFO engine stopped\n" + json.dumps({**HOOK, **changes}, separators=(",", ":")) + "\n"


def running(name="server", instance="a", started=T0 - 3600, restarts=0, last=None):
    """Return the status of a container that runs."""
    return {
        "name": name, "ready": True, "started": True, "restartCount": restarts,
        "image": "docker.io/vllm/vllm-openai:v0.11.0", "containerID": f"containerd://{instance}",
        "state": {"running": {"startedAt": stamp(started)}},
        "lastState": {"terminated": last} if last else {},
    }  # fmt: skip


def end(finished, code=143, reason="Error", *, text=None, **changes):
    """Return a terminated state."""
    instance, started = changes.get("instance", "a"), changes.get("started", T0 - 3600)
    said = {} if text is None else {"message": text}
    return {
        "exitCode": code, "reason": reason, "startedAt": stamp(started), "finishedAt": stamp(finished),
        "containerID": f"containerd://{instance}", **said,
    }  # fmt: skip


def ended(finished, code=143, name="server", **more):
    """Return the status of a container that ended."""
    terminated = end(finished, code, **more)
    return {
        "name": name, "ready": False, "started": False, "restartCount": 0, "lastState": {},
        "containerID": terminated["containerID"], "state": {"terminated": terminated},
    }  # fmt: skip


LOST = {
    "name": "server", "ready": False, "restartCount": 1, "containerID": "containerd://a", "lastState": {},
    "state": {"terminated": {
        "exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None,
        "message": "The container could not be located when the pod was terminated",
    }},
}  # fmt: skip
"""What the kubelet writes of a container that it has lost."""


ABOUT = {
    "uid": "u1", "name": "chat-5d9f7c8b6-x2x4k", "asked": None, "grace": 120, "now": None, "phase": "Running",
    "disruption": None, "reason": None, "owner": "ReplicaSet", "containers": [{"name": "server"}],
    "labels": {"app": "chat", "pod-template-hash": "5d9f7c8b6", names.BACKEND: "vllm"},
    "annotations": {names.STATUS: STATUS},
}  # fmt: skip


def pod(*statuses, **changes):
    """Return a pod. Its deletion was `asked` for with `grace`, or is the kubelet's last call `now`."""
    about = {**ABOUT, **changes}
    metadata = {
        "name": about["name"], "namespace": "llm", "uid": about["uid"], "resourceVersion": "1",
        "managedFields": [{"manager": "kubelet"}],
        "labels": {**about["labels"]}, "annotations": {**about["annotations"]},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": about["owner"], "name": "chat-5d9f7c8b6", "uid": "rs",
                             "controller": True, "blockOwnerDeletion": True}],
    }  # fmt: skip
    if about["asked"] is not None:
        grace, now = (about["grace"], about["asked"] + about["grace"]) if about["now"] is None else (0, about["now"])
        metadata |= {"deletionTimestamp": stamp(now), "deletionGracePeriodSeconds": grace}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(T0)}]
    if about["disruption"]:
        conditions.append({"type": "DisruptionTarget", "status": "True", "reason": about["disruption"]})
    return {
        "kind": "Pod", "apiVersion": "v1", "metadata": metadata,
        "spec": {"terminationGracePeriodSeconds": about["grace"], "containers": about["containers"]},
        "status": {"phase": about["phase"], "conditions": conditions, "containerStatuses": list(statuses),
                   **({"reason": about["reason"]} if about["reason"] else {})},
    }  # fmt: skip


def event(reason, *times, uid="u1", container="server", name="chat-5d9f7c8b6-x2x4k"):
    """Return an event of the kubelet, in the form of core/v1."""
    return {
        "metadata": {"name": f"{name}.18", "namespace": "llm", "uid": f"e-{reason}", "resourceVersion": "9"},
        "involvedObject": {"kind": "Pod", "namespace": "llm", "name": name, "uid": uid, "apiVersion": "v1",
                           "fieldPath": f"spec.containers{{{container}}}"},
        "reason": reason, "message": "Stopping container server", "type": "Normal", "count": len(times),
        "source": {"component": "kubelet", "host": "n1"}, "eventTime": None, "reportingComponent": "kubelet",
        "firstTimestamp": stamp(times[0]), "lastTimestamp": stamp(times[-1]),
    }  # fmt: skip


def endpoint_slice(*ready, leaving=(), uid="s1"):
    """Return an EndpointSlice; pods are given by uid."""
    conditions = {**dict.fromkeys(leaving, False), **dict.fromkeys(ready, True)}
    return {
        "metadata": {"name": "chat-abcde", "namespace": "llm", "uid": uid,
                     "labels": {"kubernetes.io/service-name": "chat"}},
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": state, "serving": True, "terminating": not state},
             "targetRef": {"kind": "Pod", "namespace": "llm", "name": f"pod-{pod_uid}", "uid": pod_uid}}
            for pod_uid, state in conditions.items()
        ] or None,
    }  # fmt: skip


def join(*steps, since=T0 - 60):
    """Feed facts and return the join; a step is (time, object), or (time, object, "gone")."""
    joined = Join(DIGESTS, since)
    for step in steps:
        feed(joined, *step)
    return joined


def feed(joined, at, obj, how="there"):
    """Feed one object as its watch would."""
    kinds = {"endpoints": facts.endpoints, "involvedObject": facts.pod_event}
    keep = next((kept for key, kept in kinds.items() if key in obj), facts.pod)
    (joined.drop if how == "gone" else joined.take)(keep(obj), at)


def records(*steps, since=T0 - 60):
    """Return the records that the facts give."""
    joined = join(*steps, since=since)
    last = max(at for at, *_ in steps)
    return joined.records(last + LINGER_SECONDS)


def drained(asked=T0, took=15, code=143, **more):
    """Return the steps of a pod that ends: running, asked to end, ended, gone."""
    grace = more.pop("grace", 120)
    last = ended(asked + took, code, text=more.pop("text", message()), reason=more.pop("why", "Error"))
    return [
        (asked - 50, pod(running(), grace=grace, **more)),
        (asked + 0.1, pod(running(), asked=asked, grace=grace, **more)),
        (asked + took + 0.7, pod(last, asked=asked, grace=grace, **more)),
        (asked + took + 1.2, pod(last, asked=asked, grace=grace, now=asked + took + 1, **more), "gone"),
    ]
