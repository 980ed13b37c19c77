"""Draws acts as one SVG: a lane per request, a lane for the hook, and lines for SIGTERM and exit.

Plain SVG with classes only, readable in light and dark. Values in, text out; no file is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from demo.load import Fate
from demo.story import Act, Trip

_WIDTH = 1000
_LEFT = 110
_RIGHT = 190
_LANE = 24
_BAR = 12
_TOP = 86  # title, legend
_HEAD = 46  # a panel's own heading
_FOOT = 54  # a panel's axis
_STYLE = """
.bg{fill:#ffffff} .t{fill:#1f2328;font:13px system-ui,-apple-system,Segoe UI,Roboto,sans-serif}
.h{font-weight:600;font-size:15px} .big{font-weight:600;font-size:19px} .s{fill:#59636e;font-size:12px}
.mono{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.grid{stroke:#d1d9e0;stroke-width:1} .queued{fill:#c8d1da} .stream{fill:#2da44e}
.settle{fill:#54aeff} .drain{fill:#0969da} .event{stroke:#8250df;stroke-width:1.5;stroke-dasharray:4 3}
.ev{fill:#8250df;font-size:12px} .good{fill:#1a7f37} .bad{fill:#cf222e} .x{stroke:#cf222e;stroke-width:2.5}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117} .t{fill:#e6edf3} .s{fill:#9198a1} .grid{stroke:#30363d} .queued{fill:#4a525c}
.stream{fill:#3fb950} .settle{fill:#79c0ff} .drain{fill:#1f6feb} .event{stroke:#d2a8ff}
.ev{fill:#d2a8ff} .good{fill:#3fb950} .bad{fill:#f85149} .x{stroke:#f85149}}
"""
_LEGEND = (
    ("queued", "waits in the engine's queue"),
    ("stream", "streams tokens"),
    ("settle", "hook: settle"),
    ("drain", "hook: drain"),
)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Seconds to pixels, the same for all panels."""

    first: float
    last: float

    def x(self, seconds: float) -> float:
        clipped = min(max(seconds, self.first), self.last)
        return round(_LEFT + (clipped - self.first) / (self.last - self.first) * (_WIDTH - _LEFT - _RIGHT), 1)


def draw(title: str, panels: Sequence[tuple[str, Act]]) -> str:
    """Draw one panel below the other, on a common axis of seconds since the termination began."""
    axis = _axis([act for _, act in panels])
    y, body = _TOP, []
    for heading, act in panels:
        body += _panel(axis, y, heading, act)
        y += _panel_height(act)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" role="img">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>",
            f'<rect class="bg" width="{_WIDTH}" height="{y}"/>',
            _text(24, 36, title, "big"),
            _text(_WIDTH - 24, 36, "time since the kubelet began to end the pod", "s", "end"),
            *_legend(),
            *body,
            "</svg>\n",
        ]
    )


def _axis(acts: Sequence[Act]) -> _Axis:
    first = min(trip.sent for act in acts for trip in act.trips)
    ends = [trip.ended for act in acts for trip in act.trips]
    return _Axis(first - 0.1, max(*ends, *(act.termination.total_seconds for act in acts)) + 0.1)


def _panel_height(act: Act) -> int:
    return _HEAD + _LANE * (len(act.trips) + 1) + _FOOT


def _panel(axis: _Axis, y: int, heading: str, act: Act) -> list[str]:
    lanes = y + _HEAD
    bottom = lanes + _LANE * (len(act.trips) + 1)
    parts = [_text(24, y + 24, heading, "h")]
    parts.append(_text(_WIDTH - 24, y + 24, act.verdict, "h good" if act.lost_none else "h bad", "end"))
    parts += _grid(axis, lanes, bottom)
    parts += _hook(axis, lanes, act)
    for row, trip in enumerate(act.trips, 1):
        parts += _lane(axis, lanes + row * _LANE, trip, act.asked)
    return parts + _events(axis, lanes, bottom, act)


def _grid(axis: _Axis, top: int, bottom: int) -> list[str]:
    step = next(step for step in (1, 2, 5, 10, 20, 60, 300) if (axis.last - axis.first) / step <= 16)  # noqa: PLR2004  # ticks that fit
    ticks = range(-int(-axis.first // step) * step, int(axis.last) + 1, step)
    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{axis.x(tick)}" x2="{axis.x(tick)}" y1="{top}" y2="{bottom}"/>')
        parts.append(_text(axis.x(tick), bottom + 32, f"{tick} s", "s", "middle"))
    return parts


def _hook(axis: _Axis, y: int, act: Act) -> list[str]:
    end = act.termination
    parts = [_text(24, y + 16, "preStop", "t")]
    if end.hook_start is None:
        return [*parts, _text(axis.x(0) + 6, y + 16, "no hook", "s")]
    settled = min(float(act.settle), end.hook_seconds)
    parts.append(_bar(axis, y, 0, settled, "settle"))
    parts.append(_bar(axis, y, settled, end.hook_seconds, "drain"))
    return [*parts, _text(_WIDTH - _RIGHT + 10, y + 16, f"hook {end.hook_seconds:.1f} s", "s")]


def _lane(axis: _Axis, y: int, trip: Trip, asked: int) -> list[str]:
    parts = [_text(24, y + 16, trip.name, "t")]
    first = trip.ended if trip.first_token is None else trip.first_token
    parts.append(_bar(axis, y, trip.sent, first, "queued"))
    parts.append(_bar(axis, y, first, trip.ended, "stream"))
    if trip.fate is not Fate.COMPLETED:
        parts.append(_cross(axis.x(trip.ended), y + _LANE // 2))
    note, style = {
        Fate.COMPLETED: (f"{trip.tokens} of {asked} tokens", "s"),
        Fate.REFUSED: ("refused", "bad"),
    }.get(trip.fate, (f"{trip.fate}, {trip.tokens} of {asked} tokens", "bad"))
    return [*parts, _text(_WIDTH - _RIGHT + 10, y + 16, note, f"mono {style}")]


def _events(axis: _Axis, top: int, bottom: int, act: Act) -> list[str]:
    end = act.termination
    sigterm, gone = end.sigterm - end.start, end.total_seconds
    near = axis.x(gone) - axis.x(sigterm) < 90  # noqa: PLR2004  # labels would overlap
    marks = [(sigterm, f"SIGTERM, exit {end.exit_code}" if near else "SIGTERM")]
    marks += [] if near else [(gone, f"exit {end.exit_code}")]
    parts = []
    for seconds, label in marks:
        x = axis.x(seconds)
        parts.append(f'<line class="event" x1="{x}" x2="{x}" y1="{top - 4}" y2="{bottom + 6}"/>')
        parts.append(_text(x, bottom + 18, label, "ev", "middle"))
    return parts


def _legend() -> list[str]:
    parts, x = [], 24
    for style, label in _LEGEND:
        parts.append(f'<rect class="{style}" x="{x}" y="53" width="12" height="12" rx="3"/>')
        parts.append(_text(x + 18, 64, label, "s"))
        x += 36 + 7 * len(label)
    return [*parts, _cross(x + 6, 59), _text(x + 18, 64, "cut or refused", "s")]


def _bar(axis: _Axis, y: int, start: float, end: float, style: str) -> str:
    width = max(0.0, round(axis.x(end) - axis.x(start), 1))
    top = y + (_LANE - _BAR) // 2
    return f'<rect class="{style}" x="{axis.x(start)}" y="{top}" width="{width}" height="{_BAR}" rx="2"/>'


def _cross(x: float, y: int) -> str:
    return f'<path class="x" d="M{x - 5} {y - 5}L{x + 5} {y + 5}M{x - 5} {y + 5}L{x + 5} {y - 5}"/>'


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return f'<text class="t {style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
