"""A small API server on loopback that speaks lists by pages and watches, as the one of 1.37 was seen to.

It can forget old versions, cut connections in the middle of a line, hold pages and writes back, and be stopped and
started again on its port. No claim is made here.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import defaultdict, deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from webhook.cluster.client import Session

EXPIRED = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410,
           "message": "too old resource version: 1 (7)"}  # fmt: skip


class WatchServer:
    """Objects by collection and uid, and every change; `asked` is every request as (path, query)."""

    def __init__(self):
        """Hold nothing, on a free port."""
        self.changed = threading.Condition()
        self.objects = defaultdict(dict)
        self.history = defaultdict(list)
        self.snapshots = {}
        self.refusals = defaultdict(deque)
        self.version = 10
        self.oldest = 0
        self.asked = []
        self.posted = []
        self.streams = defaultdict(set)
        self.pages = threading.Event()
        self.pages.set()
        self.port = 0
        self._is_open = False

    def __enter__(self):
        """Serve."""
        self.start()
        return self

    def __exit__(self, *_):
        """End, and every watch with it."""
        self.stop()

    @property
    def url(self):
        """Return the address."""
        return f"http://127.0.0.1:{self.port}"

    def session(self, namespace="llm"):
        """Open a session, as a kubeconfig would."""
        configuration = Configuration()
        configuration.host = self.url
        configuration.proxy = None
        return Session(configuration, namespace)

    def start(self):
        """Listen, on the same port as before if there was one."""
        server = type("Server", (ThreadingHTTPServer,), {"allow_reuse_address": True, "daemon_threads": True})
        self._server = server(("127.0.0.1", self.port), Handler)
        self._server.state = self
        self._is_open = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self):
        """Close the door and every connection."""
        self._is_open = False
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for path in list(self.streams):
            self.cut(path)

    def put(self, path, obj):
        """Add or change an object."""
        self._change(path, "MODIFIED" if obj["metadata"]["uid"] in self.objects[path] else "ADDED", obj)

    def remove(self, path, obj):
        """Remove an object."""
        self._change(path, "DELETED", obj)

    def remove_unseen(self, path, obj):
        """Remove an object without telling any watch, as if its change had been forgotten by now."""
        with self.changed:
            self.version += 1
            self.objects[path].pop(obj["metadata"]["uid"])

    def say(self, path, kind, obj):
        """Send a line to the watches of a collection that is no change of an object."""
        with self.changed:
            self.history[path].append((self.version, {"type": kind, "object": obj}))
            self.changed.notify_all()

    def bookmark(self, path):
        """Tell the watches how far they are."""
        self.say(path, "BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(self.version)}})

    def forget(self):
        """Forget all changes: who asks for an older version is refused."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.history.clear()

    def refuse(self, path, *answers):
        """Answer the next requests for a collection with (status, body)."""
        self.refusals[path].extend(answers)

    def cut(self, path):
        """Break the connections of the watches of a collection, in the middle of a line."""
        with self.changed:
            streams, self.streams[path] = self.streams[path], set()
            self.changed.notify_all()
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.sendall(b'8\r\n{"type":\r\n')
                stream.shutdown(socket.SHUT_RDWR)

    def wait_for(self, holds, seconds=10):
        """Return when a condition holds; fail when it does not in time."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "not in time"
            with self.changed:
                self.changed.wait(0.02)

    def watches(self, path):
        """Return the versions at which the watches of a collection began."""
        return [query["resourceVersion"] for asked, query in self.asked if asked == path and "watch" in query]

    def lists(self, path):
        """Count the lists of a collection that were begun."""
        return sum(asked == path and "watch" not in query and "continue" not in query for asked, query in self.asked)

    def _change(self, path, kind, obj):
        with self.changed:
            self.version += 1
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
            self.history[path].append((self.version, {"type": kind, "object": obj}))
            if kind == "DELETED":
                self.objects[path].pop(obj["metadata"]["uid"], None)
            else:
                self.objects[path][obj["metadata"]["uid"]] = obj
            self.changed.notify_all()

    def changes(self, stream, path, version):
        """Yield every change after a version until the connection is cut."""
        with self.changed:
            if not self._is_open:
                return
            self.streams[path].add(stream)
            sent = sum(at <= version for at, _ in self.history[path])
            self.changed.notify_all()
        while True:
            with self.changed:
                while stream in self.streams[path] and len(self.history[path]) <= sent:
                    self.changed.wait()
                if stream not in self.streams[path]:
                    return
                fresh = self.history[path][sent:]
            sent += len(fresh)
            for _, change in fresh:
                yield change

    def page(self, path, limit, token):
        """Return one page; the following ones show the same version."""
        with self.changed:
            if not token:
                self.snapshots[path, self.version] = list(self.objects[path].values())
                token = f"{self.version}:0"
            version, start = (int(number) for number in token.split(":"))
            items = self.snapshots[path, version]
        end = start + limit
        more = {"continue": f"{version}:{end}"} if end < len(items) else {}
        return {"kind": "List", "items": items[start:end], "metadata": {"resourceVersion": str(version), **more}}


class Handler(BaseHTTPRequestHandler):
    """HTTP around the state."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """List or watch."""
        state, parts = self.server.state, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with state.changed:
            state.asked.append((parts.path, query))
            state.changed.notify_all()
        if state.refusals[parts.path]:
            self._answer(*state.refusals[parts.path].popleft())
        elif "watch" in query:
            self._watch(state, parts.path, int(query["resourceVersion"]))
        else:
            if "continue" in query:
                state.pages.wait(10)
            self._answer(200, state.page(parts.path, int(query["limit"]), query.get("continue")))

    def do_POST(self):
        """Take an object; one of a known name is refused."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.server.state
        state.pages.wait(10)
        with state.changed:
            known = [one["metadata"]["name"] for _, one in state.posted]
            state.posted.append((self.path, body))
            state.changed.notify_all()
        if state.refusals[self.path]:
            self._answer(*state.refusals[self.path].popleft())
        elif body["metadata"]["name"] in known:
            self._answer(409, {"message": "already exists"})
        else:
            self._answer(201, body)

    def _watch(self, state, path, version):
        if version < state.oldest:
            self._answer(410, EXPIRED)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            for change in state.changes(self.connection, path, version):
                self._chunk(json.dumps(change).encode() + b"\n" if isinstance(change, dict) else change)

    def _chunk(self, line):
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def _answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments):
        """Stay silent."""
