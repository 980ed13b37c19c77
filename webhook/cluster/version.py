"""The version of the cluster that a pod runs in, asked without the kubernetes client.

The server asks once at start: the client would stay in its memory for good, 46 MB for one small answer.
"""

from __future__ import annotations

import json
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from webhook import names
from webhook.settings import parse_kubernetes_version

ACCOUNT: Final = Path(names.TOKEN_PATH)
ATTEMPTS: Final = 3
TIMEOUT_SECONDS: Final = 3.0


def ask(
    environ: Mapping[str, str], account: Path | None = None, *, pause: Callable[[float], None] = time.sleep
) -> tuple[int, int] | None:
    """Return (major, minor) of the cluster around this pod; None outside of one, without account, or without answer."""
    account = account or ACCOUNT
    host, port = environ.get(names.IN_CLUSTER), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not (account / "token").exists():
        return None
    address = f"https://{f'[{host}]' if ':' in host else host}:{port}/version"
    for attempt in range(ATTEMPTS):
        try:
            return _ask(address, account)
        except (OSError, ValueError):  # OSError: also urllib's and ssl's errors
            if attempt + 1 < ATTEMPTS:
                pause(1.0)
    return None


def _ask(address: str, account: Path) -> tuple[int, int]:
    token = (account / "token").read_text("utf-8").strip()
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 (https)
    context = ssl.create_default_context(cafile=str(account / "ca.crt"))
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=context) as answer:  # noqa: S310
        return parse_kubernetes_version(json.load(answer).get("gitVersion"))
