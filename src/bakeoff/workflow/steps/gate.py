"""`gate`: somebody decides. By an input, by `bakeoff answer`, or at the terminal; without any of them it pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from bakeoff.engine.events import GateOpened
from bakeoff.engine.record import Outcome, Status
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.steps.leaf import Leaf
from bakeoff.workflow.values import as_text, plain

REJECTIONS = frozenset({"reject", "abort"})


def prepare(context: NodeContext) -> Leaf:
    """A gate's work.

    Passes on ExpressionError: its message cannot be evaluated.
    """
    step = context.step
    message = as_text(context.value("message"))
    show = None if step.show_file is None else as_text(context.value("show_file"))
    given = {"message": message, "options": step.options, "on_reject": step.on_reject, "show_file": show}

    async def work(_: int) -> Outcome:
        choice, error = await _choice(context, message, show)
        return await _outcome(context, given, choice, error)

    return Leaf(given, work, lanes=None)


async def _choice(context: NodeContext, message: str, show: str | None) -> tuple[str | None, str | None]:
    """The option chosen, or None; and what is wrong with the answer, if anything."""
    step, run = context.step, context.run
    if step.verdict_input is not None:
        verdict = context.run_context.inputs.get(step.verdict_input)
        if verdict not in (None, ""):
            if not isinstance(verdict, str):
                return None, f"input `{step.verdict_input}` decides this gate and must be text, not {verdict!r}"
            return _spelled(verdict, step.options, f"input `{step.verdict_input}`")
    answer = run.answers.get(context.path)
    if answer is None:
        run.gates[context.path] = tuple(step.options)
        message = run.masker.text(message)
        run.events.emit(GateOpened(run.clock.wall(), context.path, message, tuple(step.options)))
        answer = await _asked(context, message, show) if context.run_context.asker else None
    if answer is None:
        return None, None
    run.gates.pop(context.path, None)
    return _spelled(answer, step.options, "the answer")


async def _asked(context: NodeContext, message: str, show: str | None) -> str | None:
    """Whatever comes first: the answer at the terminal or that of `bakeoff answer`."""
    asker, run = context.run_context.asker, context.run
    assert asker is not None
    found: list[str | None] = []
    async with anyio.create_task_group() as group:

        async def elsewhere() -> None:
            await run.answer_event(context.path).wait()
            found.append(run.answers[context.path])
            group.cancel_scope.cancel()

        group.start_soon(elsewhere)
        found.append(await asker.ask(context.path, message, context.step.options, show))
        group.cancel_scope.cancel()
    return found[0]


def _spelled(answer: str, options: Sequence[str], where: str) -> tuple[str | None, str | None]:
    """The option that an answer means, in the option's own spelling."""
    for option in options:
        if option.lower() == answer.strip().lower():
            return option, None
    return None, f"{where} is {answer!r}; the choices are {', '.join(options)}"


async def _outcome(context: NodeContext, given: dict[str, Any], choice: str | None, error: str | None) -> Outcome:
    step = context.step
    output = {**given, "choice": choice}
    gate = {"step_id": context.path, "message": given["message"], "options": step.options, "choice": choice}
    facts = {"gate": gate}
    if error is not None:
        return Outcome(Status.FAILED, output, error, "answer", given, facts=facts)
    if choice is None:
        return Outcome(Status.PAUSED, output, input=given, facts=facts)
    if choice.lower() in REJECTIONS:
        if step.on_reject == "abort":
            output["aborted"] = True
            return Outcome(Status.FAILED, output, f"rejected: {given['message']}", "rejected", given, facts=facts)
        if step.on_reject == "retry":
            await _forget(context)
            return Outcome(Status.PAUSED, output, input=given, facts=facts)
    return Outcome(Status.COMPLETED, output, input=given)


async def _forget(context: NodeContext) -> None:
    """Forget the answer, so that whoever asks again does not hear it."""
    await context.run.forget_answer(context.path)
    name = context.step.verdict_input
    if name is not None and context.run_context.inputs.get(name):
        context.run_context.inputs[name] = ""
        await context.run.note("inputs", plain(context.run_context.inputs)).committed()
