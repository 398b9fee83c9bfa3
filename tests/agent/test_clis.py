"""What every built-in CLI owes to the rest; a test that fails says what to write in its file (`clis/README.md`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.agent import clis
from bakeoff.agent.clis import cli_module, event_format
from bakeoff.agent.entry import PLACEHOLDERS, QUIET, AgentError, Entry
from bakeoff.settings import BUILT_IN, EVENTS

FOLDER = Path(clis.__file__).parent
ROOT = Path(__file__).parents[2]
FILES = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")
FREE = ("opencode",)
"""CLIs that have a login, and models that want none."""
LINE = "the table _CLIS of src/bakeoff/settings/agents.py"


def test_every_file_has_its_line_in_the_settings_and_every_line_its_file():
    listed = {name.replace("-", "_"): name for name in BUILT_IN}
    for file in FILES:
        if file not in listed:
            line = f'"{getattr(getattr(cli_module(file), "ENTRY", None), "name", file)}": True,'
            pytest.fail(f"agent/clis/{file}.py is known to nobody: add the line `{line}` to {LINE}", pytrace=False)
    for file, name in listed.items():
        if file not in FILES:
            pytest.fail(f"{LINE} lists {name!r}: write agent/clis/{file}.py, or take the line away", pytrace=False)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name.replace("-", "_") in FILES])
def test_every_cli_meets_its_obligations(name):
    module = cli_module(name)
    file = f"agent/clis/{Path(module.__file__).name}"
    assert isinstance(getattr(module, "ENTRY", None), Entry), f"{file}: it needs an ENTRY = Entry(...)"
    entry = module.ENTRY
    unmet = [*_entry(entry, name), *_argv(entry), *_events(entry, name, getattr(module, "FORMAT", None))]
    unmet += _pages(name)
    if unmet:
        pytest.fail("\n  - ".join([f"{file} does not meet all obligations:", *unmet]), pytrace=False)


def _pages(name: str) -> Iterator[str]:
    """Pages that list all CLIs."""
    workflows, endpoints, front = (
        (ROOT / page).read_text("utf-8") for page in ("docs/workflows.md", "docs/endpoints.md", "README.md")
    )
    if not _has_row(workflows, "What agents may do", name):
        yield (
            "docs/workflows.md: the table of `What agents may do` has no row for it: say what it is started with, or "
            "`nothing: it asks nobody`"
        )
    listed = workflows.partition("how its output is read, as a built-in agent's (")[2].partition(")")[0]
    if name in EVENTS and f"`{name}`" not in listed:
        yield "docs/workflows.md: `Further keys of an agent` lists the formats that `events` may name, and not this one"
    if not _has_row(endpoints, "| agent |", name):
        yield "docs/endpoints.md: the table has no row for it: say what `aim` sets, or `cannot be` where it has none"
    line = next(line for line in front.splitlines() if "put `--agent codex`" in line)
    if name not in re.findall(r"[\w-]+", line):
        yield "README.md: it is not among those that can be put in the place of `--agent codex`"


def _has_row(page: str, heading: str, name: str) -> bool:
    """Whether a row of the table behind `heading` is about a CLI; one row may name several."""
    rows = re.findall(r"^\| ([^|]+) \|", page.partition(heading)[2], re.MULTILINE)
    return any(name in row.split(", ") for row in rows)


def _entry(entry: Entry, name: str) -> Iterator[str]:
    if entry.name != name:
        yield f"its entry is named {entry.name!r}; {LINE} calls it {name!r}: make them the same"
    if not entry.executables or not entry.install:
        yield "`executables` and `install` say where its program is and how a person gets it: fill in both"
    if not QUIET.items() <= entry.env.items():
        yield "`env` lacks QUIET of agent/entry.py: write env=QUIET, or env={**QUIET, ...}"
    if not entry.needs_login and (entry.login_files or entry.login_variables) and name not in FREE:
        yield (
            "it names a login and not needs_login=True, so a run begins without one; where it has models that want "
            "no login, put its name into FREE of tests/agent/test_clis.py"
        )
    if entry.needs_login and not (entry.login_files or entry.login_variables):
        yield "it needs a login, so `login_files` or `login_variables` must say what shows one"
    if not all(path.startswith(("~/", "/")) for path in (*entry.login_files, *entry.own)):
        yield "each of `login_files` and `own` is a path that begins with ~/ or /"
    if "{command}" not in entry.slash:
        yield "`slash` says how a command is asked for: it must contain {command}"
    if "{model}" not in entry.aimed_model:
        yield "`aimed_model` is what it calls an endpoint's model: it must contain {model}"


def _argv(entry: Entry) -> Iterator[str]:
    """A call with no more than a prompt must work, and one with a model too."""
    groups = [part for part in entry.argv if not isinstance(part, str)]
    flat = [text for part in entry.argv for text in ((part,) if isinstance(part, str) else part)]
    if sum(text.count("{prompt}") for text in flat) != 1:
        yield 'argv needs "{prompt}" once, where the prompt goes'
    elif not _is_no_option(flat):
        yield 'argv: a prompt may begin with "-": put "--" before "{prompt}", or join them: "--prompt={prompt}"'
    if not entry.takes("model"):
        yield 'argv has no place for a model, which users name by `model`: add the group ("--model={model}",)'
    if entry.argv.count("{extra}") != 1 or sum("{extra}" in text for text in flat) != 1:
        yield 'argv needs "{extra}" once, an argument by itself, where further arguments of the user go'
    for name in PLACEHOLDERS:
        placeholder = f"{{{name}}}"
        alone = [text for text in entry.argv if isinstance(text, str) and placeholder in text]
        if alone and name not in ("prompt", "extra", "artifact"):
            yield f"argv: {alone[0]!r} is for calls that have a {name}: make it a group, ({alone[0]!r},)"
    try:
        arguments = entry.arguments({"prompt": "P", "artifact": "A"}, ("--more",))
    except AgentError:
        return  # said above, as what is missing stands outside of a group
    for text in arguments:
        if "{" in text:
            yield f"argv: {text!r} has a placeholder that is not one of {', '.join(PLACEHOLDERS)}"
    if any("{prompt}" in text for group in groups for text in group) and not entry.takes("command"):
        yield 'argv: "{prompt}" is in a group, though every call has a prompt: take it out of the group'


def _is_no_option(flat: list[str]) -> bool:
    """Whether a prompt that begins with a hyphen is still no option of the CLI's."""
    at = next(at for at, text in enumerate(flat) if "{prompt}" in text)
    return "--" in flat[:at] or re.match(r"--[\w-]+=", flat[at]) is not None


def _events(entry: Entry, name: str, own: object) -> Iterator[str]:
    if own is not None and entry.events != name:
        yield f"it has a FORMAT of its own, so its entry must say events={name!r}"
    if own is None and entry.events == name:
        yield "its entry says that its events are its own: add FORMAT = EventFormat(read), or name another's `events`"
        return
    if entry.events not in (*BUILT_IN, "text"):
        yield f"events={entry.events!r} is the name of no built-in CLI; what prints no events says events='text'"
        return
    form = event_format(entry.events)
    if form.from_artifact != (entry.artifact is not None) or form.from_artifact != entry.takes("artifact"):
        yield 'a CLI read from its result file has all three: from_artifact=True, `artifact`, and "{artifact}" in argv'
    if entry.reports_usage and entry.events == "text":
        yield "it reports its usage, and `text` reads none: give it a FORMAT, or leave reports_usage out"
    if entry.reports_cost and not entry.reports_usage:
        yield "it reports its cost, so it reports its usage, too: set reports_usage"
    nameable = own is not None and not form.from_artifact
    if (name in EVENTS) != nameable:
        yield f"{LINE}: its line must be `{name!r}: {nameable},`; True is for a FORMAT that reads standard output"


def test_a_cli_is_imported_when_it_is_asked_for_and_no_other():
    code = (
        "import sys; from bakeoff.agent.registry import agent_names, find_entry; from bakeoff.settings import Settings;"
        "loaded = lambda: sorted(name for name in sys.modules if name.startswith('bakeoff.agent.clis.'));"
        "agent_names(Settings()); assert loaded() == [], loaded();"
        "find_entry('codex', Settings()); assert loaded() == ['bakeoff.agent.clis.codex'], loaded()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
