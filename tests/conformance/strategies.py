"""Random pods: sound ones with everything a user could write, and broken ones. Nothing is asserted here."""

from __future__ import annotations

import copy

from hypothesis import strategies as st

from webhook import names
from webhook.catalog import load

SECRET = "s3cr3t-value"
CATALOG = load()[0]

junk = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def some(*items):
    return st.sampled_from(items)


def mapping(required=None, **optional):
    return st.fixed_dictionaries(required or {}, optional=optional)


ENGINES = some(
    ("vllm", "vllm/vllm-openai:v0.32.0", []),
    ("vllm", "team/own:1", ["vllm", "serve", "m"]),
    ("sglang", "lmsysorg/sglang:v0.5.23", ["python3", "-m", "sglang.launch_server"]),
    ("tgi", "ghcr.io/huggingface/text-generation-inference:3.3.7", []),
    ("tei", "team/own:1", ["text-embeddings-router"]),
    ("llamacpp", "ghcr.io/ggml-org/llama.cpp:server", []),
    ("ollama", "ollama/ollama:0.33.0", []),
    ("triton", "nvcr.io/nvidia/tritonserver:26.07-py3", ["tritonserver"]),
    ("infinity", "michaelf34/infinity:0.0.78", []),
    ("openvino", "openvino/model_server:2026.3", []),
    ("fastapi", "team/own:1", ["uvicorn", "a:a", "--host=::", "--port=8000"]),
)
IMAGES = some("vllm/vllm-openai", "lmsysorg/sglang", "docker.io/istio/proxyv2:1", "nginx", "h:5000/own@sha256:0", "")
FLAGS = [
    *("--port", "--port=9000", "8000", "0", "70000", "$(PORT)", "${PORT}", "--host", "127.0.0.1", "--host=localhost"),
    *("--uds", "/run/x.sock", "--metrics", "--enable-metrics", "--ssl-keyfile", "--api-prefix=/llm", "$PREFIX"),
    *("--config", "c.yaml", "--api-server-count=2", "--shutdown-timeout", "60", "--disable-log-stats", "$ARGS"),
    *(f"--api-key={SECRET}", "--api-key", SECRET, "é", "'", '"', "a\nb", "&&", ";"),
]
PROGRAMS = ["vllm", "serve", "python3", "-m", "llama-server", "ollama", "uvicorn", "--headless", "sh", "-c", "x.sh"]
SCRIPTS = some(
    *("exec vllm serve m --port 9000", "vllm serve m --port ${PORT:-9000} & wait", "llama-server --api-key " + SECRET),
    *("export PORT=1; exec vllm serve m --port $PORT", "sleep 1 && exec ollama serve", "echo 'unclosed", ""),
)
flags = st.lists(st.sampled_from(FLAGS), max_size=5)
words = st.lists(st.sampled_from(FLAGS + PROGRAMS), max_size=5)
shells = st.builds(lambda shell, script: [shell, "-c", script], some("sh", "/bin/bash"), SCRIPTS)
variables = st.lists(
    st.builds(
        lambda name, value: {"name": name, "value": value},
        some("PORT", "OLLAMA_HOST", "LLAMA_ARG_PORT", "LLAMA_ARG_HOST", "MLSERVER_HTTP_PORT", "OTHER"),
        some("9000", "[::]:11500", "1", "", "true", "$(OTHER)", "/llm", "127.0.0.1"),
    )
    | st.builds(
        lambda name: {"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        some("PORT", "LLAMA_API_KEY", "LLAMA_ARG_API_PREFIX", "HF_TOKEN"),
    )
    | st.builds(lambda name: {"name": name, "value": SECRET}, some("VLLM_API_KEY", "HF_TOKEN", "API_KEY")),
    max_size=4,
)
ports = st.lists(
    mapping(
        {"containerPort": some(80, 8000, 8001, 9000, 11434)}, name=some("http", "grpc"), protocol=some("TCP", "UDP")
    ),
    max_size=3,
    unique_by=lambda port: port["containerPort"],
)
OURS = ["sh", "-c", "echo old", names.HOOK_NAME, "settle=1", "drain=2", "ports=1"]
USERS = ["/bin/deregister", SECRET]
handlers = some(
    *({"exec": {"command": command}} for command in (USERS, ["sleep", "45"], ["sh", "-c", "sleep 5m"], OURS)),
    *({"exec": {"command": [*OURS, *more]}} for more in (["--", *USERS], ["chain=http://127.0.0.1:1/"])),
    *({"sleep": {"seconds": seconds}} for seconds in (0, 20, 105)),
    {"tcpSocket": {"port": 8000}},
    *({"httpGet": {"path": "stop", "port": port}} for port in (8000, "http")),
    {"httpGet": {"path": "/", "port": 8000, "httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
    {"httpGet": {"path": "/", "port": 8000, "httpHeaders": [{"name": names.HOOK_HEADER, "value": "0"}]}},
    {"httpGet": {"path": "/drain", "port": 9390, "httpHeaders": [{"name": names.HOOK_HEADER, "value": "0"}]}},
    {"future": {"x": 1}},
    None,
    {},
)
probes = some(
    *(None, {}, {"exec": {"command": ["true"]}}, {"tcpSocket": {"port": "http"}}),
    {"httpGet": {"path": "/health", "port": 8000}, "timeoutSeconds": 1, "terminationGracePeriodSeconds": 5},
)
containers = mapping(
    {"name": st.just("x"), "image": IMAGES},
    command=st.none() | words | shells,
    args=st.none() | words | SCRIPTS.map(lambda script: [script]),
    env=st.none() | variables,
    envFrom=st.just([{"configMapRef": {"name": "c"}}]),
    ports=st.none() | ports,
    lifecycle=st.none() | mapping(preStop=handlers, postStart=handlers, stopSignal=st.just("SIGUSR1")),
    readinessProbe=probes,
    livenessProbe=probes,
    terminationMessagePath=some("/dev/termination-log", "/last-words"),
    futureField=junk,
)
SECONDS = some("0", "1", "5", "60", "300", "3600", "86400", "-1", "5m", "1.5", "", " 5", "9" * 40, "$(x)")
annotations = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys((names.SETTLE, names.DRAIN, names.RESERVE, names.GRACE), SECONDS),
        names.HOOK: some("auto", "exec", "http", "sidecar", "sleep", "none", "x"),
        names.EXISTING_HOOK: some("keep", "chain", "chain", "replace", "x"),
        names.READINESS: some("auto", "none", "x"),
        names.NATIVE_DRAIN: some("enabled", "disabled", "x"),
        names.IMAGE_TOOLS: some("none", "none", "sh,curl", "sh;x"),
        names.CONTAINER: some("c0", "c1", "x"),
        names.PORT: some("8000", "http", "0", "99999", "x", "000001234567"),
        names.STATUS: some("{}", "x", '{"changed":5,"reasons":[]}', '{"changed":[],"reasons":["hook_replaced"]}'),
        "example.com/a~b": st.text(max_size=4),
        f"{names.DOMAIN}/typo": st.just("1"),
        "sidecar.istio.io/inject": st.just("true"),
    },
)
wishes = some(
    *({names.EXISTING_HOOK: wish} for wish in ("chain", "replace")),
    *({names.EXISTING_HOOK: "chain", names.IMAGE_TOOLS: "none"}, {names.IMAGE_TOOLS: "none"}, {names.HOOK: "none"}),
    *(
        {names.NATIVE_DRAIN: "enabled"},
        {names.HOOK: "http"},
        {names.HOOK: "sidecar"},
        {names.HOOK: "sleep", names.EXISTING_HOOK: "replace"},
    ),
)
OUR_SIDECAR = {"name": names.SIDECAR, "image": "old", "restartPolicy": "Always", "args": ["drain", "settle=1"]}
AMONG_OTHERS = [{"name": "i", "restartPolicy": "Always"}, OUR_SIDECAR | {"volumeMounts": []}, {"name": "w"}]
inits = some(
    *(None, [], [OUR_SIDECAR], AMONG_OTHERS, [{"name": names.SIDECAR, "image": "theirs"}]),
    [{"name": "i", "image": "istio/proxyv2", "restartPolicy": "Always"}],
)
volumes = some(
    *(None, [], [{"name": "v", "emptyDir": {}}], [{"name": names.SIDECAR_VOLUME, "emptyDir": {}}]),
    [{"name": names.SIDECAR_VOLUME, "downwardAPI": {"defaultMode": 420}}, {"name": "v", "emptyDir": {}}],
)
backends = st.sampled_from([*CATALOG.profiles, names.AUTO, "nobody"])
specs = mapping(
    terminationGracePeriodSeconds=some(None, 0, 1, 30, 60, 120, 600, 3600, 10**6),
    hostNetwork=st.booleans(),
    hostPID=st.booleans(),
    shareProcessNamespace=st.booleans(),
    initContainers=inits,
    volumes=volumes,
    securityContext=some(None, {}, {"runAsUser": 0}, {"runAsUser": 1000}),
    resources=some(None, {"limits": {"cpu": "8"}}),
    nodeSelector=some(None, {}, {"kubernetes.io/os": "linux"}),
    futureField=junk,
)


@st.composite
def pods(draw):
    """Return a pod that the API server could hold, labelled for some backend; most hold what their label says."""
    items = draw(st.lists(containers, min_size=1, max_size=3))
    marks = {names.BACKEND: draw(backends)}
    if draw(st.integers(0, 7)):
        backend, image, start = draw(ENGINES)
        items[0]["image"], items[0]["command" if start else "args"] = image, [*start, *draw(flags)]
        items[0].pop("args" if start else "command", None)
        marks = {names.BACKEND: draw(some(backend, backend, names.AUTO))}
    elif draw(st.booleans()):
        marks[names.INJECT] = draw(some("enabled", "disabled", "false"))
    for index, item in enumerate(items):
        item["name"] = f"c{index}"
    if draw(st.booleans()):
        items[0]["lifecycle"] = {**(items[0].get("lifecycle") or {}), "preStop": draw(handlers)}
    metadata = {"generateName": "llm-", "labels": marks, "annotations": draw(st.none() | annotations)}
    if draw(st.booleans()):
        metadata["annotations"] = {**(metadata["annotations"] or {}), **draw(wishes)}
    spec = {"containers": items, **draw(specs)}
    if not draw(st.integers(0, 5)):  # what a sidecar needs: one server with a port that is written down, no mesh
        items[0]["args"] = ["--port=8000"]
        metadata["annotations"] = {names.HOOK: "sidecar"}
        spec |= {
            "containers": items[:1],
            "hostNetwork": False,
            "initContainers": draw(some(None, AMONG_OTHERS[:1], [OUR_SIDECAR], AMONG_OTHERS)),
        }
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "futureField": draw(junk)}
    return copy.deepcopy(document)


@st.composite
def broken(draw):
    """Return a pod with junk somewhere in it, as no API server would send one."""
    document = draw(pods())
    node = document
    for _ in range(draw(st.integers(1, 7))):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not draw(st.integers(0, 4)):
            node[key] = draw(junk)
            break
        node = node[key]
    return document


def _nested(place, item):
    group, kind, path = place
    for key in reversed(path):
        item = {key: item}
    return {"apiVersion": f"{group}/v1", "kind": kind, **item}


objects = st.one_of(
    junk,
    broken(),
    broken().map(lambda item: {"kind": "List", "items": [item, None, 1]}),
    st.builds(
        _nested,
        some(
            ("apps", "Deployment", ("spec", "template")),
            ("example.com", "Unknown", ("spec", "any", "template")),
            ("serving.knative.dev", "Service", ("spec", "template")),
            ("serving.kserve.io", "InferenceService", ("spec", "predictor")),
            ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("spec", "leaderWorkerTemplate", "workerTemplate")),
        ),
        junk | broken(),
    ),
)
versions = some(None, (1, 28), (1, 30), (1, 37))
