"""The example's real server as local processes: a Service before them, a kubelet that ends them with the real hook."""

from __future__ import annotations

import copy
import http.client
import itertools
import json
import os
import selectors
import socket
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import yaml

from demo.kubelet import Hook, terminate
from webhook import __version__, names
from webhook.catalog import load
from webhook.core.admission import decide
from webhook.core.decision import Policy, Request
from webhook.core.patch import apply

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/llm-server"
HOST = "127.0.0.1"
BUDGET = {names.SETTLE: "2", names.DRAIN: "90"}  # the settle time of a cluster would only be waited for
START_SECONDS = 60


def deployment(**annotations):
    """Give the example's Deployment, with annotations on its template."""
    made = yaml.safe_load((EXAMPLE / "deployment.yaml").read_text())
    if annotations:
        made["spec"]["template"]["metadata"]["annotations"] = annotations
    return made


def patched(made):
    """Give a Deployment as drainhook leaves it, and the decision."""
    decision = decide(Request(made, "default"), load()[0], Policy(__version__, (1, 34)))
    return apply(made, decision.operations), decision


class Server:
    """One pod: the real server as a process, its log and its hook."""

    def __init__(self, name, folder, models, **environment):
        """Start it, with more variables where they are given, and return when it is ready."""
        self.name, self.folder, self.port = name, folder, free_port()
        made = copy.deepcopy(deployment(**BUDGET))
        made["spec"]["template"]["spec"]["containers"][0]["args"][-1] = str(self.port)
        made["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = self.port
        self.spec = patched(made)[0]["spec"]["template"]["spec"]
        container = self.spec["containers"][0]
        own = {"HOSTNAME": name, "TMPDIR": str(models), "PYTHONPATH": str(ROOT), "SLOTS": "6"}
        arguments = [word.replace("0.0.0.0", HOST) for word in container["args"]]  # noqa: S104
        with (folder / f"{name}.log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *container["command"][1:], *arguments],
                cwd=EXAMPLE, env={**os.environ, **own, **environment}, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._wait_ready()

    @property
    def url(self):
        """Give its address."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self):
        """Give what it has written."""
        return (self.folder / f"{self.name}.log").read_text()

    def pod(self):
        """Give the pod as the API server would show it."""
        return {"metadata": {"name": self.name}, "spec": self.spec, "status": {"podIP": HOST}}

    def ask(self, method, path, body=None):
        """Send one request; give status, headers and text."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return found

    def end(self, *, with_hook=True):
        """End it as a kubelet does, with the hook that drainhook made, and give how that went."""
        argv = self.spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        quiet = [f"log={self.folder}/{self.name}.hook", f"record={self.folder}/{self.name}.record"]
        hook = Hook([*argv, *quiet]) if with_hook else None
        return terminate(self.process, hook, self.spec["terminationGracePeriodSeconds"])

    def kill(self):
        """End what is left."""
        self.process.kill()
        self.process.wait()

    def _wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(OSError):
                if self.ask("GET", "/readyz")[0] == http.client.OK:
                    return
            time.sleep(0.1)
        self.kill()
        raise AssertionError(f"the server is not ready within {START_SECONDS} s:\n{self.log}")


class Service(socketserver.ThreadingTCPServer):
    """A Service: each new connection goes to the next server that is not leaving."""

    daemon_threads = True

    def __init__(self, servers, folder):
        """Listen on a free port."""
        self.turns = itertools.cycle(servers)
        self.servers, self.folder = servers, folder
        super().__init__((HOST, 0), Forward)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next_port(self):
        """Give the port of the next endpoint."""
        for server in itertools.islice(self.turns, len(self.servers)):
            if not (self.folder / f"{server.name}.deleted").exists():
                return server.port
        raise ConnectionRefusedError("no endpoint is left")


class Forward(socketserver.BaseRequestHandler):
    """One connection, byte by byte in both directions."""

    def handle(self):
        """Copy until one side closes."""
        with socket.create_connection((HOST, self.server.next_port())) as there, selectors.DefaultSelector() as ready:
            ready.register(self.request, selectors.EVENT_READ, there)
            ready.register(there, selectors.EVENT_READ, self.request)
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    key.data.sendall(data)


class Cluster:
    """Two servers as pods in a folder, and a kubelet that ends those which are deleted."""

    def __init__(self, folder, models):
        """Start the servers and the Service before them."""
        self.folder = folder
        self.servers = [Server(name, folder, models) for name in ("pod-a", "pod-b")]
        self.with_hook = True
        for server in self.servers:
            (folder / f"{server.name}.json").write_text(json.dumps(server.pod()))
        self.service = Service(self.servers, folder)
        at = {"clusterIP": HOST, "ports": [{"port": self.service.server_address[1]}]}
        (folder / "service.json").write_text(json.dumps({"spec": at}))
        self._over = threading.Event()
        self._kubelet = threading.Thread(target=self._end_deleted)

    def __enter__(self):
        """Start the kubelet."""
        self._kubelet.start()
        return self

    def __exit__(self, *_):
        """End all of it."""
        self._over.set()
        self._kubelet.join()
        self.service.shutdown()
        self.service.server_close()
        for server in self.servers:
            server.kill()

    def run_try(self, seconds):
        """Run try.py as a user does."""
        kubectl = self.folder / "kubectl"
        stand_in = Path(__file__).with_name("kubectl.py")
        kubectl.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "{self.folder}" "$@"\n')
        kubectl.chmod(0o755)
        environment = {"KUBECTL": str(kubectl), "STREAM_SECONDS": str(seconds), "PATH": "/usr/bin:/bin"}
        words = [sys.executable, str(EXAMPLE / "try.py")]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=300)

    def _end_deleted(self):
        while not self._over.wait(0.05):
            for server in self.servers:
                deleted, ended = (self.folder / f"{server.name}.{word}" for word in ("deleted", "ended"))
                if deleted.exists() and not ended.exists():
                    code = server.end(with_hook=self.with_hook).exit_code
                    ended.write_text(json.dumps({"exitCode": code, "reason": "Error" if code else "Completed"}))


def free_port():
    """Give a port that is free now."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return taken.getsockname()[1]
