"""`python -m demo`: tells the story from admission to the last token. `--engine-only` leaves the table and diff out.

Exit code 1 and a sentence when the promise did not hold in this run, 2 when a part could not be started.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

from demo import report
from demo.engine import Engine, EngineError, Options
from demo.kubelet import Hook
from demo.model import build
from demo.reviews import GRACE_DEFAULT, Webhook, WebhookError, pods
from demo.story import Act, Load, localise, play, tokens_for
from demo.timeline import draw
from webhook import names

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "manifests" / "samples"
BUILD = ROOT / "build" / "demo"
ENGINE_SAMPLE = SAMPLES / "llamacpp.yaml"
RECORD = BUILD / "hook-record"


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--engine-only", action="store_true", help="show only how the real engine ends")
    arguments = parser.parse_args()
    started = time.monotonic()
    try:
        with Webhook(BUILD) as webhook:
            if not arguments.engine_only:
                _show_decisions(webhook)
                _show_diff()
            without, with_hook = _show_engine(webhook)
    except (EngineError, WebhookError) as error:
        print(f"demo: {error}", file=sys.stderr)  # noqa: T201  # the one line of an error
        return 2
    _write_results(without, with_hook)
    report.say(f"\nThe whole demo took {time.monotonic() - started:.0f} s.")
    return _judge(without, with_hook)


def _show_decisions(webhook: Webhook) -> None:
    where = f"https://{names.LOCAL_HOST}:{webhook.port}{names.MUTATE_PATH}"
    report.say(f"A real AdmissionReview over TLS for the pod of each sample in {SAMPLES.relative_to(ROOT)}/", bold=True)
    report.say(f"  drainhook serve answers on {where}, with a CA made in memory\n")
    rows, warnings = [], []
    for manifest in sorted(SAMPLES.glob("*.yaml")):
        for pod in pods(manifest):
            patched, said = webhook.mutate(pod)
            rows.append(report.row(pod["metadata"].get("labels", {}).get(names.BACKEND, manifest.stem), patched))
            warnings += [f"  {manifest.name}: {warning.removeprefix('drainhook: ')}" for warning in said]
    report.table(rows)
    report.say("\n".join(["", "  budget = settle + drain + reserve = grace", *warnings]))


def _show_diff() -> None:
    arguments = ["patch", "-f", str(ENGINE_SAMPLE.relative_to(ROOT)), "-o", "diff"]
    report.say(f"\nThe same decision offline: drainhook {' '.join(arguments)}\n", bold=True)
    command = [sys.executable, "-m", "webhook", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WebhookError(f"drainhook patch failed: {done.stderr.strip()}")
    report.diff(done.stdout)


def _show_engine(webhook: Webhook) -> tuple[Act, Act]:
    report.say("\nA real llama.cpp server, ended twice as a kubelet would, while it streams", bold=True)
    model, load, options = build(BUILD / "model.gguf"), Load(), Options(key=token_hex(16))
    with Engine(model, BUILD / "engine.log", options) as engine:
        asked = tokens_for(engine, load)
        work = f"{load.at_once} requests of {asked} tokens on {options.slots} slots"
        report.say(f"  {work}, and {len(load.late_seconds)} more while the pod ends")
        without = play(engine, load, asked, None, GRACE_DEFAULT)
    report.act(f"Without the hook (grace {GRACE_DEFAULT} s)", without)
    with Engine(model, BUILD / "engine.log", options) as engine:
        pod = _admitted(webhook, engine.port)
        grace = pod["spec"]["terminationGracePeriodSeconds"]
        with_hook = play(engine, load, asked, _hook(pod, options.key), grace)
    with_hook = with_hook.with_record(RECORD.read_text().strip())
    report.act(f"With the hook of the patch (grace {grace} s)", with_hook)
    return without, with_hook


def _admitted(webhook: Webhook, port: int) -> dict[str, Any]:
    """Admit the sample's pod, told to listen where this run's engine does, so that the port is really discovered."""
    pod = next(pods(ENGINE_SAMPLE))
    container = pod["spec"]["containers"][0]
    container["args"] = _with_port(container.get("args", []), port)
    for declared in container.get("ports", []):
        declared["containerPort"] = port
    patched, _ = webhook.mutate(pod)
    return patched


def _with_port(args: list[str], port: int) -> list[str]:
    if "--port" not in args:
        return [*args, "--port", str(port)]
    at = args.index("--port") + 1
    return [*args[:at], str(port), *args[at + 1 :]]


def _hook(pod: dict[str, Any], key: str) -> Hook:
    """Take the hook out of the admitted pod; `key` is what the Secrets of its environment hold."""
    container = pod["spec"]["containers"][0]
    try:
        command = container["lifecycle"]["preStop"]["exec"]["command"]
    except KeyError:
        raise WebhookError("the webhook gave the llama.cpp pod no exec hook") from None
    environment = {one["name"]: one.get("value", key) for one in container.get("env", [])}
    log = BUILD / "hook.log"
    for file in (log, RECORD):
        file.write_text("")
    return Hook(localise(command, log, RECORD), environment)


def _write_results(without: Act, with_hook: Act) -> None:
    panels = [("Without the hook (SIGTERM at once)", without), ("With the hook of the patch", with_hook)]
    picture, result = BUILD / "timeline.svg", BUILD / "result.json"
    picture.write_text(draw("A pod of a llama.cpp server ends under load", panels))
    figures = {"with_hook": with_hook.summary(), "without_hook": without.summary()}
    result.write_text(json.dumps(figures, indent=2) + "\n")
    report.say(f"\nWritten: {picture.relative_to(ROOT)}, {result.relative_to(ROOT)}")


def _judge(without: Act, with_hook: Act) -> int:
    """Say whether the promise held in this run, and return the exit code."""
    if with_hook.lost_none and not without.lost_none:
        report.say(f"With the hook: {with_hook.verdict}. Without it: {without.verdict}.", bold=True)
        return 0
    if not with_hook.lost_none:
        report.say(f"The promise did NOT hold: with the hook {with_hook.verdict}.", bold=True)
    else:
        report.say("This run proves nothing: nothing was lost without the hook either.", bold=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
