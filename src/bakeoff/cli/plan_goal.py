"""`bakeoff plan GOAL`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.options import (
    UNTRACKED,
    SessionFlags,
    job_options,
    landing_options,
    session_flags,
)
from bakeoff.options.option import options_of
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings.plan import PlanSettings

if TYPE_CHECKING:
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.plan.run.plan import Plan
    from bakeoff.plan.run.split.splitting import Split
    from bakeoff.settings import Settings

LIMITS = ("max_files_per_subplan", "max_tokens_per_subplan")


@click.command("goal")
@click.argument("goal")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--model", help="The agent's model, its own default if left out; with --by model, the one that splits.")
@job_options(
    AttemptOptions,
    without=("task", "model", "score", "mode", "bench", "bench_output", "min_speedup", "seconds"),
    defaults={"repair": 1},
)
@job_options(PlanSettings, options_of(SubplanConfig), settings=True)
@click.option("--by", type=click.Choice(["directories", "owners", "agent", "model"]), default="directories",
              show_default=True,
              help="Who splits: directories and imports; CODEOWNERS; the agent, or a model.")  # fmt: skip
@UNTRACKED
@job_options(
    PlanSettings,
    LIMITS,
    flags={"max_tokens_per_subplan": "--max-tokens-each"},
    settings=True,
)
@click.option("--dry-run", is_flag=True, help="Write the plan into a file, ask no agent but to split.")
@click.option("-o", "--output", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE",
              help="Which file; plan.yml if left out, - for standard output.")  # fmt: skip
@landing_options("Write what landed into your files.")
@session_flags()
def command(
    goal: str,
    paths: tuple[Path, ...],
    by: str,
    untracked: bool,
    dry_run: bool,
    output: Path | None,
    landing: LandingOptions,
    flags: SessionFlags,
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

    if output is not None and not dry_run:
        misused("-o goes with --dry-run")
    limits = {name: options.pop(name) for name in LIMITS}
    plan, split, project, settings = _plan(text_given(goal), paths, by, untracked, limits, options)
    if dry_run:
        from bakeoff.cli.plan_dry_run import write_plan

        used = None
        if split is not None:
            from bakeoff.cli.plan_dry_run import asked

            plan, used = asked(split, plan, project, settings)
        write_plan(plan, output, as_json=flags.as_json, used=used)
        return
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.run.job import JOB
    from bakeoff.plan.run.session import start

    run_options = RunOptions(adopt=True)
    store = attempt_store(landing.branch)
    session = JobSession(store, run_options, lambda: start(store, plan, run_options, flags.run_id, split))
    carry_out(JOB, session, flags, landing)


def _plan(
    goal: str, paths: tuple[Path, ...], by: str, untracked: bool, limits: dict[str, Any], options: dict[str, Any]
) -> tuple[Plan, Split | None, Path, Settings]:
    """The plan that is asked for, and who is to split it where somebody is to be asked; of which project.

    Passes on BakeoffError: there are no such files, or an option is wrong.
    """
    from bakeoff.cli.plan_decompose import config_of, from_root, split
    from bakeoff.plan.decompose.sources import imports_of, project_files
    from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
    from bakeoff.plan.run.plan import Plan
    from bakeoff.settings import load_settings
    from bakeoff.workspace.snapshot.project import find_project

    carrying_out = options_of(SubplanConfig)
    attempt = AttemptOptions(task=goal, **{name: value for name, value in options.items() if name not in carrying_out})
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
