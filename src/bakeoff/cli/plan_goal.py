"""`bakeoff plan GOAL`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.attempt import (
    BRANCH,
    CEILING,
    CHECK,
    CHECK_TIMEOUT,
    ENDPOINT,
    MAY_EDIT,
    NO_PREFLIGHT,
    PROTECT,
    REQUIRE_RED,
    SANDBOX,
    USD,
)

if TYPE_CHECKING:
    from bakeoff.plan.run.plan import Plan
    from bakeoff.plan.run.split.splitting import Split
    from bakeoff.settings import Settings


@click.command("goal")
@click.argument("goal")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--agent", help="The coding agent; the one in the settings if left out.")
@click.option("--model", help="The agent's model, its own default if left out; with --by model, the one that splits.")
@ENDPOINT
@CHECK
@NO_PREFLIGHT
@REQUIRE_RED
@click.option("--attempts", type=click.IntRange(min=1), default=1, show_default=True, help="Of each subplan at once.")
@click.option("--repair", type=click.IntRange(min=0), default=1, show_default=True, help="Repairs of each that fails.")
@click.option("--retries", type=click.IntRange(min=0), default=2, show_default=True,
              help="Further calls in place of one that the agent's model turned away.")  # fmt: skip
@click.option("--base", metavar="REF", help="A commit to start from instead of your files as they are.")
@MAY_EDIT
@PROTECT
@click.option("--mode", "execution_mode", show_default="parallel",
              type=click.Choice(["sequential", "parallel", "dependency_ordered"]),
              help="One after the other, all at once, or each after those whose files it imports.")  # fmt: skip
@click.option("--max-parallel", type=click.IntRange(min=1), show_default="5", help="Subplans at once.")
@click.option("--fail-fast/--no-fail-fast", default=None, show_default="off",
              help="With the first that fails, cancel all others.")  # fmt: skip
@click.option("--max-retries", type=click.IntRange(min=0), show_default="0",
              help="Further tries of a subplan that fails.")  # fmt: skip
@click.option("--timeout-per-subplan", type=click.FloatRange(min=0, min_open=True), help="Seconds for one try.")
@click.option("--on-conflict", type=click.Choice(["reopen", "leave_out", "ours_first", "fail"]),
              show_default="reopen",
              help="Give it back to its owner, land the rest, land it without, or land nothing.")  # fmt: skip
@click.option("--max-reopened", type=click.IntRange(min=0), show_default="1",
              help="How often what conflicts or breaks others is given back.")  # fmt: skip
@click.option("--by", type=click.Choice(["directories", "owners", "agent", "model"]), default="directories",
              show_default=True,
              help="Who splits: directories and imports; CODEOWNERS; the agent, or a model.")  # fmt: skip
@click.option("--untracked", is_flag=True, help="Take files that git neither tracks nor ignores, too.")
@click.option("--max-files", "max_files_per_subplan", type=click.IntRange(min=1), metavar="N", help="Of one subplan.")
@click.option("--max-tokens-each", "max_tokens_per_subplan", type=click.IntRange(min=1), metavar="N",
              help="Of the files of one subplan.")  # fmt: skip
@click.option("--max-cost", type=USD, metavar="USD", help="Ceiling on money.")
@click.option("--max-tokens", type=CEILING, metavar="N", help="Ceiling on tokens.")
@click.option("--max-calls", type=CEILING, metavar="N", help="Ceiling on calls of the agent.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one call of the agent.")
@CHECK_TIMEOUT
@SANDBOX
@click.option("--agent-sandbox", type=click.Choice(["full", "weak", "none"]),
              help="The same for the agent, which keeps network and login.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Write the plan into a file, ask no agent but to split.")
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE",
              help="Which file; plan.yml if left out, - for standard output.")  # fmt: skip
@click.option("--apply", "and_apply", is_flag=True, help="Write what landed into your files.")
@BRANCH
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    goal: str,
    paths: tuple[Path, ...],
    by: str,
    untracked: bool,
    max_files_per_subplan: int | None,
    max_tokens_per_subplan: int | None,
    dry_run: bool,
    output: Path | None,
    and_apply: bool,
    branch: str | None,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Split what GOAL asks of the project, or of its PATHS, into subplans, and have agents work on them side by side.

    What they make is merged and tested together; what conflicts or breaks others is named and given back. GOAL is a
    text, @FILE, or - for standard input. Your files stay as they are unless --apply is given. What [tool.bakeoff.plan]
    in the settings says takes the place of the defaults.

    Exit status: 0 all landed; 3 some; 1 none, or refused or failed; 4 budget spent; 130 or 143 interrupted.
    """
    from bakeoff.cli.attempt import attempt_store, text_given
    from bakeoff.cli.run_lookup import misused

    if and_apply and branch is not None:
        misused("--apply or --branch, not both")
    if output is not None and not dry_run:
        misused("-o goes with --dry-run")
    limits = {"max_files_per_subplan": max_files_per_subplan, "max_tokens_per_subplan": max_tokens_per_subplan}
    plan, split, project, settings = _plan(text_given(goal), paths, by, untracked, limits, options)
    if dry_run:
        from bakeoff.cli.plan_dry_run import write_plan

        used = None
        if split is not None:
            from bakeoff.cli.plan_dry_run import asked

            plan, used = asked(split, plan, project, settings)
        write_plan(plan, output, as_json=as_json, used=used)
        return
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.run.job import JOB
    from bakeoff.plan.run.session import start

    run_options = RunOptions(adopt=True)
    store = attempt_store(branch)
    session = JobSession(store, run_options, lambda: start(store, plan, run_options, run_id, split))
    carry_out(JOB, session, LandingOptions(and_apply, branch), as_json=as_json, quiet=quiet)


def _plan(
    goal: str, paths: tuple[Path, ...], by: str, untracked: bool, limits: dict[str, Any], options: dict[str, Any]
) -> tuple[Plan, Split | None, Path, Settings]:
    """The plan that is asked for, and who is to split it where somebody is to be asked; of which project.

    Passes on BakeoffError: there are no such files, or an option is wrong.
    """
    from dataclasses import fields

    from bakeoff.cli.plan_decompose import config_of, from_root, split
    from bakeoff.plan.decompose.sources import imports_of, project_files
    from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
    from bakeoff.plan.run.plan import Plan, SubplanConfig
    from bakeoff.sampling.attempt.options import AttemptOptions
    from bakeoff.settings import load_settings
    from bakeoff.workspace.snapshot.project import find_project

    names = {field.name for field in fields(SubplanConfig)}
    attempt = AttemptOptions(task=goal, **{name: value for name, value in options.items() if name not in names})
    project = find_project(Path.cwd())
    settings = load_settings(project.root)
    config = SubplanConfig.of(settings.plan, options)
    within = [from_root(project, path) for path in paths]
    if by in ("agent", "model"):
        from bakeoff.cli.plan_dry_run import who_splits

        plan = Plan(goal, (), attempt, config)
        asking, plan = who_splits(by, plan, settings, tuple(within), untracked, limits)
        return plan, asking, project.root, settings
    found = project_files(project, within, untracked=untracked, exclude=settings.exclude)
    imports = imports_of(project, found)
    made, _ = split(project, found, config_of(settings.plan, limits), imports, by, None)
    return plan_of_hierarchy(made, goal, attempt, config, imports), None, project.root, settings
