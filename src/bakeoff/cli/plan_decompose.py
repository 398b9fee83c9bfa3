"""`bakeoff plan decompose`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.options import UNTRACKED, job_options
from bakeoff.settings.plan import PlanSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bakeoff.plan.decompose.hierarchy import Hierarchy
    from bakeoff.plan.decompose.links import Imports
    from bakeoff.plan.decompose.sources import ProjectFiles
    from bakeoff.workspace.snapshot.project import Project


LIMITS = (
    *("max_files_per_subplan", "max_tokens_per_subplan", "min_files_per_subplan"),
    *("max_depth", "max_children", "cohesion", "split"),
)
"""Options of settings that are about splitting."""


@click.command("decompose")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--tree", "form", flag_value="tree", default=True, help="Print a tree, as without.")
@click.option("--json", "form", flag_value="json", help="Print one JSON object.")
@click.option("--html", "form", flag_value="html", help="Print one HTML page.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the tree or the page there instead."
)
@click.option("--explain", type=click.Path(path_type=Path), metavar="PATH", help="Say why that file is where it is.")
@click.option("--previous", type=click.Path(path_type=Path), metavar="FILE",
              help="What --json printed before: what is in it stays where it is.")  # fmt: skip
@click.option("--by", type=click.Choice(["directories", "owners"]), default="directories", show_default=True,
              help="Split everything as one, or the files of each owner in CODEOWNERS apart.")  # fmt: skip
@UNTRACKED
@click.option("--no-imports", is_flag=True, help="Let directories alone decide.")
@job_options(PlanSettings, LIMITS, settings=True)
def command(
    paths: tuple[Path, ...],
    form: str,
    output: Path | None,
    explain: Path | None,
    previous: Path | None,
    by: str,
    untracked: bool,
    no_imports: bool,
    **limits: Any,
) -> None:
    """Split the project's files, or those below PATHS, into subplans, and show them. No model is asked.

    Files come from git. Left out are binary ones, those that .gitattributes marks as generated or vendored, and what
    `exclude` in the settings names. Limits that are not given come from the settings.
    """
    from bakeoff.cli.output import covered, print_json, tell
    from bakeoff.cli.run_lookup import misused
    from bakeoff.plan.decompose.explanation import explain as explained
    from bakeoff.plan.decompose.sources import imports_of, project_files
    from bakeoff.report.escape import visible
    from bakeoff.settings import load_settings
    from bakeoff.system.named_files import write_whole
    from bakeoff.workspace.snapshot.project import find_project

    if previous is not None and by == "owners":
        misused("--previous goes with --by directories")
    if output is not None and (form == "json" or explain is not None):
        misused("-o is for --tree and --html")
    if explain is not None and form != "tree":
        misused(f"--explain and --{form} exclude each other")
    project = find_project(Path.cwd())
    settings = load_settings(project.root)
    config = config_of(settings.plan, limits)
    within = [from_root(project, path) for path in paths]
    found = project_files(project, within, untracked=untracked, exclude=settings.exclude)
    imports = {} if no_imports else imports_of(project, found)
    made, kept = split(project, found, config, imports, by, previous)
    if explain is not None:
        for sentence in explained(made, from_root(project, explain), imports):
            tell(visible(sentence).replace("\n", " "))
        return
    document = _document(made, found, kept)
    if form == "json":
        print_json(document)
        return
    text = "".join(_pieces(form, made, config, document, project))
    if output is not None:
        write_whole(output, covered(text).encode("utf-8", "replace"))
        tell(f"{output}")
    else:
        tell(text.removesuffix("\n"))


def config_of(given: PlanSettings, limits: Mapping[str, Any]) -> PlanSettings:
    """The settings with the limits that were given."""
    from dataclasses import replace

    return replace(given, **{name: value for name, value in limits.items() if value is not None})


def from_root(project: Project, path: Path) -> str:
    """A path as git knows it.

    Raises:
        BakeoffError: it is outside the project.
    """
    import os

    from bakeoff.errors import BakeoffError

    absolute = Path(os.path.realpath(Path.cwd() / path.parent)) / path.name if path.name else Path.cwd()
    try:
        return Path(os.path.normpath(absolute)).relative_to(project.root).as_posix()
    except ValueError:
        raise BakeoffError(f"{path} is outside the project {project.root}") from None


def split(
    project: Project, found: ProjectFiles, config: PlanSettings, imports: Imports, by: str, previous: Path | None
) -> tuple[Hierarchy, float | None]:
    """The hierarchy, and the part of the previous one's leaves that are still there."""
    from bakeoff.plan.decompose.decompose import decompose

    if by == "owners":
        return _by_owners(project, found, config, imports), None
    earlier = None if previous is None else _read(previous)
    made = decompose(found.files, config, imports=imports, previous=earlier)
    if earlier is None or not earlier.order:
        return made, None
    return made, round(len(set(earlier.order) & set(made.order)) / len(earlier.order), 4)


def _by_owners(project: Project, found: ProjectFiles, config: PlanSettings, imports: Imports) -> Hierarchy:
    """Split by the CODEOWNERS file.

    Raises:
        BakeoffError: there is none.
    """
    from bakeoff.errors import BakeoffError
    from bakeoff.plan.decompose.codeowners import PLACES, owners_of, read_rules
    from bakeoff.plan.decompose.proposed import by_groups

    text = next((text for place in PLACES if (text := _text(project.root / place)) is not None), None)
    if text is None:
        raise BakeoffError(f"there is no CODEOWNERS file: it would be one of {', '.join(PLACES)}")
    owners = owners_of(read_rules(text), [file.path for file in found.files])
    groups = {path: " ".join(names) or "nobody" for path, names in owners.items()}
    return by_groups(found.files, groups, config, imports=imports)


def _text(path: Path) -> str | None:
    """Text of a file; None where there is none.

    Raises:
        BakeoffError: it cannot be read.
    """
    from bakeoff.errors import BakeoffError
    from bakeoff.system.named_files import read_named

    try:
        return read_named(path).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        raise BakeoffError(f"{path} cannot be read: {failure.strerror}") from failure


def _read(file: Path) -> Hierarchy:
    """The hierarchy in a file.

    Raises:
        BakeoffError: it cannot be read.
    """
    import json

    from bakeoff.errors import BakeoffError
    from bakeoff.plan.decompose.hierarchy import from_json
    from bakeoff.system.named_files import read_named

    try:
        return from_json(json.loads(read_named(file, once=True)), str(file))
    except (OSError, ValueError, RecursionError) as failure:
        raise BakeoffError(f"{file} cannot be read: {getattr(failure, 'strerror', failure)}") from failure


def _document(made: Hierarchy, found: ProjectFiles, kept: float | None) -> dict[str, Any]:
    from bakeoff.plan.decompose.hierarchy import to_json

    document = to_json(made)
    document["metrics"] |= {"kept": kept, "skipped": found.skipped}
    return document


def _pieces(
    form: str, made: Hierarchy, config: PlanSettings, document: Mapping[str, Any], project: Project
) -> Iterator[str]:
    """The hierarchy as a page or as a tree."""
    from bakeoff.plan.decompose.limits import hard_limits
    from bakeoff.plan.decompose.page import hierarchy_page
    from bakeoff.plan.decompose.tree import facts, tree

    limits = hard_limits(config)
    if form == "html":
        title = f"Subplans of {project.root.name}"
        yield from hierarchy_page(made, limits, title, facts(document["metrics"]))
    else:
        yield from (f"{line}\n" for line in [*facts(document["metrics"]), *tree(made, limits)])
