"""The stories: what happens to which pods, as data."""

from __future__ import annotations

from typing import Any, Final

from tests.cluster import recipes
from tests.cluster.objects import Json
from tests.cluster.pins import NODE_ADDRESS, POD_RANGE
from tests.e2e import disruptions
from tests.e2e.story import Story
from tests.e2e.workload import fastapi, llama
from webhook import names

_CUT: Final = "the deleter leaves less time than a stream needs"
_DEAD: Final = "the engine is dead: what it held is gone before the hook begins"
_ALL: Final = "all endpoints are leaving, and kube-proxy goes on sending to them while they are ready"
_BUSY: Final = "clients with kept connections go on sending to the leaving pod until its deadline"
_HARD: Final = ("--timeout-graceful-shutdown=1", "--timeout-keep-alive=75")  # cuts its streams 1 s after SIGTERM
_ALIVE: Final = {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 1, "timeoutSeconds": 9}
_STARTS: Final = {**_ALIVE, "failureThreshold": 120}
_NOBODY: Final = {"runAsUser": 65534, "runAsNonRoot": True}
_NODE: Final = f"{NODE_ADDRESS}/32 {POD_RANGE}"  # the kubelet asks from one of the two
_SLEEPER: Final = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"]


def own_hook(seconds: int) -> Json:
    """Give a preStop hook as users write it."""
    return {"preStop": {"exec": {"command": ["sh", "-c", f"sleep {seconds}; echo done >/dev/termination-log"]}}}


def _busybox(name: str, **fields: Any) -> Json:
    return {"name": name, "image": recipes.BUSYBOX, "imagePullPolicy": "Never", "command": _SLEEPER, **fields}


_DISRUPTIONS: Final = (
    Story("pod-delete", llama()),
    Story("rollout-restart", llama(), disruptions.restart, ended=2),
    Story("scale-down", llama(), disruptions.scale_down, disruptions.scale_up),
    Story("eviction", llama(), disruptions.evict),
    Story("node-drain", llama(), disruptions.drain_node, disruptions.uncordon, ended=2, alone=True),
    Story("kubelet-restart", llama(), disruptions.restart_kubelet, alone=True),
    Story(
        "dead-engine",
        llama(livenessProbe=_ALIVE, startupProbe=_STARTS),
        disruptions.kill_engine,
        disruptions.replace_restarted,
        restarts=True,
        hook_end="not_listening",
        expected_loss=_DEAD,
    ),
)
_LIMITS: Final = (
    Story("grace-cut", llama(), disruptions.cut_grace, hook_end="", expected_loss=_CUT),
    Story("force-delete", llama(), disruptions.force_delete, hook_end="", expected_loss=_CUT),
    Story("node-drain-at-once", llama(), disruptions.drain_node_at_once, disruptions.uncordon, ended=2,
          expected_loss=_ALL, alone=True, short=False),
    Story("never-pausing", fastapi(recipes.FASTAPI_APP, *_HARD), backend="fastapi", hook_end="deadline",
          expected_loss=_BUSY, pauses=False, short=False),
)  # fmt: skip
_PODS: Final = (
    Story("kept-connections", fastapi(recipes.FASTAPI_APP, *_HARD), backend="fastapi"),
    Story("hanging-metrics", fastapi(HANG_METRICS="1"), backend="fastapi", cuts=False, hook_end=""),
    Story("no-shell-sleep", fastapi(recipes.FASTAPI_BARE), backend="fastapi", cuts=False, hook_end="",
          annotations={names.IMAGE_TOOLS: "none", names.DRAIN: "12"}),
    Story("no-shell-http", fastapi(recipes.FASTAPI_BARE, *_HARD, DRAINABLE=_NODE), backend="fastapi", hook_end="",
          annotations={names.IMAGE_TOOLS: "none", names.HOOK: "http"}),
    Story("no-shell-sidecar", fastapi(recipes.FASTAPI_BARE, *_HARD), backend="fastapi", hook_end="",
          annotations={names.IMAGE_TOOLS: "none", names.HOOK: "sidecar"}),
    Story("drainable", fastapi(recipes.FASTAPI_APP, *_HARD, DRAINABLE=""), backend="fastapi", hook_end="called",
          short=False),
    Story("drainable-never-pausing", fastapi(recipes.FASTAPI_APP, *_HARD, DRAINABLE=""), backend="fastapi",
          hook_end="called", pauses=False),
    Story("read-only-root", llama(securityContext={"readOnlyRootFilesystem": True, **_NOBODY})),
    Story("native-sidecar", llama(), pod={"initContainers": [_busybox("sidecar", restartPolicy="Always")]}),
    Story("two-containers", llama(), pod={"containers": [_busybox("beside", ports=[{"containerPort": 9000}])]}),
    Story("short-grace", llama(), pod={"terminationGracePeriodSeconds": 5}),
    Story("own-hook-kept", llama(lifecycle=own_hook(12)), hook_end="", cuts=False),
    Story("own-hook-chained", llama(lifecycle=own_hook(1)), annotations={names.EXISTING_HOOK: "chain"}),
)  # fmt: skip
STORIES: Final = {story.name: story for story in (*_DISRUPTIONS, *_LIMITS, *_PODS)}
