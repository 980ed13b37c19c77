"""An application whose module takes its time: it waits for the gate while the server imports it."""

from __future__ import annotations

import time

from tests.drainable.apps import is_open, reached, starlette

reached()
while not is_open():
    time.sleep(0.02)

app = starlette
