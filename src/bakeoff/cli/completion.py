"""`bakeoff completion`."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL; it completes commands, options, ids of runs and paths of steps.

    \b
    bash: put  eval "$(bakeoff completion bash)"  into ~/.bashrc (bash 4.4 and later)
    zsh:  put  eval "$(bakeoff completion zsh)"  into ~/.zshrc, after compinit
    fish: run  bakeoff completion fish > ~/.config/fish/completions/bakeoff.fish
    """  # noqa: D301  (click reads the \b)
    from click.shell_completion import get_completion_class

    from bakeoff.cli.command_line import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "bakeoff", "_BAKEOFF_COMPLETE")
    # Written out here: click's `source` of bash asks for bash's version, and complains where there is no bash.
    click.echo(script.source_template % script.source_vars())
