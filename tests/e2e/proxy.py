"""nginx in front of a story's Service, with kept connections to its pods: the third client of each story."""

from __future__ import annotations

from typing import Final

from tests.cluster import recipes
from tests.cluster.cluster import Cluster
from tests.cluster.objects import container, deployment, service
from tests.e2e.workload import address_of, wait_ready

NAME: Final = "proxy"
# A connection is used again for any request; one that the server has closed is dropped. A request that was sent is
# never sent again (POST), as nginx does by default. The header tells whether a failed request had reached a server.
_CONFIGURATION: Final = """\
worker_processes 1;
pid /tmp/nginx.pid;
error_log /dev/stderr warn;
events { worker_connections 256; }
http {
  access_log off;
  upstream app { server SERVICE:80; keepalive 16; }
  server {
    listen 8080;
    add_header X-Upstream-Connect $upstream_connect_time always;
    location = /ready { return 200; }
    location / {
      proxy_pass http://app;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
"""


def create(cluster: Cluster, namespace: str, target: str) -> None:
    """Create the proxy of a Service; `target` is that Service's address, since the cluster has no DNS."""
    text = _CONFIGURATION.replace("SERVICE", target)
    metadata = {"name": NAME, "namespace": namespace}
    mounts = [{"name": "configuration", "mountPath": "/etc/nginx/nginx.conf", "subPath": "nginx.conf"}]
    share = {"requests": {"cpu": "100m"}}  # else the servers' pods leave it none
    made = deployment(NAME, namespace, [container(recipes.NGINX, 8080, "/ready", volumeMounts=mounts, resources=share)])
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "configuration", "configMap": {"name": NAME}}]
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"nginx.conf": text}}
    cluster.apply(configuration, made, service(NAME, namespace))


def wait(cluster: Cluster, namespace: str) -> str:
    """Return the proxy's address when it passes requests on."""
    wait_ready(cluster, namespace, NAME)
    address = address_of(cluster, namespace, NAME)
    cluster.wait_for(f"http://{address}/ready")
    return address
