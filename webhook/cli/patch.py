"""`drainhook patch`: what the webhook would make of manifests, offline, in the user's own text.

The decision is `webhook.core.admission.decide`, the same that the server calls. Options and output live here.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from webhook.cli import options

if TYPE_CHECKING:
    from webhook.cli.inputs import Input
    from webhook.cli.offline import Settings
    from webhook.cli.patching import Patched
    from webhook.core.profile import Json

FORMATS = ("yaml", "json", "diff", "patch", "explain")


@click.command(epilog="Example: helm template my-release ./chart | drainhook patch -f - | kubectl apply -f -")
@options.inputs
@click.option("-o", "--output", type=click.Choice(FORMATS), help="What is printed. [default: yaml]")
@click.option("-i", "--in-place", is_flag=True, help="Write the files back, each whole or not at all; print nothing.")
@click.option("--check", is_flag=True, help="Exit 1 if anything would change; print nothing unless -o is given.")
@click.option("--backend", metavar="NAME", help="Also label, and patch, pod templates that have no backend label.")
@click.option("--selector", metavar="KEY=VALUE,...", help="With --backend: only objects that have these labels.")
def patch(**flags: Json) -> None:
    """Print manifests with the drain hook, as the webhook would set it.

    Reads files, folders, globs or standard input; documents without a backend label pass unchanged. Comments, order
    and style of the text stay. Exit code 1 means a finding of level error, or a change that --check saw.
    """
    from webhook.cli.inputs import Input  # noqa: PLC0415  # --help needs none of this
    from webhook.cli.sources import STDIN  # noqa: PLC0415

    _check_flags(flags)
    found = Input.of([*flags["files"], *flags["names"]])
    if flags["in_place"] and STDIN in found.names:
        raise click.UsageError("-i cannot write back to standard input")
    settings = _settings(flags)
    settings = replace(settings, namespaces=found.namespaces())
    with _rare_collections():
        code = _Run(flags).run(found, settings)
    raise SystemExit(code)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector run seldom: nodes hold no cycles, and walking them costs a tenth of the run."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _check_flags(flags: dict[str, Json]) -> None:
    if flags["in_place"] and flags["output"]:
        raise click.UsageError("-i and -o exclude each other")
    if flags["in_place"] and flags["check"]:
        raise click.UsageError("-i and --check exclude each other")
    if flags["selector"] and not flags["backend"]:
        raise click.UsageError("--selector needs --backend")


def _settings(flags: dict[str, Json]) -> Settings:
    selector = {}
    for part in filter(None, (flags["selector"] or "").split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise click.UsageError(f"--selector: {part!r} is not key=value")
        selector[key.strip()] = value.strip("= ")
    settings = options.settings_of(flags)
    backend = flags["backend"] or ""
    if backend:
        options.check_backend(backend, settings.catalog)
    return replace(settings, backend=backend, selector=selector)


class _Run:
    """One run over the input: counts, output, exit code."""

    def __init__(self, flags: dict[str, Json]) -> None:
        from webhook.cli.output import writer_of  # noqa: PLC0415
        from webhook.cli.terminal import Progress  # noqa: PLC0415

        self.in_place: bool = flags["in_place"]
        self.check: bool = flags["check"]
        silent = self.in_place or (self.check and not flags["output"])
        self.format = "none" if silent else flags["output"] or "yaml"
        self.writer = writer_of(self.format)
        self.progress = Progress()
        self.failed = False

    def run(self, found: Input, settings: Settings) -> int:
        changed = 0
        for patched in self._patched(found, settings):
            self.writer.add(patched)
            self._report(patched)
            changed += patched.is_changed
        self.progress.end()
        self.writer.end()
        return int(self.failed or (self.check and changed > 0))

    def _patched(self, found: Input, settings: Settings) -> Iterator[Patched]:
        from webhook.cli.patching import patch_file  # noqa: PLC0415

        for source, documents in found.files():
            patched = patch_file(source, documents, settings)
            yield patched
            self.progress.step(len(patched.results), source.name)

    def _report(self, patched: Patched) -> None:
        """Say on standard error what is wrong, and what happens to files."""
        from webhook.cli.explain import finding_line  # noqa: PLC0415
        from webhook.cli.terminal import say  # noqa: PLC0415

        self.failed = self.failed or patched.has_errors
        if self.format != "explain":
            for result in patched.results:
                for placed in result.findings:
                    say(finding_line(placed), err=True)
        if patched.is_changed and self.check:
            say(f"would change {patched.source.name}", err=True)
        if patched.is_changed and self.in_place:
            self._write_back(patched)

    def _write_back(self, patched: Patched) -> None:
        from webhook.cli.terminal import say  # noqa: PLC0415
        from webhook.cli.writeback import write_back  # noqa: PLC0415

        name = patched.source.name
        if patched.has_errors:
            say(f"not written because of its errors: {name}", err=True)
            return
        try:
            write_back(name, patched.content())
        except OSError as error:
            self.failed = True
            say(f"{name}: error: cannot be written: {error.strerror}", err=True)
            return
        say(f"changed {name}", err=True)
