"""`[tool.bakeoff.plan]` and `exclude`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.plan.run.options import SubplanConfig
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
        ('execution_mode = "paralel"', "plan.execution_mode must be one of sequential, parallel, dependency_ordered"),
        ("max_parallel = 0", "plan.max_parallel must be a whole number from 1"),
        ("max_retries = -1", "plan.max_retries must be a whole number from 0, not -1"),
        ("fail_fast = 1", "plan.fail_fast must be true or false"),
        ("timeout_per_subplan = 0", "plan.timeout_per_subplan must be a number of seconds above 0"),
        ('on_conflict = "ours"', "plan.on_conflict must be one of reopen"),
        ("max_files_per_subplans = 1", "did you mean max_files_per_subplan?"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, line: str, said: str):
    (tmp_path / "bakeoff.toml").write_text(f"[plan]\n{line}\n")
    with pytest.raises(SettingsError) as refused:
        load_settings(tmp_path, {})
    assert said in str(refused.value)
    assert str(tmp_path / "bakeoff.toml") in str(refused.value)


def test_what_is_not_given_on_the_way_is_as_the_settings_say():
    usual = PlanSettings()
    assert SubplanConfig.of(usual, {}) == SubplanConfig("parallel")
    own = PlanSettings(execution_mode="sequential", max_parallel=2, fail_fast=True, max_retries=3, max_reopened=0)
    assert SubplanConfig.of(own, {}) == SubplanConfig("sequential", 2, True, 3, max_reopened=0)
    given = {"max_retries": 0, "fail_fast": False, "max_parallel": None, "on_conflict": "fail"}
    assert SubplanConfig.of(own, given) == SubplanConfig("sequential", 2, False, 0, None, "fail", 0)
