"""`bakeoff optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from bakeoff.cli.attempt import BENCH_OUTPUT, CEILING, CHECK_TIMEOUT, MIN_SPEEDUP, SECONDS, USD

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore
    from bakeoff.optimize.options import OptimizeOptions


@click.command("optimize")
@click.argument("target", metavar="[FILE.py:FUNCTION]", default="")
@click.option("--bench", metavar="CMD",
              help="Time this command instead of a function; in any language. What is named then may also be any file, "
              "or nothing.")  # fmt: skip
@BENCH_OUTPUT
@click.option("--check", "checks", multiple=True, metavar="CMD",
              help="With --bench: must end with exit status 0; may be repeated.")  # fmt: skip
@CHECK_TIMEOUT
@click.option("--protect", multiple=True, metavar="GLOB",
              help="With --bench: further files that candidates may not change.")  # fmt: skip
@click.option("--all", "every", metavar="PATH",
              help="Optimise all functions below this folder or file, those first that take most of the tests' "
              "time.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="With --all: how many at most.")
@click.option("--dry-run", is_flag=True, help="With --all: show the order, and do nothing.")
@click.option("--candidate", "candidates", multiple=True, metavar="FILE",
              help="A new version of the whole file to try, or a .patch; may be repeated.")  # fmt: skip
@click.option("--ref", "refs", multiple=True, metavar="REF", help="A commit or branch to try; may be repeated.")
@click.option("--no-rules", is_flag=True, help="Leave the rewriting rules out.")
@click.option("--model", "models", multiple=True, metavar="NAME",
              help="A model to ask: local, one of your settings, or PROVIDER:MODEL; may be repeated.")  # fmt: skip
@click.option("--samples", type=click.IntRange(min=1), default=4, show_default=True,
              help="First versions that each model writes.")  # fmt: skip
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="A coding agent to ask; may be repeated.")
@click.option("--endpoint", metavar="NAME",
              help="Set agents up for this endpoint of your settings; with no --agent and --model ask its "
              "model.")  # fmt: skip
@click.option("--agent-samples", type=click.IntRange(min=1), default=1, show_default=True,
              help="How often each agent is asked at first.")  # fmt: skip
@click.option("--repairs", type=click.IntRange(min=0), default=1, show_default=True,
              help="How often versions that behave otherwise go back to whom they came from.")  # fmt: skip
@click.option("--refinements", type=click.IntRange(min=0), default=3, show_default=True,
              help="How often the fastest versions so far go back to become faster still.")  # fmt: skip
@click.option("--max-cost", type=USD, metavar="USD", help="Ceiling on money.")
@click.option("--max-tokens", type=CEILING, metavar="N", help="Ceiling on tokens.")
@click.option("--max-calls", type=CEILING, metavar="N", help="Ceiling on requests and agent calls.")
@click.option("--parallel-candidates", "parallel", type=click.IntRange(min=1), metavar="N",
              help="Candidates whose behaviour is judged at once; the processors you may use if left out.")  # fmt: skip
@MIN_SPEEDUP
@SECONDS
@click.option("--tests", multiple=True, metavar="PATH", help="Tests to judge by, instead of all that pytest finds.")
@click.option("--inputs", type=click.Choice(["derived", "recorded"]), default="derived", show_default=True,
              help="Compare on inputs derived from those of the tests, too, or on these alone.")  # fmt: skip
@click.option("--trust", is_flag=True, help="Accept what can be judged only in the candidate's own process.")
@click.option("--sandbox", "level", type=click.Choice(["full", "weak", "none"]),
              help="Protection that candidates must run under; the setting if left out.")  # fmt: skip
@click.option("--cold", is_flag=True, help="A fresh interpreter for each evaluation: slower, the same verdicts.")
@click.option("--memory", is_flag=True, help="Measure peak memory, too.")
@click.option("--base", metavar="REF", help="A commit to start from instead of your files as they are.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance.")
@click.option("--apply", "and_apply", is_flag=True, help="Write the winner into your files.")
@click.option("--branch", metavar="NAME", help="As a new branch on top of HEAD; your files stay as they are.")
@click.option("--patch", type=click.Path(path_type=Path), metavar="FILE", help="Write the winner's diff there.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE",
              help="Write a text for a pull request there.")  # fmt: skip
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    target: str,
    every: str | None,
    tests: tuple[str, ...],
    dry_run: bool,
    no_rules: bool,
    and_apply: bool,
    branch: str | None,
    patch: Path | None,
    markdown: Path | None,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
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
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.session import RunOptions
    from bakeoff.optimize.job import JOB
    from bakeoff.optimize.options import OptimizeOptions
    from bakeoff.optimize.session import start

    if and_apply and branch is not None:
        misused("--apply or --branch, not both")
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
    store = attempt_store(branch)
    named = _from_root(target if every is None else every, store.project)
    judging = tuple(_test_from_root(path, store.project) for path in tests)
    asked = OptimizeOptions(target=named, tests=judging, every=every is not None, rules=not no_rules, **options)  # type: ignore[arg-type]
    if dry_run:
        _show_ranking(store, asked, as_json=as_json, quiet=quiet)
        return
    run_options = RunOptions(adopt=True)
    landing = LandingOptions(and_apply, branch, patch=patch, markdown=markdown)
    landing.check()
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, run_id))
    carry_out(JOB, session, landing, as_json=as_json, quiet=quiet)


def _show_ranking(store: RunStore, asked: OptimizeOptions, *, as_json: bool, quiet: bool) -> None:
    """Print which functions a run for all would take, in which order."""
    from bakeoff.cli.carry_out import tell_line
    from bakeoff.cli.display import Display, run_session
    from bakeoff.cli.output import print_json
    from bakeoff.jobs.session import RunOptions
    from bakeoff.optimize.job import JOB
    from bakeoff.optimize.session import dry_run
    from bakeoff.optimize.table import ranking_lines

    run_options = RunOptions(adopt=True)
    display = None if quiet else Display(run_options.events, JOB.progress())
    ranked = run_session(lambda: dry_run(store, asked, run_options), display)
    if as_json:
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
