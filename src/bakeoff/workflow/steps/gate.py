"""`gate`: somebody decides. By an input, by `bakeoff answer`, or at the terminal; without any of them it pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from bakeoff.engine.events import GateOpened
from bakeoff.engine.record import Outcome, Status
from bakeoff.workflow.context import Place
from bakeoff.workflow.steps.leaf import Leaf
from bakeoff.workflow.values import as_text, plain

REJECTIONS = frozenset({"reject", "abort"})


def prepare(place: Place) -> Leaf:
    """A gate's work.

    Passes on ExpressionError: its message cannot be evaluated.
    """
    step = place.step
    message = as_text(place.value("message"))
    show = None if step.show_file is None else as_text(place.value("show_file"))
    given = {"message": message, "options": step.options, "on_reject": step.on_reject, "show_file": show}

    async def work(_: int) -> Outcome:
        choice, error = await _choice(place, message, show)
        return await _outcome(place, given, choice, error)

    return Leaf(given, work, lanes=None)


async def _choice(place: Place, message: str, show: str | None) -> tuple[str | None, str | None]:
    """The option chosen, or None; and what is wrong with the answer, if anything."""
    step, run = place.step, place.run
    if step.verdict_input is not None:
        verdict = place.setting.inputs.get(step.verdict_input)
        if verdict not in (None, ""):
            if not isinstance(verdict, str):
                return None, f"input `{step.verdict_input}` decides this gate and must be text, not {verdict!r}"
            return _spelled(verdict, step.options, f"input `{step.verdict_input}`")
    answer = run.answers.get(place.path)
    if answer is None:
        run.gates[place.path] = tuple(step.options)
        message = run.masker.text(message)
        run.events.emit(GateOpened(run.clock.wall(), place.path, message, tuple(step.options)))
        answer = await _asked(place, message, show) if place.setting.asker else None
    if answer is None:
        return None, None
    run.gates.pop(place.path, None)
    return _spelled(answer, step.options, "the answer")


async def _asked(place: Place, message: str, show: str | None) -> str | None:
    """Whatever comes first: the answer at the terminal or that of `bakeoff answer`."""
    asker, run = place.setting.asker, place.run
    assert asker is not None
    found: list[str | None] = []
    async with anyio.create_task_group() as group:

        async def elsewhere() -> None:
            await run.answer_event(place.path).wait()
            found.append(run.answers[place.path])
            group.cancel_scope.cancel()

        group.start_soon(elsewhere)
        found.append(await asker.ask(place.path, message, place.step.options, show))
        group.cancel_scope.cancel()
    return found[0]


def _spelled(answer: str, options: Sequence[str], where: str) -> tuple[str | None, str | None]:
    """The option that an answer means, in the option's own spelling."""
    for option in options:
        if option.lower() == answer.strip().lower():
            return option, None
    return None, f"{where} is {answer!r}; the choices are {', '.join(options)}"


async def _outcome(place: Place, given: dict[str, Any], choice: str | None, error: str | None) -> Outcome:
    step = place.step
    output = {**given, "choice": choice}
    gate = {"step_id": place.path, "message": given["message"], "options": step.options, "choice": choice}
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
            await _forget(place)
            return Outcome(Status.PAUSED, output, input=given, facts=facts)
    return Outcome(Status.COMPLETED, output, input=given)


async def _forget(place: Place) -> None:
    """Whoever asks again must not hear the old answer."""
    await place.run.forget_answer(place.path)
    name = place.step.verdict_input
    if name is not None and place.setting.inputs.get(name):
        place.setting.inputs[name] = ""
        await place.run.note("inputs", plain(place.setting.inputs)).committed()
