"""Replacing statements: what is kept around them, and what cannot be done."""

from __future__ import annotations

import ast

import pytest

from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.sources.rules.rewriting import UnfitError, rewritten
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.source import Version, apply_rule

TEXT = """def f(x):
\t# above
\ta = 1; b = 2  # beside
\tif x: return a
\telif b:
\t\tpass
\t# before c
\tc = 3
\treturn c
"""


def body() -> tuple[PythonFile, list[ast.stmt]]:
    file = PythonFile(TEXT)
    assert isinstance(file.tree.body[0], ast.FunctionDef)
    return file, file.tree.body[0].body


def test_small_statements_get_lines_of_their_own() -> None:
    file, statements = body()
    result = rewritten(file, [(statements[1:2], "b = 5")])
    assert result.startswith("def f(x):\n\t# above\n\ta = 1\n\t# beside\n\tb = 5\n\tif x: return a\n")


def test_one_line_blocks_are_opened() -> None:
    file, statements = body()
    assert isinstance(statements[2], ast.If)
    result = rewritten(file, [(statements[2].body, "x = 1\nreturn x")])
    assert "\tif x:\n\t\tx = 1\n\t\treturn x\n\telif b:" in result


def test_a_block_is_never_empty_and_comments_stay() -> None:
    file, statements = body()
    assert isinstance(statements[2], ast.If)
    assert "\tif x:\n\t\tpass\n" in rewritten(file, [(statements[2].body, "")])
    result = rewritten(file, [(statements[3:], "return 3")])
    assert result.endswith("\t# before c\n\treturn 3\n")


def test_what_cannot_be_replaced() -> None:
    file, statements = body()
    assert isinstance(statements[2], ast.If)
    for replacements in (
        [(statements[0:2], "x"), (statements[1:2], "y")],
        [(statements[2].orelse, "x")],
        [([statements[0], statements[2].body[0]], "x")],
        [([], "x")],
    ):
        with pytest.raises(UnfitError):
            rewritten(file, replacements)


def test_a_rewrite_that_cannot_be_applied_is_dropped() -> None:
    taken = Rule(
        "taken",
        "Never.",
        lambda subject: iter([Rewrite([(subject.node.body, "return 1")], imports=["import os as f"])]),
    )
    unfit = Rule("unfit", "Never.", lambda subject: iter([Rewrite([([], "")])]))
    assert apply_rule(taken, Version(b"def f():\n    return 2\n"), "f", {}) is None
    assert apply_rule(unfit, Version(b"def f():\n    return 2\n"), "f", {}) is None
