"""Checks what expressions say: that they parse, and that the names in them exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bakeoff.workflow.expression_nodes import Path as NamePath
from bakeoff.workflow.expression_nodes import paths
from bakeoff.workflow.expressions import ExpressionError, Template, compile_template
from bakeoff.workflow.models import Condition, Deep, Interpolated, ShellText, marked
from bakeoff.workflow.problems import Path, suggestion
from bakeoff.workflow.tree import Entry, Tree

ROOTS = ("inputs", "steps", "item", "index", "parent_item", "iteration", "iterations", "fan_in", "context")
"""The names that expressions may start from."""

RECORD_KEYS = (
    *("type", "status", "error", "kind", "input", "output", "integration", "model", "options"),
    *("attempts", "started_at", "ended_at", "usage", "facts"),
)
"""Names that `steps.ID` has."""

_FAN_NAMES = frozenset({"item", "index", "parent_item"})
_LOOPS = frozenset({"while", "do-while"})
_ARITHMETIC = re.compile(r"\s[-+*/%]\s|\w[+*/%]\w|^\d+e\d+$")


@dataclass(frozen=True, slots=True)
class Use:
    """One text of the file in which expressions are evaluated.

    Attributes:
        field: the key of the step it stands under.
        path: where it stands.
        template: the text, parsed.
        entry: the step it belongs to; None at the top level.
        shell: whether it is a command for a shell, besides the `run` of a shell step.
    """

    field: str
    path: Path
    template: Template
    entry: Entry | None
    condition: bool = False
    shell: bool = False


def uses(tree: Tree) -> list[Use]:
    """Every text with expressions in it that parses; the others are noted as errors in the tree."""
    found = []
    for entry in tree.entries:
        for _, key, mark in marked(entry.model, Interpolated) if entry.model else ():
            value = entry.raw.get(key)
            found_texts = _deep_texts if isinstance(mark, Deep) else _texts
            for path, text in found_texts((*entry.path, key), value):
                condition = isinstance(mark, Condition)
                if condition and not _check_condition(tree, path, text):
                    continue
                template = _compiled(tree, path, text)
                if template is not None:
                    shell = isinstance(mark, ShellText) or (isinstance(mark, Deep) and path[-1] in mark.shell)
                    found.append(Use(key, path, template, entry, condition, shell))
    for path, text in _top_texts(tree):
        template = _compiled(tree, path, text)
        if template is not None:
            found.append(Use(str(path[0]), path, template, None))
    return found


def _texts(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        # A list for `items` is data and not evaluated.
        if isinstance(part, str) and path[-1] != "items":
            yield (*path, key), part


def _deep_texts(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _deep_texts((*path, key), part)


def _top_texts(tree: Tree) -> Iterator[tuple[Path, str]]:
    data = tree.document.data
    for name, output in _mapping(data.get("outputs")):
        if isinstance(output, dict) and isinstance(output.get("value"), str):
            yield ("outputs", name, "value"), output["value"]
    for name, value in _mapping(data.get("env")):
        if isinstance(value, str):
            yield ("env", name), value


def _mapping(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items() if isinstance(value, dict) else ())


def _compiled(tree: Tree, path: Path, text: str) -> Template | None:
    if "{{" not in text:
        return None
    try:
        template = compile_template(text)
    except ExpressionError as failure:
        _note(tree, path, text, failure)
        return None
    if template.unclosed is not None:
        message = "its `{{` is never closed by `}}`, so it stays as it is written"
        tree.note_in("warning", path, message, text, template.unclosed)
    return None if template.is_literal else template


def _note(tree: Tree, path: Path, text: str, failure: ExpressionError) -> None:
    tree.note_in("error", path, str(failure), text, text.index(failure.expression) + failure.position)


def _check_condition(tree: Tree, path: Path, text: str) -> bool:
    """Whether a condition can be false; the ways in which text is always true are errors."""
    if text == "" or text.strip().lower() in {"true", "false"}:
        return True  # empty is false
    if "{{" not in text:
        advice = f'; write "{{{{ {text.strip()} }}}}"' if text.strip() else ""
        tree.error(path, f"this condition is text and so always true{advice}, or true or false")
        return False
    try:
        template = compile_template(text)
    except ExpressionError as failure:
        _note(tree, path, text, failure)
        return False
    if template.is_literal:
        tree.error(path, "this condition is always true: its `{{` is never closed by `}}`")
    elif not template.single:
        tree.error(
            path,
            "this condition is always true, because it is text with values in it; "
            'put the whole of it into one block, as in "{{ a == 1 and b == 2 }}"',
        )
    return template.single


def check_names(tree: Tree, found: list[Use]) -> None:
    """Warn of every name that nothing stands behind; it reads as null."""
    declared = tree.document.data.get("inputs")
    inputs = [str(name) for name in declared] if isinstance(declared, dict) else []
    for use in found:
        for block in use.template.blocks:
            for path in paths(block.node) if block.node else ():
                if tree.full:
                    return
                complaint = _complaint(tree, use, path, inputs)
                if complaint:
                    text = use.template.source
                    offset = text.index(block.text, block.start) + path.position
                    tree.note_in("warning", use.path, complaint, text, offset)


def _complaint(tree: Tree, use: Use, path: NamePath, inputs: list[str]) -> str | None:
    if path.root not in ROOTS:
        if _ARITHMETIC.search(path.text):
            return f"`{path.text[:60]}` reads as null: expressions do no arithmetic"
        root = suggestion(path.root, ROOTS)
        return f"`{path.text[:60]}` is unknown and reads as null{root}"
    first = path.steps[0] if path.steps else None
    if path.root == "inputs" and isinstance(first, str) and first not in inputs:
        return f"there is no input `{first}`; it reads as null{suggestion(first, inputs)}"
    if path.root == "steps" and isinstance(first, str):
        return _step_complaint(tree, use, path, first)
    if path.root == "fan_in" and use.field != "output":
        return f"`{path.text[:60]}` has a value only under `output` of a fan-in"
    if path.root in _FAN_NAMES and (use.entry is None or use.entry.scope.owner is None):
        return f"`{path.root}` has a value only inside the `step` of a fan-out"
    if path.root in {"iteration", "iterations"} and not _in_loop(use.entry):
        return f"`{path.root}` has a value only inside a loop"
    return None


def _in_loop(entry: Entry | None) -> bool:
    while entry is not None:
        if entry.type_name in _LOOPS:
            return True
        entry = entry.parent
    return False


def _unseen(tree: Tree, use: Use, named: Entry) -> str | None:
    """Why a text cannot see the record of a step that is there: it has not ended when the text is evaluated."""
    what = f"the step `{named.id}` (line {tree.document.position(named.path)[0]})"
    if use.entry is None:
        return f"{what} has not run when `env` is evaluated; it reads as null" if use.field == "env" else None
    around = _around(use.entry)
    shared = [entry for entry in around if entry in _around(named)]
    if any(entry.type_name in _LOOPS and entry.scope is named.scope for entry in shared):
        return None  # it may have run in an earlier pass
    if named is use.entry:
        return f"{what} is this step itself, which has not run yet; it reads as null"
    if shared and shared[0] is not use.entry and shared[0] is not named and _apart(shared[0], use.entry, named):
        return f"{what} stands in another branch of `{shared[0].id}`, which this one cannot see; it reads as null"
    if named.order > use.entry.order:
        return f"{what} runs after this one and reads as null here; move this step behind it"
    return None


def _around(entry: Entry) -> list[Entry]:
    """A step and those it stands in, from the inside out."""
    found = [entry]
    while (parent := found[-1].parent) is not None:
        found.append(parent)
    return found


def _apart(holder: Entry, one: Entry, other: Entry) -> bool:
    """Whether two steps stand in different branches of the step that holds both."""
    depth = len(holder.path)
    length = 2 if one.path[depth] == other.path[depth] and one.path[depth] in {"cases", "branches"} else 1
    return one.path[depth : depth + length] != other.path[depth : depth + length]


def _step_complaint(tree: Tree, use: Use, path: NamePath, name: str) -> str | None:
    scope = use.entry.scope if use.entry else tree.scope
    # A path such as `steps.loop:body:1` names one pass of a loop or one item.
    named = scope.find(name.split(":")[0])
    if named is None:
        return f"there is no step `{name}` here; it reads as null{suggestion(name, scope.names())}"
    key = path.steps[1] if len(path.steps) > 1 else None
    if isinstance(key, str) and key not in RECORD_KEYS:
        rest = path.text.split(".", 2)[2]
        return f"`{path.text[:60]}` reads as null; did you mean `steps.{name}.output.{rest[:40]}`?"
    return _unseen(tree, use, named)
