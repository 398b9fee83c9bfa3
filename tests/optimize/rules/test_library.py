"""Rules on the standard library: whatever they propose is Python, and none of them breaks off."""

from __future__ import annotations

import ast
import os
import random
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
"""Rules are mostly about what is done again and again: the short run looks at functions that do."""


@pytest.mark.soak
def test_whatever_is_proposed_compiles() -> None:
    fired: Counter[str] = Counter()
    for path in modules(None if SOAK else 130, 40_000):
        raw = path.read_bytes()
        try:
            found = {name: node for name, node, _ in definitions(PythonFile.read(raw).tree)}
        except SyntaxError:
            continue
        repeating = [
            name for name, node in found.items() if any(isinstance(each, REPEATING) for each in ast.walk(node))
        ]
        for qualname in found if SOAK else random.Random(1).sample(repeating, min(3, len(repeating))):
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
    assert len(fired) >= (7 if SOAK else 4), fired
