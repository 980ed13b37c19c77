"""`drainhook observe`: how shutdowns went, as rows, JSON lines, metrics and Kubernetes events.

What is joined and judged stands in `webhook.observe`; here it is shown.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from webhook import names
from webhook.cli import connect, options
from webhook.cli.terminal import say

if TYPE_CHECKING:
    from webhook.core.profile import Json
    from webhook.observe.metrics import Metrics
    from webhook.observe.record import Record
    from webhook.observe.watcher import Watcher
    from webhook.observe.writer import Writer

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_LIVE_ROWS: Final = 10
_LIVE_SECONDS: Final = 0.5
_STALE_SECONDS: Final = 30.0


@click.command(epilog="Example: drainhook observe -n llm -o json")
@click.option("-n", "--namespace", metavar="NAME", help="Only this namespace. [default: all of them]")
@click.option("-l", "--selector", metavar="SELECTOR", default="", help="Only pods with these labels, as for kubectl.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--once", is_flag=True, help="Say what can still be known of the past, and end.")
@click.option("--since", metavar="TIME", help="With --once: how far back, like 30m, 6h, 1d. [default: 1h]")
@click.option(
    "--metrics-port", metavar="PORT", type=click.IntRange(1, 65535), is_flag=False, flag_value=names.METRICS_PORT,
    help=f"Serve {names.METRICS_PATH}; without a number on {names.METRICS_PORT}. On every address inside a pod, else "
    "on this machine only.",
)  # fmt: skip
@click.option("--events", is_flag=True, help="Write a Kubernetes event for each bad shutdown; needs a permission.")
@options.folders
@connect.cluster
def observe(**flags: Json) -> None:
    """Watch how pods shut down: how long it took, what was in flight, whether SIGKILL ended it.

    One row or line for each pod that ended and each container that was restarted, until it is interrupted. With --once
    it exits with 1 where requests were probably lost: by SIGKILL, an OOM kill, or a hook that failed.
    """
    since = _since(flags)
    stop = threading.Event()
    if not flags["once"]:  # before the first look: as the first process of a container, SIGTERM would do nothing
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
    session = connect.open_session(flags)
    from webhook.cluster.client import ClusterError  # noqa: PLC0415 (after the session: it may not be installed)
    from webhook.observe.feeds import feeds  # noqa: PLC0415
    from webhook.observe.join import Join  # noqa: PLC0415
    from webhook.observe.watcher import Watcher  # noqa: PLC0415

    catalog = options.load_catalog(flags["directories"])
    digests = {name: profile.digest for name, profile in catalog.profiles.items()}
    asked = feeds(flags["namespace"], flags["selector"])
    watcher = Watcher(session, asked, Join(digests, since), _metrics(flags, digests), _note, stop)
    try:
        watcher.look()
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    view = View(flags["output"] == "json", watcher)
    watcher.say = view.note
    if flags["once"]:
        raise SystemExit(_once(watcher, view, has_all_pods=not flags["selector"]))
    _forever(watcher, view, flags)


def _since(flags: dict[str, Json]) -> float:
    """Return from when on endings are told. Raises click.UsageError."""
    if not flags["once"]:
        if flags["since"] is not None:
            raise click.UsageError("--since goes with --once: a watch begins now")
        return time.time()
    for flag in ("metrics_port", "events"):
        if flags[flag]:
            raise click.UsageError(f"--{flag.replace('_', '-')} does not go with --once")
    found = _SPAN.fullmatch(flags["since"] or "1h")
    if found is None:
        raise click.UsageError(f"--since: {flags['since']!r} is no time like 30m, 6h or 1d")
    return time.time() - int(found[1]) * _UNITS[found[2]]


def _metrics(flags: dict[str, Json], backends: Iterable[str]) -> Metrics | None:
    """Make the metrics where they are served. Raises click.ClickException."""
    if flags["metrics_port"] is None:
        return None
    try:
        from webhook.observe.metrics import Metrics  # noqa: PLC0415 (prometheus-client is an extra)
    except ModuleNotFoundError as error:
        message = f"--metrics-port needs {error.name}; install it with: pip install 'drainhook[serve]'"
        raise click.ClickException(message) from None
    from webhook.cluster.watch import Why  # noqa: PLC0415
    from webhook.observe.feeds import RESOURCES  # noqa: PLC0415

    return Metrics(backends, RESOURCES, map(str, Why))


def _once(watcher: Watcher, view: View, *, has_all_pods: bool) -> int:
    """Show what can still be known, and return the exit code."""
    from webhook.observe import report  # noqa: PLC0415
    from webhook.observe.facts import KILLING, PRESTOP_FAILED  # noqa: PLC0415

    made = watcher.end()
    # With a selector, a pod that is only known by its events may as well be one that was not asked for.
    lost = list(watcher.join.lost()) if has_all_pods else []
    view.show(made)
    for bare in watcher.join.bare.values():
        click.echo(report.bare_line(bare) if view.is_json else report.bare_row(bare))
    for row in [] if view.is_json else view.ending(most=1_000_000):
        click.echo(row)
    for one in lost:
        if view.is_json or one.told_since() != [KILLING]:
            click.echo(report.lost_line(one) if view.is_json else report.lost_row(one))
    if lost:
        _note(f"{len(lost)} pods were stopped in this time and are gone: how they ended cannot be known any more")
    return int(any(map(report.is_bad, made)) or any(PRESTOP_FAILED in one.told_since() for one in lost))


def _forever(watcher: Watcher, view: View, flags: dict[str, Json]) -> None:
    """Watch until SIGINT or SIGTERM, which is the normal end."""
    writer = _begin(watcher, view, flags)
    if watcher.join.bare:
        view.note(f"{len(watcher.join.bare)} unprotected pods; drainhook observe --once lists them")
    watcher.follow()
    view.show([])
    try:
        while not watcher.stop.is_set():
            _pass_on(watcher.step(), view, writer)
    finally:
        _pass_on(watcher.end(), view, writer)
        view.clear()
        if writer is not None:
            writer.end()


def _begin(watcher: Watcher, view: View, flags: dict[str, Json]) -> Writer | None:
    """Open the port of the metrics and start the writer of events, where they are wanted."""
    if watcher.metrics is not None:
        from webhook.observe.page import Page  # noqa: PLC0415 (needs prometheus-client)

        def is_alive() -> bool:
            return time.monotonic() - watcher.last_step < _STALE_SECONDS

        try:
            page = Page(
                watcher.metrics.registry, is_alive, flags["metrics_port"], is_open=names.IN_CLUSTER in os.environ
            )
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)  # its own text repeats the address
            raise click.ClickException(f"--metrics-port {flags['metrics_port']}: {why}") from None
        page.start()
        view.note(f"metrics: port {page.port}, {names.METRICS_PATH}")
    if not flags["events"]:
        return None
    from webhook.observe.writer import Writer  # noqa: PLC0415

    return Writer(watcher.session, watcher.metrics, view.note)


def _pass_on(made: list[Record], view: View, writer: Writer | None) -> None:
    from webhook.observe.report import is_bad  # noqa: PLC0415

    view.show(made)
    if writer is not None:
        for record in filter(is_bad, made):
            writer.write(record)


def _note(line: str) -> None:
    say(f"drainhook: {line}", err=True)


class View:
    """Rows or JSON lines; on a terminal the pods that are ending stand below the rows and are drawn anew."""

    def __init__(self, is_json: bool, watcher: Watcher) -> None:  # noqa: FBT001 (one caller)
        """Show nothing yet."""
        self.is_json = is_json
        self._watcher = watcher
        self._is_live = not is_json and sys.stdout.isatty()
        self._drawn = 0
        self._next = 0.0
        self._has_heading = is_json

    def show(self, made: list[Record]) -> None:
        """Print records, and draw the live part again when it is time."""
        from webhook.observe import report  # noqa: PLC0415

        if made or (self._is_live and time.monotonic() >= self._next):
            self.clear()
        if not self._has_heading:
            self._has_heading = True
            say(click.style(report.heading(), bold=True))
        for record in made:
            say(
                report.json_line(record)
                if self.is_json
                else _coloured(report.row(record), is_bad=report.is_bad(record))
            )
        if self._is_live and not self._drawn:
            self._draw(self.ending(_LIVE_ROWS))

    def note(self, line: str) -> None:
        """Say something on standard error, not into the live part."""
        self.clear()
        _note(line)

    def ending(self, most: int) -> list[str]:
        """Return rows for the pods that are ending now."""
        from webhook.observe.report import ending_rows  # noqa: PLC0415

        join = self._watcher.join
        return ending_rows(join.ending(), join.digests, time.time(), most)

    def clear(self) -> None:
        """Take the live part away."""
        if self._drawn:
            click.echo(f"\x1b[{self._drawn}A\x1b[J", nl=False)
            self._drawn = 0

    def _draw(self, rows: list[str]) -> None:
        self._next = time.monotonic() + _LIVE_SECONDS
        width = shutil.get_terminal_size().columns - 1
        bare = len(self._watcher.join.bare)
        lines = [f"{len(self._watcher.join.pods)} pods, {bare} unprotected", *rows]
        for line in lines:
            say(click.style(line[:width], dim=True))
        self._drawn = len(lines)


def _coloured(row: str, *, is_bad: bool) -> str:
    return click.style(row, fg="red") if is_bad else row
