"""`bakeoff attempt`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore

CHECK = click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="Must end with exit status 0; may be repeated."
)
SCORE = click.option("--score", metavar="CMD", help="Prints a number, the last one counts: the highest wins.")
NO_PREFLIGHT = click.option(
    "--no-preflight",
    "preflight",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not run the checks on your files first: attempts are to make what a check needs.",
)
REQUIRE_RED = click.option(
    "--require-red", is_flag=True, help="Refuse, before anything is paid, when a check passes on your files already."
)
MAY_EDIT = click.option(
    "--may-edit", multiple=True, metavar="GLOB", help="Tests or test configuration that attempts may change."
)
PROTECT = click.option("--protect", multiple=True, metavar="GLOB", help="Further files that attempts may not change.")
CHECK_TIMEOUT = click.option(
    "--check-timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one check."
)
BENCH_OUTPUT = click.option(
    "--bench-output",
    type=click.Choice(["same", "any"]),
    default="same",
    show_default=True,
    help="Whether the command that --bench times must print the same as before.",
)
MIN_SPEEDUP = click.option(
    "--min-speedup",
    type=float,
    default=1.05,
    show_default=True,
    help="What the lower bound of the speed-up must reach.",
)
SECONDS = click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Of measuring for one race.",
)
SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["full", "weak", "none"]),
    help="What must hold back the attempts' code: all, what this machine can do, nothing; the setting if left out.",
)
ENDPOINT = click.option(
    "--endpoint", metavar="NAME", help="Set the agent up for this endpoint of your settings; its model, too."
)
PARALLEL = click.option("--max-parallel", type=click.IntRange(min=1), help="Leaves that run at once, over all nesting.")
WITH_TESTS = click.option("--with-tests", is_flag=True, help="With the attempt's own changes to tests.")


class Money(click.FloatRange):
    """An amount of money above nothing."""

    name = "usd"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount."""
        amount = float(super().convert(value, param, ctx))
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount of money", param, ctx)
        return amount


USD = Money(min=0, min_open=True)
CEILING = click.FloatRange(min=0, min_open=True)

BRANCH = click.option("--branch", metavar="NAME", help="As a new branch on top of HEAD; your files stay as they are.")


@click.command("attempt")
@click.argument("task")
@click.option("--agent", help="The coding agent; the one in the settings if left out.")
@click.option("--model", help="The agent's model; its own default if left out.")
@ENDPOINT
@click.option("--attempts", type=click.IntRange(min=1), default=1, show_default=True, help="Independent attempts.")
@click.option("--repair", type=click.IntRange(min=0), default=0, show_default=True, help="Repairs of each that fails.")
@click.option("--retries", type=click.IntRange(min=0), default=2, show_default=True,
              help="Further calls in place of one that the agent's model turned away.")  # fmt: skip
@CHECK
@SCORE
@NO_PREFLIGHT
@REQUIRE_RED
@click.option("--base", metavar="REF", help="A commit to start from instead of your files as they are.")
@MAY_EDIT
@PROTECT
@click.option("--max-cost", type=USD, metavar="USD", help="Ceiling on money.")
@click.option("--max-tokens", type=CEILING, metavar="N", help="Ceiling on tokens.")
@click.option("--max-calls", type=CEILING, metavar="N", help="Ceiling on calls of the agent.")
@PARALLEL
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one call of the agent.")
@CHECK_TIMEOUT
@SANDBOX
@click.option("--agent-sandbox", type=click.Choice(["full", "weak", "none"]),
              help="The same for the agent, which keeps network and login.")  # fmt: skip
@click.option("--mode", type=click.Choice(["deterministic", "fastest"]), default="deterministic", show_default=True,
              help="The first attempt that passes, or whichever passes first.")  # fmt: skip
@click.option("--apply", "and_apply", is_flag=True, help="Write the winner's changes into your files.")
@BRANCH
@WITH_TESTS
@click.option("--diff", "show_diff", is_flag=True, help="Print the winner's diff however long it is.")
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    task: str,
    and_apply: bool,
    branch: str | None,
    with_tests: bool,
    show_diff: bool,
    run_id: str | None,
    max_parallel: int | None,
    as_json: bool,
    quiet: bool,
    **options: object,
) -> None:
    """Have a coding agent attempt TASK several times, each in a place of its own, and keep what passes the checks.

    TASK is a text, @FILE, or - for standard input. Your files stay as they are unless --apply is given.

    Exit status: 0 there is a winner; 3 nothing passed; 4 budget spent; 1 refused or failed; 130 or 143 interrupted.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.run_lookup import misused
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.session import RunOptions
    from bakeoff.sampling.attempt.job import JOB
    from bakeoff.sampling.attempt.options import AttemptOptions
    from bakeoff.sampling.attempt.session import start

    if and_apply and branch is not None:
        misused("--apply or --branch, not both")
    asked = AttemptOptions(task=text_given(task), **options)  # type: ignore[arg-type]
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    landing = LandingOptions(and_apply, branch, with_tests, show_diff)
    store = attempt_store(branch)
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, run_id))
    carry_out(JOB, session, landing, as_json=as_json, quiet=quiet)


def text_given(given: str) -> str:
    """A text, or what is in the file that it names behind @, or - for standard input."""
    from bakeoff.cli.run_lookup import refuse
    from bakeoff.system.named_files import read_named

    if given == "-":
        return sys.stdin.read()
    if given.startswith("@"):
        try:
            return read_named(Path(given[1:]), once=True).decode()
        except (OSError, UnicodeDecodeError) as failure:
            refuse(f"{given}: the file cannot be read: {getattr(failure, 'strerror', failure)}")
    return given


def attempt_store(branch: str | None = None) -> RunStore:
    """The runs of the git work tree that this folder lies in: attempts are kept at its top.

    Passes on ApplyError: `branch`, which is to be made in the end, cannot be; that is known before anything is paid.
    """
    from bakeoff.engine.store import RunStore
    from bakeoff.workspace.snapshot.project import find_project

    project = find_project(Path.cwd())
    if branch is not None:
        from bakeoff.workspace.landing.applying import check_new_branch

        check_new_branch(project, branch)
    return RunStore(project.root)
