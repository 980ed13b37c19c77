"""Small manifests for tests of the command line, and the command line as a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEPLOYMENT = """\
# our model
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm   # the only one
spec:
  template:
    metadata:
      labels:
        app: llm
        drainhook.dev/backend: vllm
    spec:
      containers:
        # the engine
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          ports: [{name: http, containerPort: 8000}]
      # spread them
      affinity: {}
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: llm}
spec:
  ports: [{port: 80}]
"""

PROGRAM = [sys.executable, "-m", "webhook"]


ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


def program(*argv: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [*PROGRAM, *argv], cwd=cwd, input=stdin, capture_output=True, check=False, env=ENVIRONMENT, timeout=60
    )
