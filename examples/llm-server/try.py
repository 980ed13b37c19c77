"""The whole exercise: five long streams, one pod deleted under them, nothing lost. Standard library and kubectl only.

    python3 try.py

Environment: KUBECONFIG, CONTEXT (of the kubeconfig), NAMESPACE (default: default), KUBECTL (default: kubectl),
STREAM_SECONDS (default 30: how long each stream takes, longer than the settle time). Prints a table, exits 1 when
anything went wrong.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

APP: Final = "llm-server"
CLIENT: Final = "llm-client"
CHAT: Final = "/v1/chat/completions"
STREAMS: Final = 5
OK: Final = 200
REFUSED: Final = 503
KEEP: Final = "drainhook.dev/example"  # a finalizer: the API server shows the pod's end until we have read it
_CLIENT_CODE: Final = Path(__file__).with_name("client.py")
# What the log of the deleted pod must say, in this order.
LOG: Final = {
    "the drain begins": r"drain: settle \d+ s",
    "new work is refused": r"new work is refused",
    "in flight is done": r"drain ends after [\d.]+ s: idle, in flight 0",
    "SIGTERM comes": r"SIGTERM: in flight 0",
    "the model is freed": r"clean-up Model\.free took",
    "the process ends": r"shutdown took [\d.]+ s: in flight at SIGTERM 0, at the end 0",
}


class TryError(Exception):
    """The exercise could not be done; the message says what to do."""


class Kubectl:
    """kubectl with the context and the namespace of the environment."""

    def __init__(self, environ: dict[str, str]) -> None:
        """Read the environment."""
        kubectl, namespace = environ.get("KUBECTL", "kubectl"), environ.get("NAMESPACE", "default")
        self._words = [*shlex.split(kubectl), "--namespace", namespace]
        if context := environ.get("CONTEXT"):
            self._words += ["--context", context]

    def __call__(self, *words: str, given: str | None = None) -> str:
        """Run a command and give its output."""
        done = subprocess.run([*self._words, *words], input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TryError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *words: str) -> Any:
        """Give an object or a list as data."""
        return json.loads(self("get", *words, "-o", "json"))

    @contextmanager
    def running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command whose output is read meanwhile; it ends with the block."""
        process = subprocess.Popen([*self._words, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def client(self, *words: str) -> Any:
        """Send one request from inside the cluster and give what came."""
        return json.loads(self("exec", "-i", CLIENT, "--", "python3", "-", *words, given=_CLIENT_CODE.read_text()))


class Table:
    """What was expected and what was seen, row by row."""

    def __init__(self) -> None:
        """Begin without rows."""
        self.rows = self.failed = 0

    def row(self, what: str, seen: object, *, holds: bool) -> None:
        """Print one row."""
        self.rows += 1
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {what:<44}  {seen}", flush=True)


def wait_for(what: str, seconds: float, look: Callable[[], Any]) -> Any:
    """Look twice a second until something is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.5)
    raise TryError(f"{what}: not within {seconds:g} s")


def ready_pods(kubectl: Kubectl) -> list[Any]:
    """Give the two pods of the server when the rollout is done, and make sure that drainhook has seen them."""
    kubectl("rollout", "status", f"deployment/{APP}", "--timeout=300s")
    found = kubectl.get("pods", "-l", f"app={APP}")["items"]
    found = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
    if len(found) < 2:  # noqa: PLR2004
        raise TryError(f"deployment/{APP} has {len(found)} pod, another must take the work: replicas: 2")
    for pod in found:
        if "preStop" not in pod["spec"]["containers"][0].get("lifecycle", {}):
            name = pod["metadata"]["name"]
            raise TryError(f"pod {name} has no drain hook: install drainhook and restart the Deployment (README.md)")
    return found


@contextmanager
def client_pod(kubectl: Kubectl, server: Any) -> Iterator[None]:
    """Run a pod of the server's image that does nothing, for the clients; it goes in the end."""
    image = server["spec"]["containers"][0]
    container = {
        "name": "client",
        "image": image["image"],
        "imagePullPolicy": image.get("imagePullPolicy", "IfNotPresent"),
        "command": ["python3", "-c", "import signal; signal.sigwait({signal.SIGTERM})"],
        "securityContext": image.get("securityContext", {}),
    }
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    spec["securityContext"] = server["spec"].get("securityContext", {})
    kubectl("delete", "pod", CLIENT, "--ignore-not-found", "--wait=true")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": CLIENT}, "spec": spec}
    kubectl("apply", "-f", "-", given=json.dumps(pod))
    try:
        kubectl("wait", "--for=condition=Ready", f"pod/{CLIENT}", "--timeout=120s")
        yield
    finally:
        kubectl("delete", "pod", CLIENT, "--ignore-not-found", "--wait=false")


def tokens_for(kubectl: Kubectl, service: str, seconds: float) -> int:
    """Measure how fast the servers write under this load, and give the tokens that keep the fastest busy so long."""
    short = 200
    words = ("exec", "-i", CLIENT, "--", "python3", "-", "streams", service, str(STREAMS), str(short))
    lines = kubectl(*words, given=_CLIENT_CODE.read_text()).splitlines()
    ended = [found for found in map(json.loads, lines) if found["event"] == "ended"]
    if broken := [found for found in ended if not found["complete"]]:
        raise TryError(f"a stream of {short} tokens is not complete before anything was deleted: {broken[0]}")
    return int(short * seconds / max(0.01, min(found["writing"] for found in ended)))


def url(host: str, port: int) -> str:
    """Give the address of a server, of IPv6 too."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def address_of(pod: Any) -> str:
    """Give the address of a pod's server."""
    return url(pod["status"]["podIP"], pod["spec"]["containers"][0]["ports"][0]["containerPort"])


def end_of(kubectl: Kubectl, name: str) -> Any:
    """Give how the server's container ended, once it has."""
    statuses = kubectl.get("pod", name)["status"].get("containerStatuses", [{}])
    return statuses[0].get("state", {}).get("terminated")


def begin_streams(streams: subprocess.Popen[str]) -> Counter[str]:
    """Let the clients begin and return, when all five streams have begun, how many each pod serves."""
    if streams.stdin is not None:
        streams.stdin.write(_CLIENT_CODE.read_text())
        streams.stdin.close()
        streams.stdin = None  # so that nobody closes it again
    pods: Counter[str] = Counter()
    for line in streams.stdout or ():
        found = json.loads(line)
        if found["event"] == "ended":
            raise TryError(f"a stream ended before anything was deleted: {found}")
        pods[found["pod"]] += 1
        if pods.total() == STREAMS:
            return pods
    raise TryError(f"{pods.total()} of {STREAMS} streams have begun")


def check_draining(kubectl: Kubectl, table: Table, leaving: str, service: str) -> None:
    """See what a draining pod answers, and what its Service does meanwhile."""

    def ask(method: str, url: str) -> Any:
        return kubectl.client("ask", method, url)

    wait_for("readiness of the deleted pod fails", 120, lambda: ask("GET", f"{leaving}/readyz")["status"] != OK)
    found = ask("POST", leaving + CHAT)
    seen = f"{found['status']}, Retry-After {found['retry_after'] or '-'}"
    table.row("a new request to the draining pod: 503", seen, holds=found["status"] == REFUSED)
    found = ask("POST", service + CHAT)
    table.row(
        "a new request to the Service: 200", f"{found['status']} from {found['pod']}", holds=found["status"] == OK
    )
    found = ask("GET", f"{leaving}/healthz")
    table.row("liveness of the draining pod: 200", found["status"], holds=found["status"] == OK)
    page = ask("GET", f"{leaving}/metrics")["text"]
    values = dict(re.findall(r"^(inflight_requests|shutdown_duration_seconds) (\S+)", page, re.MULTILINE))
    is_counted = all(float(values.get(name, 0)) > 0 for name in ("inflight_requests", "shutdown_duration_seconds"))
    table.row("metrics while it drains", " ".join(f"{key} {value}" for key, value in values.items()), holds=is_counted)


def check_answers(table: Table, streams: subprocess.Popen[str], tokens: int) -> None:
    """Wait for the five streams; each must be 200 and whole."""
    ended = [json.loads(line) for line in streams.stdout or ()]
    streams.wait()
    for number, found in enumerate(ended, 1):
        seen = f"{found['status']}, {found['tokens']} tokens in {found['seconds']} s from {found['pod']}"
        whole = found["status"] == OK and found["complete"]
        table.row(
            f"stream {number} of {STREAMS}: 200 and {tokens} tokens", f"{seen} {found['why']}".strip(), holds=whole
        )
    table.row("answers", f"{len(ended)} of {STREAMS}", holds=len(ended) == STREAMS)


def check_end(kubectl: Kubectl, table: Table, pod: Any, log: subprocess.Popen[str]) -> None:
    """Read the pod's log and how its server ended."""
    name, grace = pod["metadata"]["name"], pod["spec"].get("terminationGracePeriodSeconds", 30)
    ended = wait_for(f"the end of pod {name}", grace + 60, lambda: end_of(kubectl, name))
    try:
        text, _ = log.communicate(timeout=10)
    except subprocess.TimeoutExpired:  # the API server may hold the connection
        log.kill()
        text, _ = log.communicate()
    place = 0
    for what, pattern in LOG.items():
        found = re.compile(pattern).search(text, place)
        table.row(f"log: {what}", found[0] if found else f"no line like {pattern!r} (in this order)", holds=bool(found))
        place = found.end() if found else place
    table.row("exit code: 0", f"{ended['exitCode']} ({ended.get('reason', '-')})", holds=ended["exitCode"] == 0)


@contextmanager
def kept(kubectl: Kubectl, name: str) -> Iterator[None]:
    """Let the API server keep what it knows of a pod until this block ends, as the Job controller does."""
    patch = {"metadata": {"finalizers": [KEEP]}}
    kubectl("patch", "pod", name, "--type=merge", "--patch", json.dumps(patch))
    try:
        yield
    finally:
        kubectl("patch", "pod", name, "--type=merge", "--patch", json.dumps({"metadata": {"finalizers": None}}))


def exercise(kubectl: Kubectl, table: Table, seconds: float) -> None:
    """Do all of it and fill the table."""
    pods = {pod["metadata"]["name"]: pod for pod in ready_pods(kubectl)}
    at = kubectl.get("service", APP)["spec"]
    service = url(at["clusterIP"], at["ports"][0]["port"])
    with client_pod(kubectl, next(iter(pods.values()))), ExitStack() as stack:
        tokens = tokens_for(kubectl, service, seconds)
        words = ("exec", "-i", CLIENT, "--", "python3", "-", "streams", service, str(STREAMS), str(tokens))
        streams = stack.enter_context(kubectl.running(*words))
        serving = begin_streams(streams)
        name = serving.most_common(1)[0][0]
        if name not in pods:
            raise TryError(f"the streams are served by {name}, which is none of {', '.join(pods)}")
        spread = ", ".join(f"{pod} {count}" for pod, count in sorted(serving.items()))
        table.row(f"{STREAMS} streams have begun", spread, holds=True)
        with kept(kubectl, name), kubectl.running("logs", "--follow", name) as log:
            kubectl("delete", "pod", name, "--wait=false")
            grace = pods[name]["spec"].get("terminationGracePeriodSeconds")
            table.row("deleted while it streams", f"{name}, grace period {grace} s", holds=True)
            check_draining(kubectl, table, address_of(pods[name]), service)
            check_answers(table, streams, tokens)
            check_end(kubectl, table, pods[name], log)


def main(environ: dict[str, str]) -> int:
    """Give the exit code: 0 when every row holds."""
    table = Table()
    try:
        exercise(Kubectl(environ), table, float(environ.get("STREAM_SECONDS", "30")))
    except (TryError, FileNotFoundError) as error:
        print(f"try.py: {error}", file=sys.stderr)
        return 1
    print(f"{table.failed} of {table.rows} rows failed" if table.failed else f"all {table.rows} rows hold")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main(dict(os.environ)))
