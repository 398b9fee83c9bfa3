"""`bakeoff schema`."""

from __future__ import annotations

import click

from bakeoff.jobs.schemas import names


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
    from bakeoff.jobs.schemas import output_schema

    print_json(output_schema(name), indent=2)
