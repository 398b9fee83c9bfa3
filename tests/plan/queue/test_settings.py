"""`[tool.bakeoff.merge]`."""

from __future__ import annotations

import pytest

from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.queue.options import MergeOptions
from bakeoff.settings import MergeSettings, SettingsError, load_settings


def given(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(f"[tool.bakeoff.merge]\n{text}\n")
    return load_settings(tmp_path, {})


def test_all_of_them(tmp_path):
    settings = given(
        tmp_path,
        'strategy = "ours_first"\nunion = ["*.md"]\nstructured = false\nwidth = 3\nlockfiles = {"*.lock" = "make"}',
    )
    assert settings.merge == MergeSettings("ours_first", ("*.md",), (("*.lock", "make"),), False, 3)
    asked = MergeOptions(("a",), ("true",)).settled(settings)
    assert (asked.strategy, asked.width, asked.rules) == (
        "ours_first",
        3,
        Rules(("*.md",), (("*.lock", "make"),), False),
    )
    assert MergeOptions.from_json(asked.to_json() | {"later": 1}) == asked
    own = MergeOptions(("a",), ("true",), strategy="three_way", width=1, union=("x",), sandbox="none").settled(settings)
    assert (own.strategy, own.width, own.union, own.sandbox) == ("three_way", 1, ("x",), "none")
    assert MergeOptions(("a",), ("true",)).settled(load_settings(tmp_path / "elsewhere", {})).rules == Rules()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('strategy = "ours-first"', "merge.strategy must be one of .*did you mean ours_first"),
        ('unoin = ["a"]', "merge.unoin is no setting .did you mean union"),
        ("lockfiles = {a = 1}", "merge.lockfiles must be a table of texts"),
        ("width = 0", "merge.width must be a whole number from 1"),
        ("structured = 1", "merge.structured must be true or false"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, said):
    with pytest.raises(SettingsError, match=said):
        given(tmp_path, text)
