"""`drainhook observe` as a process of its own, and the lines that it prints. No claim is made here."""

from __future__ import annotations

import contextlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from tests.unit.cluster.apiserver import kubeconfig
from tests.unit.cluster.commandline import drainhook
from tests.unit.observe import objects
from tests.unit.observe.objects import ended, message, running
from webhook import names
from webhook.catalog import load

PODS, EVENTS = "/api/v1/pods", "/api/v1/events"
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
BARE = {"annotations": {}, "uid": "bare", "name": "bare"}
DIGEST = load()[0].profiles["vllm"].digest
PATCHED = {names.STATUS: objects.STATUS.replace("0a1b2c3d", DIGEST)}


class Running:
    """A running command. Its lines come into queues, so that nothing has to be waited for by time alone."""

    def __init__(self, *arguments, folder, server):
        """Start it."""
        config = kubeconfig(folder, server.url)
        command = [sys.executable, "-m", "webhook", "observe", f"--kubeconfig={config}", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out, self.err = queue.Queue(), queue.Queue()
        pipes = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self.readers = [threading.Thread(target=self._read, args=pipe) for pipe in pipes]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        with stream:
            for line in stream:
                lines.put(line.rstrip())

    def line(self):
        """Give the next line of standard output."""
        return self.out.get(timeout=120)

    def note(self, text):
        """Give the next line of standard error that holds a text."""
        while True:
            line = self.err.get(timeout=120)
            if text in line:
                return line

    def end(self, number=signal.SIGTERM):
        """Send a signal and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(120)


@contextlib.contextmanager
def observing(server, folder, *arguments, until=1):
    """Run until the block ends; it begins when every collection is watched so often."""
    running_one = Running(*arguments, folder=folder, server=server)
    try:
        server.wait_for(lambda: all(len(server.watches(path)) >= until for path in (PODS, EVENTS, SLICES)), 120)
        yield running_one
    finally:
        running_one.process.kill()
        running_one.process.wait()
        for reader in running_one.readers:
            reader.join()


def pod(*statuses, **changes):
    """Return a pod that was patched by the profile of this release."""
    return objects.pod(*statuses, **{"annotations": PATCHED, **changes})


def shut_down(server, took=0, code=143, **about):
    """Let a pod end now."""
    asked = int(time.time())
    last = ended(asked + took, code, text=message(), started=asked - 60)
    about = {"grace": 120, **about}
    server.put(PODS, pod(running(started=asked - 60), **about))
    server.put(PODS, pod(running(started=asked - 60), asked=asked, **about))
    server.put(PODS, pod(last, asked=asked, **about))
    server.remove(PODS, pod(last, asked=asked, now=asked + took, **about))


def once(server, folder, *arguments):
    """Run the command to its end, in this process."""
    return drainhook("observe", f"--kubeconfig={kubeconfig(folder, server.url)}", *arguments)


def fetch(port, path):
    """Give status and text of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def free_port():
    """Give a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
