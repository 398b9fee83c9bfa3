"""What `plan retry`, `plan skip` and `plan correct` ask for alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from bakeoff.cli.attempt import BRANCH
from bakeoff.cli.completing import RUN

_ALL = (
    click.argument("run", type=RUN),
    click.argument("subplan"),
    click.option(
        "-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="Another max_cost, max_tokens, max_calls."
    ),
    click.option("--apply", "apply", is_flag=True, help="Write what landed into your files."),
    BRANCH,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result."),
)


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """RUN, SUBPLAN, and the keyword arguments of `change_run`."""
    for decorate in reversed(_ALL):
        command = decorate(command)
    return command
