"""A small API server on loopback: objects by path, lists, resourceVersions, JSON patches, dry runs, discovery.

It answers as the real one was seen to answer (codes and messages of 1.37). The real one is used in tests/e2e.
"""

from __future__ import annotations

import contextlib
import copy
import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jsonpatch
from kubernetes.client import Configuration

from webhook.cluster.client import Session

STALE = "the object has been modified; please apply your changes to the latest version and try again"
APPS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
SHORT = {"Deployment": ["deploy"], "StatefulSet": ["sts"], "DaemonSet": ["ds"], "Pod": ["po"], "Service": ["svc"]}


def rows(*kinds):
    """Return the discovery rows of kinds."""
    return [
        {"name": f"{kind.lower()}s", "singularName": kind.lower(), "kind": kind, "namespaced": True,
         "shortNames": SHORT.get(kind, [])}
        for kind in kinds
    ]  # fmt: skip


class ApiServer:
    """The state of the server; `asked` is every request as (method, path, query, body)."""

    def __init__(self, handler):
        """Know the built-in kinds; a custom group is added with `install`."""
        self.objects = {}
        self.pages = {
            "/version": {"gitVersion": "v1.37.2"},
            "/api/v1": {"resources": [*rows("Pod", "PodTemplate", "ReplicationController", "Service"),
                                      {"name": "pods/status", "kind": "Pod"}]},
        }  # fmt: skip
        self.install("apps", "v1", *APPS)
        self.install("batch", "v1", "Job", "CronJob")
        self.asked = []
        self.logins = set()
        self.refusals = {}
        self.meanwhile = {}
        self.warnings = []
        self.page_size = 500
        self.version = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.state = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def install(self, group, version, *kinds):
        """Serve the kinds of a group."""
        self.pages[f"/apis/{group}"] = {"preferredVersion": {"version": version}}
        self.pages[f"/apis/{group}/{version}"] = {"resources": rows(*kinds)}

    def add(self, path, obj):
        """Store an object without a request."""
        self.version += 1
        metadata = {"uid": f"uid-{self.version}", **obj.get("metadata", {}), "resourceVersion": str(self.version)}
        self.objects[path] = {**self._typed(path), **copy.deepcopy(obj), "metadata": metadata}

    def _typed(self, path):
        """Return the kind of what is at a path, as discovery has it; nothing for groups that are not known here."""
        root, _, rest = path.partition("/namespaces/")
        plural = rest.split("/")[-2] if rest else ""
        version = root.removeprefix("/apis/").removeprefix("/api/")
        found = [row["kind"] for row in self.pages.get(root, {}).get("resources", ()) if row["name"] == plural]
        return {"apiVersion": version, "kind": found[0]} if found else {}

    def refuse(self, method, path, *answers):
        """Answer the next requests with (status, message)."""
        self.refusals[method, path] = deque(answers)

    def before(self, method, path, action):
        """Do something just before a request is looked at, once: what another client does meanwhile."""
        self.meanwhile[method, path] = action

    def session(self, namespace="default"):
        """Open a session, as a kubeconfig would."""
        configuration = Configuration()
        configuration.host = self.url
        configuration.proxy = None
        return Session(configuration, namespace)

    def writes(self):
        """Return what changed something: method, path."""
        return [(method, path) for method, path, _, _ in self.asked if method != "GET"]

    def answer(self, method, path, query, body):
        """Return status and body of one request."""
        action = self.meanwhile.pop((method, path), None)
        if action:
            action()
        self.asked.append((method, path, query, body))
        if self.refusals.get((method, path)):
            return self.refusals[method, path].popleft()
        return getattr(self, f"_{method.lower()}")(path, query, body)

    def _get(self, path, query, _body):
        if path in self.pages:
            return 200, self.pages[path]
        if path in self.objects:
            return 200, self.objects[path]
        plural = path.rpartition("/")[2]
        root, _, rest = path.rpartition(f"/{plural}")[0].partition("/namespaces/")
        if any(row["name"] == plural for row in self.pages.get(root, {}).get("resources", ())):
            return 200, self._listed(root, rest, plural, int(query.get("continue", "0")))
        return 404, f'"{plural}" not found'

    def _listed(self, root, namespace, plural, start):
        items = [
            {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}
            for place, item in self.objects.items()
            if place.startswith(f"{root}/namespaces/{namespace}") and place.split("/")[-2] == plural
        ]
        end = start + self.page_size
        return {"items": items[start:end], "metadata": {"continue": str(end)} if end < len(items) else {}}

    def _post(self, path, _query, body):
        place = f"{path}/{body['metadata']['name']}"
        if place in self.objects:
            return 409, f'"{place}" already exists'
        self.add(place, body)
        return 201, self.objects[place]

    def _put(self, path, _query, body):
        if body["metadata"].get("resourceVersion") != self.objects[path]["metadata"]["resourceVersion"]:
            return 409, STALE
        self.add(path, body)
        return 200, self.objects[path]

    def _patch(self, path, query, body):
        before = self.objects[path]
        try:
            after = jsonpatch.apply_patch(before, body)
        except jsonpatch.JsonPatchException:
            return 422, "the server rejected our request due to an error in our request"
        if after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
            return 409, STALE
        if query.get("dryRun") != "All":
            self.add(path, after)
        return 200, after


class Handler(BaseHTTPRequestHandler):
    """HTTP around the state."""

    protocol_version = "HTTP/1.1"

    def _serve(self):
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        state = self.server.state
        state.logins.add(self.headers.get("Authorization"))
        status, answer = state.answer(self.command, parts.path, query, body)
        content = json.dumps({"message": answer} if isinstance(answer, str) else answer).encode()
        self.send_response(status)
        for warning in state.warnings if self.command != "GET" else ():
            self.send_header("Warning", f'299 - "{warning}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = _serve  # noqa: N815 (http.server's names)

    def log_message(self, *_arguments):
        """Stay silent."""


@contextlib.contextmanager
def running():
    """Run a server for as long as the block lasts."""
    state = ApiServer(Handler)
    state.server.daemon_threads = True
    thread = threading.Thread(target=state.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.server.shutdown()
        thread.join()
        state.server.server_close()


def kubeconfig(folder, url, namespace="llm"):
    """Write a kubeconfig for a server."""
    path = folder / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": url}}, {"name": "d", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": namespace}},
            {"name": "there", "context": {"cluster": "d", "user": "u"}},
        ],
    }))  # fmt: skip
    return path
