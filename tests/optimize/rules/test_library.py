"""Rules on the standard library: whatever they propose is Python, and none of them breaks off."""

from __future__ import annotations

import os
import random
import warnings

import pytest
from tests.optimize.corpus import modules

from bakeoff.optimize.source_code.definitions import definitions
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version, apply_rule, fixed_point

SOAK = bool(os.environ.get("BAKEOFF_SOAK"))


@pytest.mark.soak
def test_whatever_is_proposed_compiles() -> None:
    fired: dict[str, int] = {}
    for path in modules(None if SOAK else 18, 40_000):
        raw = path.read_bytes()
        try:
            names = list(dict.fromkeys(name for name, _, _ in definitions(PythonFile.read(raw).tree)))
        except SyntaxError:
            continue
        for qualname in names if SOAK else random.Random(1).sample(names, min(5, len(names))):
            try:
                for rule in RULES:
                    version = apply_rule(rule, Version(raw), qualname, {})
                    if version is not None:
                        fired[rule.name] = fired.get(rule.name, 0) + 1
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            compile(version.source, str(path), "exec", dont_inherit=True)
                fixed_point(Version(raw), qualname, {}, RULES)
            except Exception as failure:
                failure.add_note(f"in {path}:{qualname}")
                raise
    assert len(fired) > (1 if SOAK else 0), fired
