"""Every label, annotation, path, header and port of drainhook, spelled once.

No other module may contain these literals; manifests and docs are compared with this file by a test.
"""

from typing import Final

DOMAIN: Final = "drainhook.dev"

# Labels on the pod template (labels, because selectors can only see labels).
BACKEND: Final = f"{DOMAIN}/backend"
INJECT: Final = f"{DOMAIN}/inject"
INJECT_ENABLED: Final = "enabled"
INJECT_DISABLED: Final = "disabled"
AUTO: Final = "auto"

# Annotations on the pod template; the budget ones and BACKEND also on a Namespace, as defaults.
CONTAINER: Final = f"{DOMAIN}/container"
PORT: Final = f"{DOMAIN}/port"
SETTLE: Final = f"{DOMAIN}/settle-seconds"
DRAIN: Final = f"{DOMAIN}/drain-seconds"
RESERVE: Final = f"{DOMAIN}/reserve-seconds"
GRACE: Final = f"{DOMAIN}/grace-period-seconds"
HOOK: Final = f"{DOMAIN}/hook"
EXISTING_HOOK: Final = f"{DOMAIN}/existing-hook"
READINESS: Final = f"{DOMAIN}/readiness"
NATIVE_DRAIN: Final = f"{DOMAIN}/native-drain"
IMAGE_TOOLS: Final = f"{DOMAIN}/image-tools"
ELASTIC_CONFIG: Final = f"{DOMAIN}/elastic-config"
STATUS: Final = f"{DOMAIN}/status"

# How our own hooks are recognised.
HOOK_NAME: Final = "drainhook"  # $0 of the exec hook
HOOK_HEADER: Final = "X-Drainhook"  # header of the httpGet hook
SIDECAR: Final = "drainhook"  # name of the native sidecar's container
SIDECAR_VOLUME: Final = "drainhook-no-token"  # an empty volume that keeps the service account's token out of it

# Paths and ports of the server.
MUTATE_PATH: Final = "/mutate"
VALIDATE_PATH: Final = "/validate"
HEALTHZ_PATH: Final = "/healthz"
READYZ_PATH: Final = "/readyz"
METRICS_PATH: Final = "/metrics"
SIDECAR_PATH: Final = "/drain"  # what the server's hook calls at the sidecar
LOCAL_HOST: Final = "127.0.0.1"
LOCAL_PORT: Final = 8443
CONTAINER_PORT: Final = 10250
METRICS_PORT: Final = 9090
SIDECAR_PORT: Final = 9390
SYSTEM_NAMESPACE: Final = "drainhook-system"
SERVICE: Final = "drainhook"  # name of the Service
CONFIGURATION: Final = "drainhook"  # name of both webhook configurations
TLS_SECRET: Final = "drainhook-tls"  # noqa: S105 (a name)

# Kubernetes' own keys that decide whether a pod is touched at all.
MIRROR_POD: Final = "kubernetes.io/config.mirror"
OS_LABELS: Final = ("kubernetes.io/os", "beta.kubernetes.io/os")

# Where the API server mounts a service account's token in every container that has no mount there.
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 (a path)

# Set by the kubelet in every pod: this process runs in a cluster.
IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
