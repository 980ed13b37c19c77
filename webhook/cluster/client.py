"""A session with an API server: paths and JSON in, JSON out.

The kubernetes client finds server, certificates and login; its typed models are never used, since a round trip through
them drops the fields that they do not know. What is asked of the API server is decided elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from webhook import __version__, names
from webhook.core.profile import Json
from webhook.settings import parse_kubernetes_version

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
PAGE: Final = 500  # objects per answer of a list
NOT_FOUND: Final = 404
FORBIDDEN: Final = 403
CONFLICT: Final = 409
_NAMESPACE_FILE: Final = Path(names.TOKEN_PATH, "namespace")
_WARNING: Final = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


class ClusterError(Exception):
    """The API server refused or did not answer; the message is a plain sentence, `status` its HTTP code or 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        """Keep the code beside the sentence."""
        super().__init__(message)
        self.status = status


class Session:
    """One API server. `namespace` is that of the kubeconfig's context; `warnings` collects what the server said."""

    def __init__(self, configuration: Any, namespace: str = "default") -> None:
        """Prepare connections by a configuration of the kubernetes client; nothing is sent yet."""
        from kubernetes.client import ApiClient  # noqa: PLC0415 (0.4 s; only commands that talk to a cluster pay)

        self._configuration = configuration
        self._pool = ApiClient(configuration).rest_client.pool_manager
        self.namespace = namespace
        self.warnings: list[str] = []

    def get(self, path: str, **query: str) -> Json:
        """Read an object, or any JSON page. Raises ClusterError."""
        return self._request("GET", path, query)

    def post(self, path: str, body: Json, **query: str) -> Json:
        """Create an object in a collection. Raises ClusterError."""
        return self._request("POST", path, query, body)

    def put(self, path: str, body: Json, **query: str) -> Json:
        """Replace an object; its resourceVersion must be the current one. Raises ClusterError."""
        return self._request("PUT", path, query, body)

    def patch(self, path: str, operations: list[Json], **query: str) -> Json:
        """Apply a JSON patch. Raises ClusterError."""
        return self._request("PATCH", path, query, operations, "application/json-patch+json")

    def items(self, path: str) -> list[Json]:
        """Read all objects of a collection, page by page. Raises ClusterError."""
        found: list[Json] = []
        token = ""
        while True:
            page = self.get(path, limit=str(PAGE), **({"continue": token} if token else {}))
            found += page.get("items") or []
            token = page["metadata"].get("continue") or ""
            if not token:
                return found

    def version(self) -> tuple[int, int]:
        """Ask the API server for its version. Raises ClusterError."""
        try:
            return parse_kubernetes_version(self.get("/version").get("gitVersion"))
        except ValueError as error:
            raise ClusterError(f"/version: {error}") from None

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: Json = None, kind: str = "application/json"
    ) -> Json:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 (comes with the kubernetes client)

        headers = {"Accept": "application/json", "Content-Type": kind, "User-Agent": f"drainhook/{__version__}"}
        for login in self._configuration.auth_settings().values():
            headers[login["key"]] = login["value"]
        url = f"{self._configuration.host}{path}{'?' if query else ''}{urlencode(query)}"
        text = None if body is None else json.dumps(body)
        timeout = _timeout()
        try:
            answer = self._pool.request(method, url, body=text, headers=headers, timeout=timeout, retries=False)
        except HTTPError as error:
            raise ClusterError(f"The API server at {self._configuration.host} does not answer: {_why(error)}") from None
        self.warnings += [_unquoted(text) for text in _WARNING.findall(", ".join(answer.headers.getlist("Warning")))]
        return _decoded(answer.status, answer.data)


def connect(kubeconfig: str | None = None, context: str | None = None) -> Session:
    """Open a session as kubectl would: by the kubeconfig that is given or the default one, else by a pod's account.

    Raises ClusterError; ModuleNotFoundError where the kubernetes client is not installed.
    """
    from kubernetes import config  # noqa: PLC0415 (as in Session)
    from kubernetes.client import Configuration  # noqa: PLC0415
    from yaml import YAMLError  # noqa: PLC0415

    chosen = Configuration()
    try:
        if kubeconfig is None and context is None and not _has_default(config.KUBE_CONFIG_DEFAULT_LOCATION):
            config.load_incluster_config(client_configuration=chosen)  # type: ignore[no-untyped-call]  # no stubs
            return Session(chosen, _NAMESPACE_FILE.read_text().strip())
        config.load_kube_config(kubeconfig, context, chosen)  # type: ignore[no-untyped-call]  # no stubs
        contexts, current = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]  # no stubs
    except (config.ConfigException, YAMLError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The loaders raise what the YAML parser or a login plugin met, and stumble over parts of another type.
        raise ClusterError(f"No cluster to talk to: {_why(error)}") from None
    named = next((item for item in contexts if item["name"] == context), current)
    return Session(chosen, named["context"].get("namespace") or "default")


def _has_default(places: str) -> bool:
    try:
        return any(Path(place).expanduser().exists() for place in places.split(":") if place)
    except RuntimeError:  # a user without a home, as in our own image
        return False


def _timeout() -> Any:
    from urllib3 import Timeout  # noqa: PLC0415

    return Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)


def _why(error: BaseException) -> str:
    """Return an error's text as one line; urllib3 puts the connection object in front of its reason."""
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"^<[^>]*>: |^HTTPS?Connection(Pool)?\([^)]*\): ", "", text).rstrip(".") + "."


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _decoded(status: int, data: bytes) -> Json:
    """Return the body of an answer; raise what the server says where it refuses."""
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if not 200 <= status < 300:  # noqa: PLR2004 (HTTP: success)
        message = body.get("message") if isinstance(body, dict) else None
        raise ClusterError(message or f"the API server answered {status}.", status)
    if not isinstance(body, dict):
        raise ClusterError("the API server answered something that is no JSON object.", status)
    return body
