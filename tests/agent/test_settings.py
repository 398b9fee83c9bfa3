from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.settings import Settings, SettingsError, load_settings


def write(root, text, name="pyproject.toml"):
    (root / name).write_text(text)
    return root


def test_nothing_set_gives_defaults(tmp_path):
    assert load_settings(tmp_path, {}) == Settings()
    assert load_settings(tmp_path / "missing", {}).max_parallel == 64
    write(tmp_path, '[project]\nname = "x"\n')
    assert load_settings(tmp_path, {}) == Settings()


def test_everything_is_read(tmp_path):
    (tmp_path / "steps.py").touch()
    write(
        tmp_path,
        """
[tool.bakeoff]
max_parallel = 8
lanes = {agents = 2, gpu = 1}
integration = "codex"
model = "m"
max_usd = 2
grace = 0.5
step_types = "steps.py"
[tool.bakeoff.agents.mine]
argv = ["tool", ["--model", "{model}"], "{extra}", "{prompt}"]
env = {A = "b"}
events = "claude"
[tool.bakeoff.agents.claude]
executable = "/opt/claude"
args = ["--bare"]
[tool.bakeoff.agents.opus]
like = "claude"
model = "opus"
""",
    )
    settings = load_settings(tmp_path, {})
    assert (settings.max_parallel, settings.lanes, settings.integration) == (8, {"agents": 2, "gpu": 1}, "codex")
    assert (settings.max_usd, settings.grace, settings.step_types) == (2.0, 0.5, tmp_path / "steps.py")
    assert settings.agents["mine"].argv == ("tool", ("--model", "{model}"), "{extra}", "{prompt}")
    assert settings.agents["claude"].args == ("--bare",)
    assert settings.agents["opus"].like == "claude"
    assert settings.source == tmp_path / "pyproject.toml"
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.model = "other"


def test_own_file_goes_first_and_says_so(tmp_path):
    write(tmp_path, "[tool.bakeoff]\nmax_parallel = 3\n")
    write(tmp_path, "max_parallel = 5\n", "bakeoff.toml")
    settings = load_settings(tmp_path, {})
    assert settings.max_parallel == 5
    assert "is not used" in settings.warnings[0]


def test_environment_goes_last(tmp_path):
    write(tmp_path, "[tool.bakeoff]\nmax_parallel = 3\nlanes = {tests = 1}\n")
    (tmp_path / "s.py").touch()
    environ = {
        "BAKEOFF_MAX_PARALLEL": "9",
        "BAKEOFF_MODEL": "7",
        "BAKEOFF_GRACE": "1.5",
        "BAKEOFF_MAX_USD": "2.5",
        "BAKEOFF_LANE_TESTS": "6",
        "BAKEOFF_STEP_TYPES": "s.py",
        "BAKEOFF_INTEGRATION": "",
        "BAKEOFF_MAX_PARALEL": "4",
        "BAKEOFF_SLOT": "1",
        "OTHER": "x",
    }
    settings = load_settings(tmp_path, environ)
    assert (settings.max_parallel, settings.model, settings.grace, settings.max_usd) == (9, "7", 1.5, 2.5)
    assert settings.lanes == {"tests": 6}
    assert settings.step_types == tmp_path / "s.py"
    assert settings.integration is None
    assert settings.warnings == ("environment: BAKEOFF_MAX_PARALEL is no setting (did you mean BAKEOFF_MAX_PARALLEL?)",)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("max_paralel = 1", ["tool.bakeoff.max_paralel", "did you mean max_parallel?"]),
        ("max_parallel = 0", ["tool.bakeoff.max_parallel must be a whole number from 1, not 0"]),
        ("max_parallel = true", ["whole number"]),
        ("grace = -1", ["tool.bakeoff.grace", "a number from 0"]),
        ("max_usd = nan", ["max_usd", "a number above 0"]),
        ("max_usd = 0", ["max_usd", "a number above 0"]),
        ("model = ''", ["model", "not empty"]),
        ("lanes = {tests = 'x'}", ["tool.bakeoff.lanes.tests"]),
        ("lanes = 3", ["lanes must be a table"]),
        ("step_types = 'no.py'", ["step_types: there is no file"]),
        ("agents = {x = 1}", ["agents.x must be a table"]),
        ("agents = {claud = {model = 'x'}}", ["agents.claud", "did you mean claude?", "argv"]),
        ("agents = {claude = {excutable = 'x'}}", ["agents.claude.excutable", "did you mean executable?"]),
        ("agents = {claude = {like = 'codex'}}", ["agents.claude.like"]),
        ("agents = {x = {like = 'codx'}}", ["agents.x.like", "did you mean codex?"]),
        ("agents = {codex = {price_in = 1}}", ["agents.codex", "price_in and price_out go together"]),
        ("agents = {codex = {price_in = -1, price_out = 1}}", ["agents.codex.price_in", "a number from 0"]),
        ("agents = {x = {argv = []}}", ["agents.x.argv", "first item is the program"]),
        ("agents = {x = {argv = ['a', 1]}}", ["agents.x.argv", "list of texts"]),
        ("agents = {x = {argv = ['a', [1]]}}", ["agents.x.argv", "list of texts"]),
        ("agents = {x = {argv = ['a']}}", ["agents.x.argv", "{prompt}"]),
        ("agents = {x = {argv = ['a', '{promt}']}}", ["{promt}", "did you mean prompt?"]),
        ("agents = {x = {argv = ['a', '{prompt}', '-{extra}']}}", ["stands alone"]),
        ("agents = {x = {argv = ['a', '{prompt}'], env = {A = 1}}}", ["agents.x.env"]),
        ("agents = {x = {argv = ['a', '{prompt}'], args = 'b'}}", ["agents.x.args", "list of texts"]),
        ("agents = {x = {argv = ['a', '{prompt}'], events = 'claud'}}", ["events", "did you mean claude?"]),
    ],
)
def test_mistakes_name_file_and_key(tmp_path, text, parts):
    write(tmp_path, f"[tool.bakeoff]\n{text}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path, {})
    assert str(tmp_path / "pyproject.toml") in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "part"),
    [(b"bakeoff = [", "not valid TOML"), (b"bakeoff = '\xff'", "not UTF-8"), (b"tool = {bakeoff = 3}", "a table")],
)
def test_broken_files_are_named(tmp_path, raw, part):
    (tmp_path / "pyproject.toml").write_bytes(raw)
    with pytest.raises(SettingsError, match=part):
        load_settings(tmp_path, {})


def test_unreadable_file_is_named(tmp_path):
    (tmp_path / "bakeoff.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path, {})


@pytest.mark.parametrize(("name", "text"), [("BAKEOFF_MAX_PARALLEL", "many"), ("BAKEOFF_LANE_TESTS", "0")])
def test_wrong_variable_is_named(tmp_path, name, text):
    with pytest.raises(SettingsError, match=f"environment: {name} must be a whole number"):
        load_settings(tmp_path, {name: text})


def test_loading_imports_no_agents_and_nothing_heavy(tmp_path):
    code = (
        "import sys; from pathlib import Path; before = set(sys.modules); from bakeoff.settings import load_settings;"
        f"load_settings(Path({str(tmp_path)!r}));"
        "heavy = {'bakeoff.agent', 'tomllib', 'difflib', 'pydantic'} & (set(sys.modules) - before);"
        "assert not heavy, heavy"
    )
    source = Path(__file__).parents[2] / "src"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(source)})
