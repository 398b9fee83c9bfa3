"""Rules on the standard library: whatever they propose is Python, and none of them breaks off."""

from __future__ import annotations

import ast
import os
import warnings
from collections import Counter

import pytest
from tests.optimize.corpus import modules

from bakeoff.optimize.source_code.definitions import definitions
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version, apply_rule, fixed_point

SOAK = bool(os.environ.get("BAKEOFF_SOAK"))
REPEATING = (ast.For, ast.While, ast.comprehension)


def looked_at(tree: ast.Module) -> list[str]:
    """All functions of a module; in the short run the two that loop most, since most rules are about loops."""
    loops = Counter[str]()
    for name, node, _ in definitions(tree):
        loops[name] = sum(isinstance(each, REPEATING) for each in ast.walk(node))
    return list(loops) if SOAK else [name for name, count in loops.most_common(2) if count]


@pytest.mark.soak
def test_whatever_is_proposed_compiles() -> None:
    fired: Counter[str] = Counter()
    for path in modules(None if SOAK else 300, 20_000):
        raw = path.read_bytes()
        try:
            tree = PythonFile.read(raw).tree
        except SyntaxError:
            continue
        for qualname in looked_at(tree):
            try:
                before = fired.total()
                for rule in RULES:
                    version = apply_rule(rule, Version(raw), qualname, {})
                    if version is not None:
                        fired[rule.name] += 1
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            compile(version.source, str(path), "exec", dont_inherit=True)
                if fired.total() > before:  # else together they do nothing, too
                    fixed_point(Version(raw), qualname, {}, RULES)
            except Exception as failure:
                failure.add_note(f"in {path}:{qualname}")
                raise
    assert len(fired) >= (11 if SOAK else 6), fired
