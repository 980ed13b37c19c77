"""`drainhook completion`: prints the script that teaches a shell the commands and options."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(epilog='Example: eval "$(drainhook completion bash)"')
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    bash and zsh: put eval "$(drainhook completion bash)" into ~/.bashrc or ~/.zshrc. fish: write the output to
    ~/.config/fish/completions/drainhook.fish.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    # The class's own source() starts a bash to ask for its version; the script itself says when it is too old.
    click.echo(ShellComplete.source(found(ctx.find_root().command, {}, "drainhook", "_DRAINHOOK_COMPLETE")))
