"""etcd, API server, controllers and scheduler: their flags and when they count as ready.

The node stands in node.py, the certificates in certificates.py.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.cluster import namespaces, processes
from tests.cluster.certificates import INSIDE
from tests.cluster.pins import API_PORT, ETCD_PORT, NODE_ADDRESS, SERVICE_RANGE
from tests.cluster.places import Places

APISERVER: Final = "kube-apiserver"
_ETCD_URL: Final = f"http://127.0.0.1:{ETCD_PORT}"
_PEER_URL: Final = f"http://127.0.0.1:{ETCD_PORT + 1}"


def start(places: Places, binaries: Path) -> None:
    """Start the four; return when the API server is ready."""
    namespaces.start(places, "etcd", [binaries / "etcd", *_etcd(places)])
    server = namespaces.start(places, APISERVER, [binaries / APISERVER, *_apiserver(places.certificates)])
    processes.wait_until("readiness of the API server", lambda: is_ready(places, binaries), 180, server)
    for name, flags in (("kube-controller-manager", _controllers(places)), ("kube-scheduler", _scheduler(places))):
        namespaces.start(places, name, [binaries / name, *flags])


def is_ready(places: Places, binaries: Path) -> bool:
    """Whether the API server answers that it is ready."""
    return ask(places, binaries, "get", "--raw=/readyz").stdout == "ok"


def has_service_account(places: Places, binaries: Path) -> bool:
    """Whether pods can be created in the default namespace: without its service account they are refused."""
    return ask(places, binaries, "get", "serviceaccount", "default").returncode == 0


def ask(places: Places, binaries: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kubectl inside, where it needs no door; a failure is an answer too."""
    command = [*namespaces.inside(places, network_only=True), str(binaries / "kubectl")]
    command += [f"--kubeconfig={places.kubeconfig(INSIDE)}", "--request-timeout=5s", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _etcd(places: Places) -> list[str]:
    return [
        f"--data-dir={places.state / 'etcd'}",
        "--unsafe-no-fsync",  # the data lives as long as the cluster: speed over safety
        "--log-level=warn",
        f"--listen-client-urls={_ETCD_URL}",
        f"--advertise-client-urls={_ETCD_URL}",
        f"--listen-peer-urls={_PEER_URL}",
        f"--initial-advertise-peer-urls={_PEER_URL}",
        f"--initial-cluster=default={_PEER_URL}",
    ]


def _apiserver(folder: Path) -> list[str]:
    return [
        f"--etcd-servers={_ETCD_URL}",
        f"--secure-port={API_PORT}",
        "--bind-address=0.0.0.0",
        f"--advertise-address={NODE_ADDRESS}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--tls-cert-file={folder / 'apiserver.crt'}",
        f"--tls-private-key-file={folder / 'apiserver.key'}",
        f"--kubelet-client-certificate={folder / 'admin.crt'}",
        f"--kubelet-client-key={folder / 'admin.key'}",
        f"--kubelet-certificate-authority={folder / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",  # the node's name resolves nowhere
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={folder / 'tokens.key'}",
        f"--service-account-key-file={folder / 'tokens.pub'}",
        f"--requestheader-client-ca-file={folder / 'front-ca.crt'}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={folder / 'front-proxy.crt'}",
        f"--proxy-client-key-file={folder / 'front-proxy.key'}",
    ]


def _controllers(places: Places) -> list[str]:
    folder = places.certificates
    return [
        f"--kubeconfig={places.kubeconfig('controllers')}",
        f"--service-account-private-key-file={folder / 'tokens.key'}",
        f"--root-ca-file={folder / 'ca.crt'}",
        f"--cluster-signing-cert-file={folder / 'ca.crt'}",
        f"--cluster-signing-key-file={folder / 'ca.key'}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--cert-dir={places.state / 'controllers'}",
        "--horizontal-pod-autoscaler-sync-period=2s",
    ]


def _scheduler(places: Places) -> list[str]:
    return [
        f"--kubeconfig={places.kubeconfig('scheduler')}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--cert-dir={places.state / 'scheduler'}",
    ]
