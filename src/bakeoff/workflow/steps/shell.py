"""`shell`: a command line for /bin/sh, or a program with its arguments, and what it printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bakeoff.engine.record import Outcome, Status, Stored
from bakeoff.process.command import Command, Finished, SpawnError
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.expressions import Template
from bakeoff.workflow.programs import own_words
from bakeoff.workflow.steps.leaf import Leaf
from bakeoff.workflow.values import as_text, parse_json, plain

DEFAULT_TIMEOUT = 300.0
"""Seconds a command may take where the step says nothing."""


def prepare(context: NodeContext) -> Leaf:
    """A shell step's work.

    Passes on ExpressionError: a field cannot be evaluated.
    """
    step = context.step
    given: dict[str, Any] = {}
    nothing = None
    if step.argv is not None:
        argv = [as_text(value) for value in context.values("argv").values()]
        given["argv"] = argv
        nothing = step.template("argv", 0) if not argv[0].strip() else None
    else:
        text = as_text(context.value("run"))
        given["run"] = text
        nothing = step.template("run") if not text.strip() else None
        argv = ["/bin/sh", "-c", text]
    if nothing is not None:
        return Leaf(given, _failing(_nothing(nothing)))
    if option := _unread_option(context, argv):
        return Leaf(given, _failing(option))
    environment = step_environment(context)
    if step.env:
        given["env"] = environment_given(context)
    if step.cwd is not None:
        given["cwd"] = as_text(context.value("cwd"))
    if step.output_format is not None:
        given["output_format"] = step.output_format
    command = Command(
        argv=argv,
        cwd=working_directory(context),
        env=environment,
        log=log_prefix(context),
        timeout=step.timeout or DEFAULT_TIMEOUT,
        grace=context.run_context.settings.grace,
        inherit_stdin=True,
    )

    async def work(attempt: int) -> Outcome:
        again = command if attempt == 1 else replace(command, log=f"{command.log}.{attempt}")
        try:
            finished = await context.run_context.processes.run(again)
        except SpawnError as failure:
            return Outcome(Status.FAILED, error=str(failure), kind="spawn", input=given)
        return _outcome(step, finished, given, again.timeout or 0.0)

    return Leaf(given, work)


def _unread_option(context: NodeContext, argv: list[str]) -> Outcome | None:
    """Why a program is not started: a word that nobody has read would be an option of it."""
    if context.step.argv is None or context.run_context.allow_unquoted:
        return None
    for at in sorted(context.step.unread(context.run_context.depth > 0)):
        if argv[at].startswith("-") and "--" not in argv[own_words(argv) : at]:
            template = context.step.template("argv", at)
            blocks = ", ".join(f"{{{{ {block.text} }}}}" for block in template.blocks)
            error = (
                f"{blocks} came out as `{argv[at][:60]}`: text that nobody has read (an agent's) would be an option of "
                f"{argv[0]}; put the word `--` before it, or a text of your own in front of it"
            )
            return Outcome(Status.FAILED, error=error, kind="error")
    return None


def _failing(outcome: Outcome) -> Any:
    async def work(_: int) -> Outcome:
        return outcome

    return work


def _nothing(template: Template) -> Outcome:
    blocks = ", ".join(f"{{{{ {block.text} }}}}" for block in template.blocks)
    why = f"{blocks} came out empty" if blocks else "it is empty"
    return Outcome(Status.FAILED, error=f"there is no command to run: {why}", kind="empty")


def _outcome(step: Any, finished: Finished, given: dict[str, Any], timeout: float) -> Outcome:
    output: dict[str, Any] = {
        "exit_code": finished.exit_code,
        "stdout": finished.stdout.value,
        "stderr": finished.stderr.value,
    }
    outcome = Outcome(output=output, input=given)
    if finished.ended_by is not None:
        output["timed_out"] = finished.ended_by == "timeout"
        outcome.status, outcome.kind = Status.FAILED, finished.ended_by
        outcome.error = ended_early(finished, timeout)
    elif finished.exit_code != 0:
        outcome.status, outcome.kind = Status.FAILED, "exit"
        outcome.error = exit_words(finished.exit_code)
    elif step.output_format == "json":
        _parse(finished, output, outcome)
    return outcome


def ended_early(finished: Finished, timeout: float) -> str:
    """Why a process was ended, for a person."""
    match finished.ended_by:
        case "timeout":
            return f"timed out after {timeout:g} s"
        case "kill":
            return "was killed by a second interrupt"
        case reason:
            return finished.message or f"was ended: {reason}"


def exit_words(code: int) -> str:
    """An exit status, for a person."""
    if code < 0:
        return f"the command was killed by signal {-code}"
    return f"the command exited with status {code}"


def _parse(finished: Finished, output: dict[str, Any], outcome: Outcome) -> None:
    stdout = finished.stdout.value
    try:
        data = parse_json(as_text(stdout))
    except ValueError as failure:
        outcome.status, outcome.kind = Status.FAILED, "output"
        outcome.error = f"output_format is json, but standard output is not JSON: {failure}"
        return
    # A large value is not written twice: it is read from the file that holds what was printed.
    output["data"] = replace(stdout, form="json") if isinstance(stdout, Stored) else data


def log_prefix(context: NodeContext) -> str:
    """Name for a step's output where it needs files; one per node, whatever its path is made of."""
    name = quote(context.path, safe=":")
    if len(name) > 180:
        from bakeoff.workflow.scope import digest

        name = f"{name[:150]}-{digest(context.path)}"
    return f"{context.run.root}/logs/{name}"


def step_environment(context: NodeContext) -> dict[str, str | None]:
    """The variables a step's process gets on top of the run's own."""
    run_context = context.run_context
    folder = run_context.workflow_dir
    variables: dict[str, str | None] = {"BAKEOFF_NODE": context.path}
    if run_context.depth:  # the root workflow's folder is in the base environment
        variables |= {"BAKEOFF_WORKFLOW_DIR": folder, "SPECKIT_WORKFLOW_DIR": folder}
    for name, value in run_context.environment.items():
        variables[name] = value
    if context.step.env:
        variables |= environment_given(context)
    return variables


def environment_given(context: NodeContext) -> dict[str, str | None]:
    """The step's own `env`, evaluated; null removes a variable."""
    return {
        str(name): None if value is None else as_text(plain(value)) for name, value in context.values("env").items()
    }


def working_directory(context: NodeContext) -> str:
    """The folder a step works in, absolute."""
    around = context.run_context.cwd or context.run_context.project
    return around if context.step.cwd is None else str(Path(around, as_text(context.value("cwd"))))
