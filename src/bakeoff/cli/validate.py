"""`bakeoff validate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Make every warning an error.")
@click.option("--allow-unquoted", is_flag=True, help="Let text from agents into shell commands as it is.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: Path, strict: bool, allow_unquoted: bool, as_json: bool) -> None:
    """Check the workflow FILE and name everything that is wrong with it, each with its line and column.

    Exit status: 0 it can be run, perhaps with warnings; 1 it cannot.
    """
    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.report.escape import one_line, visible
    from bakeoff.settings import load_settings
    from bakeoff.workflow.document import load_document
    from bakeoff.workflow.find import find_workflow, require_workflow
    from bakeoff.workflow.problems import InvalidWorkflowError, Problem
    from bakeoff.workflow.session import step_types
    from bakeoff.workflow.validate import validate

    here = Path.cwd()
    path = require_workflow(str(file), None, here)
    settings = load_settings(here)
    problems: list[Problem] | tuple[Problem, ...]
    try:
        problems = validate(
            load_document(path),
            strict=strict,
            allow_unquoted=allow_unquoted,
            step_types=step_types(settings),
            lanes=settings.lanes,
            find_workflow=lambda name, caller: find_workflow(name, caller, here),
        )
    except InvalidWorkflowError as failure:
        problems = failure.problems
    errors = sum(problem.severity == "error" for problem in problems)
    if as_json:
        names = ("severity", "line", "column", "path", "message")
        found = [{name: getattr(problem, name) for name in names} for problem in problems]
        print_json({"file": str(path), "valid": not errors, "problems": found}, indent=2)
    else:
        for problem in problems:
            where = f"{path}:{problem.line}:{problem.column}" if problem.line else str(path)
            place = f"{problem.path}: " if problem.path else ""
            tell(visible(f"{where}: {problem.severity}: {place}{one_line(problem.message, 2000)}"))
        say(f"{path}: {_verdict(errors, len(problems) - errors)}")
    sys.exit(1 if errors else 0)


def _verdict(errors: int, warnings: int) -> str:
    from bakeoff.report.words import counted

    if not errors and not warnings:
        return "valid"
    parts = [counted(count, noun) for count, noun in ((errors, "error"), (warnings, "warning")) if count]
    return f"{'not valid' if errors else 'valid'}: {', '.join(parts)}"
