"""`bakeoff optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from bakeoff.cli.options import SessionFlags, job_options, landing_options, session_flags
from bakeoff.optimize.options import OptimizeOptions

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore
    from bakeoff.jobs.landing_options import LandingOptions


@click.command("optimize")
@click.argument("target", metavar="[FILE.py:FUNCTION]", default="")
@click.option("--all", "every", metavar="PATH",
              help="Optimise all functions below this folder or file, those first that take most of the tests' "
              "time.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="With --all: show the order, and do nothing.")
@job_options(OptimizeOptions, without=("target",))
@landing_options(
    "Write the winner into your files.",
    click.option("--patch", type=click.Path(path_type=Path), metavar="FILE", help="Write the winner's diff there."),
    click.option(
        "--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write a text for a pull request there."
    ),
)
@session_flags()
def command(
    target: str,
    every: str | None,
    tests: tuple[str, ...],
    dry_run: bool,
    landing: LandingOptions,
    flags: SessionFlags,
    **options: object,
) -> None:
    """Make a function, or a whole command, faster that must go on behaving as it does.

    Candidates come from rewriting rules, from models and agents that you name, and from files that you bring. Each is
    judged in a place of its own: it has to do the same as the original in the tests that reach it, for the calls seen
    there, and for inputs derived from them. Then it is measured with the machine alone. Your files stay as they are
    unless --apply is given.

    With --all functions are taken one after the other, each on top of the winners before it, in one run.

    With --bench the command is timed, each candidate's in a place of its own, and --check judges what candidates do.

    Exit status: 0 there is a winner; 3 nothing was faster; 4 the budget is spent (what was found by then counts);
    1 refused or failed; 130 or 143 interrupted.
    """
    from bakeoff.cli.attempt import attempt_store
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.run_lookup import misused
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.optimize.job import JOB
    from bakeoff.optimize.session import start

    if every is not None and target:
        misused("name a function or give --all, not both")
    if not target and every is None and options["bench"] is None:
        misused("name a function, as in pkg/mod.py:function, or give --bench CMD or --all PATH")
    if dry_run and every is None:
        misused("--dry-run goes with --all")
    if every is None and click.get_current_context().get_parameter_source("top") is not ParameterSource.DEFAULT:
        misused("--top goes with --all")
    if options["endpoint"] is not None and not options["agents"] and not options["models"]:
        options["models"] = (options["endpoint"],)
    store = attempt_store(landing.branch)
    named = _from_root(target if every is None else every, store.project)
    judging = tuple(_test_from_root(path, store.project) for path in tests)
    asked = OptimizeOptions(target=named, tests=judging, every=every is not None, **options)  # type: ignore[arg-type]
    if dry_run:
        _show_ranking(store, asked, flags)
        return
    run_options = RunOptions(adopt=True)
    landing.check()
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, flags.run_id))
    carry_out(JOB, session, flags, landing)


def _show_ranking(store: RunStore, asked: OptimizeOptions, flags: SessionFlags) -> None:
    """Print which functions a run for all would take, in which order."""
    from bakeoff.cli.carry_out import tell_line
    from bakeoff.cli.display import Display, run_session
    from bakeoff.cli.output import print_json
    from bakeoff.jobs.session import RunOptions
    from bakeoff.optimize.job import JOB
    from bakeoff.optimize.session import dry_run
    from bakeoff.optimize.table import ranking_lines

    run_options = RunOptions(adopt=True)
    display = None if flags.quiet else Display(run_options.events, JOB.progress())
    ranked = run_session(lambda: dry_run(store, asked, run_options), display)
    if flags.as_json:
        shown = [one.to_json() | {"taken": number <= asked.top} for number, one in enumerate(ranked, 1)]
        print_json({"target": asked.target, "functions": shown}, indent=2)
        return
    for line in ranking_lines(ranked, asked.top):
        tell_line(line)


def _test_from_root(path: str, root: Path) -> str:
    """The same of a file or folder of tests, perhaps with the name of one."""
    file, colons, name = path.partition("::")
    return f"{_from_root(file, root)}{colons}{name}"


def _from_root(target: str, root: Path) -> str:
    """The target with its path relative to the project's root rather than to this folder."""
    path, colon, name = target.rpartition(":")
    if not target or (not colon and not (Path.cwd() / target).exists()):
        return target
    if not colon:
        path, name = target, ""
    try:
        return f"{(Path.cwd() / path).resolve().relative_to(root.resolve()).as_posix()}{colon}{name}"
    except ValueError:
        return target
