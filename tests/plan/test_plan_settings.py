"""`[tool.bakeoff.plan]` and `exclude`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.settings import PlanSettings, SettingsError, load_settings


def test_what_is_set_holds_and_the_rest_is_the_default(tmp_path: Path):
    assert load_settings(tmp_path, {}).plan == PlanSettings()
    (tmp_path / "bakeoff.toml").write_text(
        'exclude = ["*.min.js"]\n[plan]\nmax_depth = 3\ncohesion = 1\nsplit = "deep"\n'
    )
    found = load_settings(tmp_path, {})
    assert found.exclude == ("*.min.js",)
    assert found.plan == PlanSettings(max_depth=3, cohesion=1.0, split="deep")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_children = 1", "plan.max_children must be a whole number from 2, not 1"),
        ("max_children = true", "plan.max_children must be a whole number from 2"),
        ("max_depth = 0", "plan.max_depth must be a whole number from 1"),
        ("cohesion = -1", "plan.cohesion must be a number from 0"),
        ('split = "limit"', "plan.split must be one of limits, deep (did you mean limits?)"),
        ("max_files_per_subplans = 1", "did you mean max_files_per_subplan?"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, line: str, said: str):
    (tmp_path / "bakeoff.toml").write_text(f"[plan]\n{line}\n")
    with pytest.raises(SettingsError) as refused:
        load_settings(tmp_path, {})
    assert said in str(refused.value)
    assert str(tmp_path / "bakeoff.toml") in str(refused.value)
