"""The demo's words: tables and timelines as text. Prints; decides and measures nothing.

Colour appears only on a terminal (click strips it elsewhere).
"""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

from demo.kubelet import Termination
from demo.load import Fate
from demo.story import Act, Trip
from webhook import names

_LANE_WIDTH = 56
_SCRIPT_LINES = 6
_WIDTH = 118
_BLOCKS = ("- |", "- |-")  # how YAML opens a text of several lines in a list
_HANDLERS = ("exec", "tcpSocket", "grpc")
_COLUMNS = ("backend", "hook", "budget", "probe", "reasons")
_COLOURS = {Fate.COMPLETED: "green", Fate.LOST: "red", Fate.REFUSED: "red"}


def say(text: str = "", *, bold: bool = False) -> None:
    """Print a line or a paragraph."""
    click.secho(text, bold=bold)


def row(backend: str, pod: dict[str, Any]) -> tuple[str, ...]:
    """Give the table row of a patched pod, read from the status annotation that the patch wrote."""
    status = json.loads(pod["metadata"].get("annotations", {}).get(names.STATUS, "{}"))
    if not status:
        return (backend, "-", "-", "-", "left alone")
    budget = status["budget"]
    parts = f"{budget['settle']}+{budget['drain']}+{budget['reserve']}={budget['grace']} s"
    return (backend, str(status["hook"]), parts, _probe(pod, status), ", ".join(status["reasons"]))


def _probe(pod: dict[str, Any], status: dict[str, Any]) -> str:
    container = next(one for one in pod["spec"]["containers"] if one["name"] == status["container"])
    probe = container.get("readinessProbe")
    if probe is None:
        return "none"
    added = any("readinessProbe" in path for path in status["changed"])
    where = probe.get("httpGet")
    shown = f":{where['port']}{where.get('path', '/')}" if where else next(key for key in _HANDLERS if key in probe)
    return shown if added else f"{shown} (yours)"


def table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the rows under their headings; long reasons wrap within their column."""
    *fixed, _ = (max(len(line[n]) for line in (_COLUMNS, *rows)) for n in range(len(_COLUMNS)))
    left = sum(fixed) + 2 * len(fixed)
    room = max(24, shutil.get_terminal_size((120, 24)).columns - left)
    _row(_COLUMNS, fixed, room, bold=True)
    for line in rows:
        _row(line, fixed, room)


def _row(line: tuple[str, ...], widths: Iterable[int], room: int, *, bold: bool = False) -> None:
    first, *rest = textwrap.wrap(line[-1], room) or [""]
    head = "".join(f"{cell:<{width}}  " for cell, width in zip(line, widths, strict=False))
    click.secho(head + first, bold=bold)
    for more in rest:
        click.echo(" " * len(head) + more)


def diff(text: str) -> None:
    """Print a unified diff; of the embedded script only the first lines, since it is long."""
    for line in shortened(text.splitlines()):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(f"  {line}", fg=colour)


def shortened(lines: Sequence[str]) -> list[str]:
    """Cut the drain script to its first lines, saying how many were left out, and lines wider than a screen."""
    narrow = [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines]
    opening = next((n for n, line in enumerate(lines) if line.startswith("+") and line.endswith(_BLOCKS)), None)
    if opening is None:
        return narrow
    start, indent = opening + 1, _indent(lines[opening + 1])
    end = next((n for n in range(start, len(lines)) if _is_over(lines[n], indent)), len(lines))
    cut = end - start - _SCRIPT_LINES
    if cut <= 0:
        return narrow
    note = f"+{' ' * indent}… {cut} more lines of drain_scripts/drain.sh"
    return [*narrow[: start + _SCRIPT_LINES], note, *narrow[end:]]


def _indent(line: str) -> int:
    return len(line) - 1 - len(line[1:].lstrip())


def _is_over(line: str, indent: int) -> bool:
    return bool(line[1:].strip()) and _indent(line) < indent


def act(heading: str, played: Act) -> None:
    """Print what became of each request, as bars over time; the hook's bar is light in settle and dark in drain."""
    end = played.termination
    first = min(trip.sent for trip in played.trips)
    last = max(end.total_seconds, *(trip.ended for trip in played.trips), first + 1)
    click.secho(f"\n{heading}: ", bold=True, nl=False)
    click.secho(played.verdict, bold=True, fg="green" if played.lost_none else "red")
    scale = _LANE_WIDTH / (last - first)
    if end.hook_start is not None:
        settled, ended = (
            round((min(at, end.hook_seconds) - first) * scale) for at in (played.settle, end.hook_seconds)
        )
        zero = round(-first * scale)
        click.secho(f"  preStop    {' ' * zero}{'░' * (settled - zero)}{'▓' * (ended - settled)}", fg="blue")
    for trip in played.trips:
        bar, note = _bar(trip, first, scale), f"{trip.fate}, {trip.tokens} of {played.asked} tokens"
        click.echo(f"  {trip.name:<10} {bar:<{_LANE_WIDTH + 2}} ", nl=False)
        click.secho(note, fg=_COLOURS.get(trip.fate))
    sigterm = f"SIGTERM at {end.sigterm - end.start:.1f} s"
    click.echo(f"  {_hook(end)}; {sigterm}; exit {end.exit_code} at {end.total_seconds:.1f} s")
    if played.record:
        click.echo(f"  the hook's record: {played.record}")


def _hook(end: Termination) -> str:
    if end.hook_start is None:
        return "no hook"
    how = "given up" if end.hook_code is None else "ended by itself"
    return f"hook {how} after {end.hook_seconds:.1f} s"


def _bar(trip: Trip, first: float, scale: float) -> str:
    """Draw `·` for time in the queue, `█` for streaming, and a cross where it was cut."""
    begin = trip.ended if trip.first_token is None else trip.first_token
    before = round((trip.sent - first) * scale)
    queued = round((begin - first) * scale) - before
    streamed = round((trip.ended - first) * scale) - before - queued
    return " " * before + "·" * queued + "█" * streamed + ("" if trip.fate is Fate.COMPLETED else "✗")
