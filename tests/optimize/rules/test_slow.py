"""Functions as people write them: all rules together change no answer."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.rules import slow
from tests.optimize.rules.hostile import MORE_LINES, outcome, variants

from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version, fixed_point

TEXT = Path(slow.__file__).read_bytes()
NAMES = [name for name in vars(slow) if f"{name}_args" in vars(slow)]
SAFE = [rule for rule in RULES if not rule.gamble]


def alone(name: str) -> bytes:
    """The module without what this function does not use: every rule reads all of it."""
    tree = ast.parse(TEXT)
    found = {made: each for each in tree.body if (made := defined(each))}
    used, wanted = set[str](), [name]
    while wanted:
        used.add(one := wanted.pop())
        names = {each.id for each in ast.walk(found[one]) if isinstance(each, ast.Name)}
        wanted += names & found.keys() - used
    lines = TEXT.splitlines(keepends=True)
    for each in reversed(tree.body):
        if defined(each) not in (None, *used):
            del lines[min(part.lineno for part in (each, *getattr(each, "decorator_list", []))) - 1 : each.end_lineno]
    return b"".join(lines)


def defined(statement: ast.stmt) -> str | None:
    """The name that a statement gives a function, a class or a value."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return statement.name if isinstance(statement, ast.FunctionDef | ast.ClassDef) else None


def answer(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a call gives, or which error, and what it leaves of its arguments."""
    mine = copy.deepcopy(arguments)
    try:
        return work(*mine), mine
    except Exception as failure:
        return type(failure).__name__


@pytest.mark.parametrize("name", NAMES)
def test_all_rules_together_answer_alike(name: str) -> None:
    version = fixed_point(Version(alone(name)), name, {}, SAFE)
    assert version.applied
    space: dict[str, Any] = {"__name__": "faster"}
    exec(compile(version.source, "slow.py", "exec"), space)
    for size in (1, 2, 5, 24):
        try:
            arguments = getattr(slow, f"{name}_args")(size)
        except (ValueError, IndexError):
            continue  # there are none so small
        assert answer(space[name], arguments) == answer(getattr(slow, name), arguments)
        for given in variants(arguments) if size == 5 else ():
            expected = outcome(getattr(slow, name), given)
            assert expected is None or outcome(space[name], given, MORE_LINES) == expected, given


def test_methods_go_through_their_lists_once() -> None:
    products = [{"sku": 1, "name": "a", "price": 3}, {"sku": 2, "name": "b", "price": 4}]
    orders = [{"sku": 2, "quantity": 1}, {"sku": 2, "quantity": 5}, {"sku": 3, "quantity": 5}]
    for method, arguments in (("report", ()), ("prices", ()), ("by_sku", ([2, 9],))):
        version = fixed_point(Version(TEXT), f"Shop.{method}", {}, SAFE)
        assert "_by_key" in version.source.decode()
        space: dict[str, Any] = {"__name__": "faster"}
        exec(compile(version.source, "slow.py", "exec"), space)
        faster, as_before = space["Shop"](products, orders), slow.Shop(products, orders)
        assert getattr(faster, method)(*arguments) == getattr(as_before, method)(*arguments)
