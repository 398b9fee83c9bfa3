"""Examples of a docstring as tests: calls with literal arguments, and the literal that each returns."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SIGNS = r"\s*(?:==+>|=>|==|=|-+>|➞|→|#\s*=>|returns?|should\s+(?:be|return))\s*"
GIVEN = re.compile(r"For\s+(\w+\s*=\s*.+?)\s+the output should be\s+(.+)")
INPUT = re.compile(r"Input:\s*(.+?)\s*\n\s*Output:\s*(.+)")


@dataclass(frozen=True, slots=True)
class Example:
    """A call, as an expression, with its arguments, and what it returns."""

    expression: str
    arguments: tuple[Any, ...]
    expected: Any


def examples(docstring: str, function: str, parameters: list[str]) -> list[Example]:
    """All examples that can be read, each call once: doctests, `f(1) == 2` in its many spellings, `Input:` lines."""
    found: dict[str, Example] = {}
    for call, told in [*_doctests(docstring), *_lines(docstring, function), *_inputs(docstring, function, parameters)]:
        arguments = _arguments(call, function, parameters)
        expected = _literal(told)
        if arguments is not None and expected is not None:
            found.setdefault(call, Example(call, arguments, expected[0]))
    return list(found.values())


def _doctests(docstring: str) -> Iterator[tuple[str, str]]:
    try:
        parsed = doctest.DocTestParser().get_examples(docstring)
    except ValueError:  # what looks like one and is none
        return
    for one in parsed:
        yield one.source.strip(), one.want.strip()


def _lines(docstring: str, function: str) -> Iterator[tuple[str, str]]:
    for line in docstring.splitlines():
        start = line.find(f"{function}(")
        if start < 0:
            continue
        text = line[start:]
        for end in (place.end() for place in re.finditer(r"\)", text)):
            if _parsed(text[:end]) is not None:
                if sign := re.match(SIGNS, text[end:]):
                    yield text[:end], text[end + sign.end() :].strip()
                break


def _inputs(docstring: str, function: str, parameters: list[str]) -> Iterator[tuple[str, str]]:
    for told in (*GIVEN.finditer(docstring), *INPUT.finditer(docstring)):
        given, output = told[1], told[2].strip()
        if "=" not in given and len(parameters) != 1:
            continue
        yield f"{function}({given})", output


def _parsed(text: str) -> ast.Call | None:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return node if isinstance(node, ast.Call) else None


def _arguments(text: str, function: str, parameters: list[str]) -> tuple[Any, ...] | None:
    """The values of a call of the function, by position; None where it is another, or they are no literals."""
    call = _parsed(text)
    if call is None or not isinstance(call.func, ast.Name) or call.func.id != function:
        return None
    named = {one.arg: one.value for one in call.keywords}
    nodes = [*call.args, *(named[name] for name in parameters[len(call.args) :] if name in named)]
    if len(nodes) != len(call.args) + len(call.keywords):
        return None
    try:
        return tuple(ast.literal_eval(node) for node in nodes)
    except ValueError:
        return None


def _literal(text: str) -> tuple[Any] | None:
    """The value that a text says, in a tuple; None where it says none."""
    for part in (text, text.partition(" #")[0], text.partition(" (")[0], text.rpartition("=")[2], text.rstrip(".")):
        part = {"true": "True", "false": "False"}.get(part.strip(), part.strip())
        try:
            return (ast.literal_eval(part),)
        except (ValueError, SyntaxError):
            continue
    return None
