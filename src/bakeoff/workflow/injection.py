"""Shell and code injection: untrusted text that a shell would execute, or that chooses what is run, is refused."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from bakeoff.workflow.expression_nodes import Filtered
from bakeoff.workflow.expressions import Block, ExpressionError, Template, compile_template
from bakeoff.workflow.names import Use
from bakeoff.workflow.problems import Path
from bakeoff.workflow.programs import ITSELF, LOADS_CODE, SHELLS, executor
from bakeoff.workflow.shell_text import PLAIN, executed_variables, surroundings, with_marks
from bakeoff.workflow.taint import Taint
from bakeoff.workflow.tree import Entry, Tree

_ADVICE = "quote it with `| sh`, or hand it over in `env:`, or use `argv:`"


def check_shell(tree: Tree, uses: list[Use], taint: Taint | None) -> list[tuple[Path, str]]:
    """Places where untrusted text is executed, pasted unquoted or quoted where that does not help, each with a message.

    Without `taint`, only the last.
    """
    found = [*_in_variables(tree, uses, taint), *_in_choices(uses, taint)] if taint is not None else []
    for use in uses:
        if use.shell:
            found += [(use.path, message) for message in _in_shell_text(use, taint)]
        if use.entry is None or use.entry.type_name != "shell" or use.field not in {"run", "argv"}:
            continue
        program = _executor(use) if use.field == "argv" else None
        if use.field == "run" or program in SHELLS:
            found += [(use.path, message) for message in _in_shell_text(use, taint)]
        elif program is not None and taint is not None:
            blocks = (block for block in use.template.blocks if taint.untrusted(block.node, use.entry))
            found += [(use.path, _executed(_shown(block), program)) for block in blocks]
    return found


_CHOICES = {
    "workflow": "it would choose which workflow is run; use a `switch` over names that stand in the file",
    "cwd": "it would choose the folder in which programs find their settings; use a `switch`, or a folder of the file",
    "integration_args": "it would be options of the agent's CLI; say it in the prompt",
}


def _in_choices(uses: list[Use], taint: Taint) -> list[tuple[Path, str]]:
    """Untrusted text that chooses what is run: by a field that does so, or by a variable that loads code."""
    found = []
    for use in uses:
        why = _CHOICES.get(use.field)
        if use.field == "env" and LOADS_CODE.fullmatch(str(use.path[-1])):
            why = f"the variable {use.path[-1]} decides what code is loaded; set it to a text of the file"
        if why is None or (use.field == "workflow" and (use.entry is None or use.entry.type_name != "workflow")):
            continue
        for block in use.template.blocks:
            if taint.untrusted(block.node, use.entry):
                found.append((use.path, f"`{_shown(block)}` is text that nobody has read (an agent's): {why}"))
                break
    return found


def mark_unread_words(tree: Tree, uses: list[Use]) -> None:
    """Note at each shell step which words of its `argv` may begin with untrusted text, for when it is run.

    In a file that is called, its inputs count as such, and so does what the workflows that it calls give back.
    """
    inputs = tree.document.data.get("inputs")
    names = frozenset(str(name) for name in inputs) if isinstance(inputs, dict) else frozenset()
    for called, given in ((False, frozenset[str]()), (True, names)):
        taint = Taint(tree, uses, given, lambda *_: True)
        for use in uses:
            if use.field == "argv" and use.entry is not None and use.entry.step is not None:
                leading = takewhile(lambda part: isinstance(part, Block), use.template.parts)
                if any(isinstance(part, Block) and taint.untrusted(part.node, use.entry) for part in leading):
                    use.entry.step.note_unread(called, use.path[-1])


def _in_variables(tree: Tree, uses: list[Use], taint: Taint) -> list[tuple[Path, str]]:
    """Variables that a shell step executes, filled by an `env`, its own or one around it, with untrusted text."""
    untrusted = {
        use.path: any(taint.untrusted(block.node, use.entry) for block in use.template.blocks)
        for use in uses
        if use.field == "env"
    }
    if not any(untrusted.values()):
        return []
    found = []
    for entry in tree.entries:
        names = _variables(tree, entry, untrusted) if entry.type_name == "shell" else ()
        for path, text in _shell_texts(entry) if names else ():
            for name, program in executed_variables(text, names):
                found.append((path, _executed(f"${name}", program, "")))
    return found


def _variables(tree: Tree, entry: Entry, untrusted: Mapping[Path, bool]) -> set[str]:
    """The variables of a step that hold untrusted text; the nearest `env` that names one counts."""
    holders: list[tuple[Path, object]] = []
    holder: Entry | None = entry
    while holder is not None:
        holders.append((holder.path, holder.raw.get("env")))
        holder = holder.parent
    holders.append(((), tree.document.data.get("env")))
    found: dict[str, bool] = {}
    for path, env in holders:
        for name in env if isinstance(env, dict) else ():
            found.setdefault(str(name), untrusted.get((*path, "env", name), False))
    return {name for name, holds in found.items() if holds}


def _shell_texts(entry: Entry) -> list[tuple[Path, Template]]:
    """The texts that a shell reads, as far as they parse."""
    run, argv = entry.raw.get("run"), entry.raw.get("argv")
    texts = [((*entry.path, "run"), run)]
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    texts += [((*entry.path, "argv", at), word) for at, word in enumerate(words) if executor(words, at) in SHELLS]
    found: list[tuple[Path, Template]] = []
    for path, text in texts:
        try:
            found.append((path, compile_template(text)))
        except ExpressionError:
            continue
    return [(path, template) for path, template in found if isinstance(template.source, str)]


def _in_shell_text(use: Use, taint: Taint | None) -> list[str]:
    found = []
    for block, where, program in surroundings(use.template):
        quoted = isinstance(block.node, Filtered) and block.node.name == "sh"
        untrusted = taint is not None and taint.untrusted(block.node, use.entry)
        if quoted and where != PLAIN:
            reason = f"`{_shown(block)}` stands {where}, where `| sh` does not protect"
            found.append(f"{reason}; take it out of there: `| sh` brings its own quotes")
        elif not quoted and untrusted:
            reason = f"`{_shown(block)}` pastes text that nobody has read (an agent's) into a shell command"
            found.append(f"{reason}; {_ADVICE}")
        elif untrusted and program is not None:
            found.append(_executed(_shown(block), program))
    return found


def _executor(use: Use) -> str | None:
    """The program that executes a text of an `argv`."""
    argv, at = use.entry.raw.get("argv") if use.entry else None, use.path[-1]
    if not isinstance(argv, list) or not isinstance(at, int):
        return None
    words = [str(word) for word in argv]
    words[at] = with_marks(use.template)
    return executor(words, at)


def _executed(written: str, program: str, where: str = ", in `env:`") -> str:
    """The message on untrusted text as code, or as the name of what runs."""
    what = "is the name of the program" if program == ITSELF else f"is executed by `{program}`, however it is quoted"
    return (
        f"`{written}` is text that nobody has read (an agent's) and {what}; "
        f"name the program yourself, and hand the text over as data{where}"
    )


def _shown(block: Block) -> str:
    text = " ".join(block.text.split())
    return "{{ " + (text if len(text) <= 60 else text[:57] + "...") + " }}"
