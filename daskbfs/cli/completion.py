"""``daskbfs completion``: what makes a shell complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from daskbfs.cli import options

_SHELLS = ("bash", "zsh", "fish")

_PROGRAM = "daskbfs"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@options.plain_errors
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options, formats and graphs.

    \b
    daskbfs completion bash >> ~/.bashrc
    daskbfs completion zsh >> ~/.zshrc
    daskbfs completion fish > ~/.config/fish/completions/daskbfs.fish
    """  # noqa: D301
    found = get_completion_class(shell)
    assert found is not None
    program = click.get_current_context().find_root().command
    click.echo(found(program, {}, _PROGRAM, f"_{_PROGRAM.upper()}_COMPLETE").source())
