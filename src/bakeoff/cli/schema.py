"""`bakeoff schema`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from bakeoff.jobs.job import Job, job_called
from bakeoff.jobs.registry import JOBS
from bakeoff.report import schemas

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def names() -> list[str]:
    """Names of what there is a schema of: most of it are commands."""
    return [*_of_all_jobs(), *schemas.COMMANDS, *(name for job in _jobs() for name in job.schemas())]


def output_schema(name: str) -> dict[str, Any]:
    """The schema of what a command prints; `name` is one of `names()`."""
    made = {**_of_all_jobs(), **schemas.COMMANDS}
    schema = made[name]() if name in made else next(found[name] for job in _jobs() if name in (found := job.schemas()))
    return {"$schema": DIALECT, "title": f"bakeoff {name} --json", **schema}


def _of_all_jobs() -> dict[str, Callable[[], dict[str, Any]]]:
    """Schemas that depend on which jobs there are."""
    return {"show": _show, "apply": _apply}


def _show() -> dict[str, Any]:
    return schemas.show(facts for job in _jobs() if (facts := job.show_schema()))


def _apply() -> dict[str, Any]:
    taken = [job.taken_schema() for job in _jobs()]
    return schemas.apply(one for place, one in enumerate(taken) if one not in taken[:place])


def _jobs() -> list[Job]:
    return [job_called(name) for name in JOBS]


@click.command("schema")
@click.option(
    "--of",
    "name",
    type=click.Choice(["workflow", *names()]),
    default="workflow",
    show_default=True,
    help="What to print the schema of: workflow files, or what a command prints with --json.",
)
@click.option("--json", "as_json", is_flag=True, help="As without: a schema is JSON.")
def command(name: str, as_json: bool) -> None:
    """Print a JSON Schema (2020-12): of workflow files, for editors; or of what a command prints with --json."""
    from bakeoff.cli.output import print_json

    if name == "workflow":
        from pathlib import Path

        from bakeoff.settings import load_settings
        from bakeoff.workflow.schema import json_schema
        from bakeoff.workflow.session import step_types

        print_json(json_schema(step_types(load_settings(Path.cwd()))), indent=2)
        return
    print_json(output_schema(name), indent=2)
