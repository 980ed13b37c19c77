"""A stand-in for kubectl: a cluster of local processes, kept as files in a folder. Used by test_llm_server.py.

NAME.json is a pod as the API server shows it; NAME.deleted asks the test's kubelet to end it, NAME.ended says how it
ended. As on a real cluster, a pod that has ended is gone, unless a finalizer keeps it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path


def main(folder: Path, words: list[str]) -> None:
    """Do what one of the commands of try.py says; refuse every other."""
    match words[2:] if words[:1] == ["--namespace"] else words:
        case ["rollout", "status", *_] | ["wait", *_] | ["delete", "pod", "llm-client", *_]:
            pass
        case ["apply", "-f", "-"]:
            (folder / "applied.json").write_text(json.dumps(json.load(sys.stdin)))
        case ["get", "pods", *_]:
            items = [shown(folder, path.stem) for path in sorted(folder.glob("pod-*.json"))]
            print(json.dumps({"items": items}))
        case ["get", "pod", name, *_]:
            print(json.dumps(shown(folder, name)))
        case ["get", "service", *_]:
            print((folder / "service.json").read_text())
        case ["exec", "-i", "llm-client", "--", "python3", "-", *arguments]:
            os.execv(sys.executable, [sys.executable, "-", *arguments])  # noqa: S606 (no shell is wanted)
        case ["patch", "pod", name, "--type=merge", "--patch", text]:
            pod = shown(folder, name)
            pod["metadata"] |= json.loads(text)["metadata"]
            (folder / f"{name}.json").write_text(json.dumps(pod))
        case ["delete", "pod", name, "--wait=false"]:
            (folder / f"{name}.deleted").touch()
        case ["logs", "--follow", name]:
            follow(folder, name)
        case other:
            sys.exit(f"the stand-in knows no {other}")


def shown(folder: Path, name: str) -> dict:
    """Give a pod with how it ended."""
    pod = json.loads((folder / f"{name}.json").read_text())
    ended = folder / f"{name}.ended"
    if not ended.exists():
        return pod
    if not pod["metadata"].get("finalizers"):
        sys.exit(f'Error from server (NotFound): pods "{name}" not found')
    pod["status"]["containerStatuses"] = [{"state": {"terminated": json.loads(ended.read_text())}}]
    return pod


def follow(folder: Path, name: str) -> None:
    """Print a log until its process has ended."""
    with (folder / f"{name}.log").open() as log:
        while not (folder / f"{name}.ended").exists():
            shutil.copyfileobj(log, sys.stdout)
            time.sleep(0.05)
        shutil.copyfileobj(log, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
