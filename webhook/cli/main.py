"""`drainhook`: the group of commands, loaded one at a time, and what every failure looks like from outside.

Exit codes: 0 done, 1 findings of level error (or what a command says), 2 usage or internal error, 130 interrupted.
No command lives here.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import PurePath
from typing import Any

import click

from webhook import __version__

COMMANDS = {
    "certs": ("webhook.cli.certs:certs", "Certificates for the webhook: issue, inspect, ensure."),
    "completion": ("webhook.cli.completion:completion", "Print the completion script of a shell."),
    "drain": ("webhook.cli.drain:drain", "Run the drain loop by hand against an engine."),
    "label": ("webhook.cli.label:label", "Label live workloads, with a preview of the rollout that it starts."),
    "observe": (
        "webhook.cli.observe:observe",
        "Watch how pods shut down: how long it took, what was in flight, whether SIGKILL ended it.",
    ),
    "patch": ("webhook.cli.patch:patch", "Print manifests with the drain hook, as the webhook would set it."),
    "profiles": ("webhook.cli.profiles:profiles", "The profiles of the backends: list, show, check, schema."),
    "render": ("webhook.cli.render:render", "Objects of other systems, made from profiles: backendruntime."),
    "serve": ("webhook.cli.serve:serve", "Serve the admission webhook over TLS."),
    "validate": (
        "webhook.cli.validate:validate",
        "Find mistakes in manifests before they ship, or in what runs in a cluster.",
    ),
}
"""Where each command is, and its line in `--help`, so that help imports none of them; a test compares the texts."""

EXAMPLE = "Example: drainhook patch -f deployment.yaml -o diff"
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_PLUGIN = "kubectl-drainhook"
_USAGE, _INTERRUPTED, _PIPE = 2, 130, 141


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names without importing anything."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader that has gone is no failure of ours, but click would make it exit code 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _close_stdout()
            raise click.exceptions.Exit(_PIPE) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=EXAMPLE, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="drainhook", message="%(prog)s %(version)s")
def cli() -> None:
    """Drain hooks for LLM servers on Kubernetes, with a reason for every change."""


def program_name(argv0: str) -> str:
    """Return the name for usage lines: as a plugin the program is called `kubectl drainhook`."""
    return "kubectl drainhook" if PurePath(argv0).stem == _PLUGIN else "drainhook"


def main(argv: list[str] | None = None) -> None:
    """Run the command line and leave the process; every failure is one line on standard error, never a traceback."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """Run one command and return its exit code."""
    name = program_name(sys.argv[0])
    try:
        code = _invoke(name, argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        return _PIPE
    except OSError as error:
        _close_stdout()
        return _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    return code


def _invoke(name: str, argv: list[str]) -> int:
    """Run the command; click's exceptions become exit codes."""
    try:
        code: Any = cli.main(argv, prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        return _INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return _USAGE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else name
        return _fail(f"{error.format_message()} (see {path} --help)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except SystemExit as error:
        return _exit_code(error)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  # the one place where a bug becomes a line and exit code 2
        return _fail(f"internal error: {type(error).__name__}: {' '.join(str(error).split())}")
    return code if isinstance(code, int) else 0


def _exit_code(error: SystemExit) -> int:
    if isinstance(error.code, int):
        return error.code
    return 0 if error.code is None else _fail(str(error.code))


def _fail(message: str) -> int:
    click.echo(f"drainhook: {message}", err=True)
    return _USAGE


def _close_stdout() -> None:
    """Point standard output at nothing, so that the interpreter does not complain about it at its end."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


if __name__ == "__main__":
    main()
