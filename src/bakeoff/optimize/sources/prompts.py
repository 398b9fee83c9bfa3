"""Prompts for models and agents."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

from bakeoff.model.protocol import Message, Request
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine

RULES = """The rules:
- It behaves exactly as before on every input: the same return values and types, the same exceptions, the same changes \
to its arguments, the same output. Each of these is checked, on inputs of the tests and on others.
- Its signature stays, and so do its decorators.
- Only this function may change; new helpers and imports beside it are allowed. Nothing but the standard library and \
what the file imports already.
- Nothing is kept from one call to the next, unless the function is pure; every call is timed by itself, on new inputs.
- It has to be faster by measurement, not by looks."""

COMMAND_RULES = """The rules:
- The command ends and prints exactly as before. Tests check the rest; they and their configuration cannot be changed.
- Nothing is kept in files from one run of the command to the next.
- It has to be faster by measurement, not by looks."""

WHOLE = "Answer with one fenced block that holds the whole file."

WHOLES = (
    "Answer with fenced blocks, one for each version. The first line of each is `# version N`, in any language, where \
N is the number of the version that it comes from; the whole file follows."
)

ANSWER = "Answer with one fenced Python block that holds the whole function, with its helpers and imports if there are \
new ones, and nothing of the rest of the file."

ANSWERS = (
    "Answer with fenced Python blocks, one for each version. The first line of each is the comment `# version N`, \
where N is the number of the version that it comes from. Each holds the whole function, with its helpers and imports \
if there are new ones, and nothing of the rest of the file."
)

WAYS = (
    "Look for a better algorithm first.",
    "Look for better data structures first: what is searched, counted or sorted again and again?",
    "Look for work that is done in Python and that a built-in or the standard library does in C.",
    "Look for work that is done more than once, in vain, or inside of a loop without need.",
)
"""Each of several versions begins elsewhere, so that they are not all the same."""

LONGEST = 6_000
"""Characters of one piece of context."""
MOST_DIFFERENCES = 8


def proposal(context: Context, number: int, max_tokens: int | None) -> Request:
    """Ask for a first version, the one of this number from 1."""
    way = WAYS[(number - 1) % len(WAYS)]
    answer = ANSWER if context.target.qualname else WHOLE
    return _request(f"{_task(context)}\n\n{way}\n\n{answer}", max_tokens)


def repair(context: Context, failures: Sequence[Failure], max_tokens: int | None) -> Request:
    """Ask for versions in place of all that failed."""
    parts = [
        f"Version {number}:\n{_block(code_of(context, failure.candidate))}\nIt differs from the original:\n"
        f"{differences(failure)}"
        for number, failure in enumerate(failures, 1)
    ]
    asked = "These versions do not behave as the original does. Mend each of them so that it does, and stays fast."
    return _request("\n\n".join([_task(context), *parts, asked, _answers(context)]), max_tokens)


def refinement(
    context: Context, winners: Sequence[Candidate], profile: Iterable[ProfileLine], count: int, max_tokens: int | None
) -> Request:
    """Ask for versions that are better than those that were found faster."""
    parts = [_measured(context, number, winner) for number, winner in enumerate(winners, 1)]
    asked = f"These versions behave as the original does. Give {count} still faster ones; join ideas where it helps."
    lines = _profile(profile, "Where the time of version 1 goes")
    return _request("\n\n".join(filter(None, [_task(context), *parts, lines, asked, _answers(context)])), max_tokens)


def adaptation(context: Context, lineage: Sequence[Candidate], max_tokens: int | None) -> Request:
    """Ask for the next version in a line of them, the oldest first."""
    parts = [_measured(context, number, each) for number, each in enumerate(lineage, 1)]
    asked = (
        "Each of these versions was made from the one before it. See what helped and what did not, and give one that "
        "is faster than the last, in another way if this one is at its end."
    )
    answer = ANSWER if context.target.qualname else WHOLE
    return _request("\n\n".join([_task(context), *parts, asked, answer]), max_tokens)


def completion(context: Context, max_tokens: int | None) -> tuple[Request, str]:
    """The same for a model that only goes on with a text: the request, and what its reply begins with."""
    text = own_text(context)
    lead = next((line for line in text.splitlines() if line.startswith(("def ", "async def "))), "def ")
    prompt = f"{text.rstrip()}\n\n\n# The same function, but faster:\n{lead}"
    return Request(prompt=prompt, max_tokens=max_tokens, stop=("\n\n\n", "\n```", "\ndef ", "\nclass ")), lead


def agent_task(context: Context) -> str:
    """Task of an agent."""
    if not context.target.qualname:
        where = "" if context.target.is_project else f" Look at `{context.target}` first."
        return (
            f"Make the command `{context.bench}` run faster by changing the code of this project.{where}\n\n"
            f"{COMMAND_RULES}\n\nEdit files in place, and leave none behind that do not belong to the project."
        )
    return (
        f"Make the function `{context.target.qualname}` in `{context.target.path}` run faster.\n\n{RULES}\n"
        "- Do not change tests or their configuration; such changes are thrown away.\n\n"
        f"{_surroundings(context)}\n\n"
        "Edit that file in place, change no other, and leave none behind. Check your work with the tests."
    )


def differences(failure: Failure) -> str:
    """Differences of a failure, in lines."""
    shown = [f"- {str(each)[:500]}" for each in failure.differences[:MOST_DIFFERENCES]]
    more = len(failure.differences) - len(shown)
    return "\n".join([*shown, f"- and {more} more"] if more > 0 else shown)


def refine_feedback(context: Context, versions: Sequence[Candidate], profile: Iterable[ProfileLine]) -> str:
    """Feedback for an agent on a version that is to become better, the first of these, and of others."""
    figure = context.speeds.get(versions[0].id, "not measured")
    lines = _profile(profile, "Where its time goes")
    others = [_measured(context, number, each) for number, each in enumerate(versions[1:], 2)]
    seen = "\n\n".join(["Others that were tried:", *others]) if others else ""
    return "\n\n".join(filter(None, [f"- It has to be faster still: so far it is {figure}.", lines, seen]))


def own_text(context: Context) -> str:
    """The target as it is, not indented."""
    return _definition(context.source, context.target.qualname)


def code_of(context: Context, candidate: Candidate) -> str:
    """The target as a candidate has it, with what its file has besides and the original has not."""
    content = candidate.files.get(str(context.target.path)) or context.source
    if not context.target.qualname:
        return content.decode("utf-8", "replace")
    try:
        text = _definition(content, context.target.qualname)
        before, after = PythonFile.read(context.source), PythonFile.read(content)
    except (TargetError, SyntaxError):
        return content.decode("utf-8", "replace")[:LONGEST]
    known = {ast.dump(statement) for statement in before.tree.body}
    name = context.target.qualname.partition(".")[0]
    new = [
        after.text[slice(*after.span(statement))]
        for statement in after.tree.body
        if ast.dump(statement) not in known and getattr(statement, "name", None) != name
    ]
    return "\n\n".join([*new, text])


def _definition(source: bytes, qualname: str) -> str:
    definition = locate(source, qualname)
    return dedent(definition.indentation + definition.text)


def _measured(context: Context, number: int, candidate: Candidate) -> str:
    figure = context.speeds.get(candidate.id, "not measured")
    return f"Version {number}: {figure}\n{_block(code_of(context, candidate))}"


def _answers(context: Context) -> str:
    return ANSWERS if context.target.qualname else WHOLES


def _task(context: Context) -> str:
    if not context.target.qualname:
        asked = f"Rewrite the file `{context.target}` so that the command `{context.bench}` runs faster."
        return f"{asked}\n\n{COMMAND_RULES}\n\nThe file:\n{_block(context.source.decode('utf-8', 'replace'), '')}"
    asked = f"Rewrite the function `{context.target.qualname}` of `{context.target.path}` so that it runs faster."
    return f"{asked}\n\n{RULES}\n\nThe function:\n{_block(own_text(context))}\n\n{_surroundings(context)}".rstrip()


def _surroundings(context: Context) -> str:
    parts = []
    if context.helpers:
        parts.append(f"What it uses of its file:\n{_block(_joined(context.helpers.values()))}")
    if context.callers:
        parts.append(f"What calls it:\n{_block(_joined(context.callers))}")
    if context.argument_types:
        parts.append(f"Types of arguments that were seen:\n{_types(context.argument_types)}")
    if context.tests:
        parts.append(f"What its tests show:\n{context.tests[:LONGEST]}")
    parts.append(_profile(context.profile, "Where its time goes"))
    return "\n\n".join(filter(None, parts))


def _types(types: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f"- {name}: {' or '.join(seen)}" for name, seen in types.items())


def _profile(lines: Iterable[ProfileLine], title: str) -> str:
    shown = [line for line in lines if line.hits]
    whole = sum(line.seconds for line in shown) or 1.0
    rows = [f"{line.seconds / whole:6.1%} {line.hits:>9} times | {line.text}" for line in shown]
    return f"{title} (share, how often, line):\n{_block(_joined(rows, ''), '')}" if rows else ""


def _joined(texts: Iterable[str], between: str = "\n\n") -> str:
    found = (between or "\n").join(texts)
    return found if len(found) <= LONGEST else f"{found[:LONGEST]}\n[...]"


def _block(text: str, language: str = "python") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _request(text: str, max_tokens: int | None) -> Request:
    return Request((Message("user", text),), max_tokens=max_tokens)
