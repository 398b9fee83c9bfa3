"""Commands that look at runs without changing them."""

from __future__ import annotations

import json
import re
import socket

import pytest
from jsonschema import Draft202012Validator

from bakeoff.cli.schema import names, output_schema
from cli.conftest import HEAD, Command, Project


def checked(name: str, text: str) -> dict:
    value = json.loads(text)
    Draft202012Validator(output_schema(name)).validate(value)
    return value


def test_runs_lists_the_newest_first(here: Project, command: Command) -> None:
    result = command("runs")
    lines = result.out.splitlines()
    assert lines[0].split() == ["RUN", "WORKFLOW", "STATUS", "CREATED", "SPAN", "ERROR"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["quick", "quick", "completed"],
        ["failing", "failing", "failed"],
        ["gated", "mixed", "paused"],
    ]
    assert "step second" in result.out
    found = checked("runs", command("runs", "--json").out)
    assert [run["run_id"] for run in found["runs"]] == ["quick", "failing", "gated"]
    assert not any(run["live"] for run in found["runs"])


def test_runs_of_an_empty_project(tmp_path, monkeypatch, command: Command) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("runs")
    assert (result.status, result.out) == (0, "")
    assert "no runs yet" in result.err
    assert checked("runs", command("runs", "--json").out) == {"runs": []}


def test_show_prints_a_tree(here: Project, command: Command) -> None:
    out = command("show", "gated").out
    assert "? run gated of mixed: paused" in out
    assert "input who: w<script>alert(1)</script>" in out
    assert "✗ bad shell failed" in out
    assert "try 2 the command exited with status 3 (the run went on)" in out
    assert "15 nodes: 15 completed" in out
    assert "it:3" not in out
    assert "- none shell skipped" in out
    assert "gate last waits: bakeoff answer gated last {approve|reject}" in out
    assert "go on with: bakeoff resume gated" in out
    assert "\x1b" not in out
    assert "    ✓ it:3 shell" in command("show", "gated", "--all").out


def test_show_names_the_error_of_a_failed_run(here: Project, command: Command) -> None:
    out = command("show", "failing").out
    assert "step second: the command exited with status 7" in out
    assert "✗ second shell failed" in out


def test_without_a_run_the_latest_is_looked_at(here: Project, command: Command, tmp_path, monkeypatch) -> None:
    for args in (("show",), ("logs",), ("watch",), ("report", "-o", str(tmp_path / "r.html"))):
        result = command(*args)
        assert result.status == 0
        assert result.err.startswith("run quick, the latest\n")
    assert checked("show", command("show", "--json").out)["run_id"] == "quick"
    monkeypatch.chdir(tmp_path)
    result = command("show")
    assert (result.status, result.out) == (1, "")
    assert "there are no runs yet" in result.err


def test_the_advice_for_a_run_that_only_its_program_can_resume(tmp_path, monkeypatch, command: Command) -> None:
    import bakeoff

    def odd(number: int) -> int:
        return number // (number % 2)

    with pytest.raises(bakeoff.FanOutError):
        bakeoff.fan_out_sync(odd, [1, 2], run="mine", project=tmp_path)
    monkeypatch.chdir(tmp_path)
    for text in (command("show", "mine").out, command("watch", "mine").err):
        assert "go on with: the program that made it, called again for run mine" in text
        assert "bakeoff resume" not in text


def test_a_secret_that_stands_in_the_file_is_not_shown(project: Project, monkeypatch, command: Command) -> None:
    monkeypatch.setenv("TOKEN", "top<secret>1")
    monkeypatch.chdir(project.folder)
    body = "secrets: [TOKEN]\nsteps:\n  - {id: top<secret>1, type: shell, run: 'echo \"top<secret>1\"; false'}\n"
    project.write("s", body)
    assert command("run", "s.yml", "--run-id", "s", "--quiet").status == 1
    for args in ("show", "show --json", "logs", "logs --json", "watch", "watch --json", "report -o -",
                 "resume s --explain", "run s.yml --dry-run", "run s.yml --dry-run --json"):  # fmt: skip
        result = command(*args.split())
        assert "***" in result.out + result.err
        assert "secret>1" not in result.out + result.err
        assert "secret&gt;1" not in result.out


def test_show_json(here: Project, command: Command) -> None:
    for run in ("gated", "failing", "quick"):
        found = checked("show", command("show", run, "--json").out)
        assert found["run_id"] == run
    assert found["steps"]["one"]["status"] == "completed"


def test_unknown_runs_are_named_on_standard_error_alone(here: Project, command: Command) -> None:
    for args in (("show", "nope"), ("logs", "nope"), ("report", "nope"), ("watch", "nope"), ("cancel", "nope"),
                 ("answer", "nope", "a", "b"), ("resume", "nope"), ("show", "../x")):  # fmt: skip
        result = command(*args)
        assert (result.status, result.out) == (1, "")
        assert "there is no run" in result.err
        assert "quick" in result.err


def test_logs_show_everything_with_heads(here: Project, command: Command) -> None:
    out = command("logs", "gated").out
    assert "==> say <==\nhello\\x1b[2J\ufffd\n" in out
    assert "==> bad <==\n! try 1 failed: the command exited with status 3\n\n==> bad (try 2) <==\n" in out
    assert "<b>boom</b>\n! failed: the command exited with status 3\n" in out
    assert "==> fan:it:7 <==\nitem 7\n" in out
    assert "x" * 40000 in out


def test_logs_of_one_step(here: Project, command: Command) -> None:
    out = command("logs", "gated", "fan").out
    assert out.count("==> fan:it:") == 15
    assert "hello" not in out
    assert command("logs", "gated", "fan:it:1").out == "==> fan:it:1 <==\nitem 1\n"
    for step in ("it:1", "fan:it:1"):  # as `show` prints it, and as heads of `logs` do
        assert command("logs", "gated", step).out == "==> fan:it:1 <==\nitem 1\n"
        assert re.fullmatch(r" *✓ it:1 shell \S+ m?s\n", command("show", "gated", step).out)
        assert list(checked("show", command("show", "gated", step, "--json").out)["steps"]) == ["fan:it:1"]
    assert command("show", "gated", "fan", "--all").out.count("✓ it:") == 15
    assert "no step 'nope'" in command("show", "gated", "nope").err
    assert "no step 'nope'" in command("show", "gated", "nope", "--json").err
    missing = command("logs", "gated", "nope")
    assert (missing.status, missing.out) == (1, "")
    assert "no step 'nope'" in missing.err


def test_logs_as_json_lines(here: Project, command: Command) -> None:
    lines = command("logs", "gated", "bad", "--json").out.splitlines()
    found = [checked("logs", line) for line in lines]
    assert [line["stream"] for line in found] == ["retry", "stderr", "error"]
    assert [line["attempt"] for line in found] == [1, 2, 2]
    assert found[1]["text"] == "<b>boom</b>\n"


def test_raw_logs_are_the_bytes_that_were_printed(here: Project) -> None:
    import subprocess

    from cli.conftest import ARGV, environment

    done = subprocess.run(
        [*ARGV, "logs", "gated", "--raw"], cwd=here.folder, env=environment(), capture_output=True, check=True
    )
    assert b"hello\x1b[2J\xff\n" in done.stdout
    assert b"bad: try 1 failed" in done.stderr
    assert b"bad:" not in done.stdout


def test_raw_and_json_exclude_each_other(here: Project, command: Command) -> None:
    result = command("logs", "gated", "--raw", "--json")
    assert (result.status, result.out) == (2, "")


def test_following_a_run_that_has_ended_ends(here: Project, command: Command) -> None:
    plain, followed = command("logs", "gated").out, command("logs", "gated", "-f").out
    assert sorted(plain.splitlines()) == sorted(followed.splitlines())


def test_watch_replays_a_run_that_has_ended(here: Project, command: Command) -> None:
    result = command("watch", "failing")
    assert result.status == 1
    assert "✓ first (shell)" in result.err
    assert "✗ second failed: the command exited with status 7" in result.err
    assert "    no" in result.err
    assert "run failing failed" in result.err
    result = command("watch", "gated", "--json")
    assert result.status == 0
    events = [checked("watch", line) for line in result.out.splitlines()]
    assert {"fan_opened", "node_retried", "node_started", "node_ended", "run_changed"} == {e["event"] for e in events}
    assert events[-1]["status"] == "paused"
    assert not any(event.get("type") == "" or event.get("at") == 0.0 for event in events)


def test_validate(here: Project, command: Command, tmp_path) -> None:
    result = command("validate", "mixed.yml")
    assert (result.status, result.out) == (0, "")
    assert result.err.endswith("mixed.yml: valid\n")
    bad = tmp_path / "bad.yml"
    bad.write_text('schema_version: "1.0"\nworkflow: {id: bad, name: B, version: "1.0.0"}\nsteps:\n'
                   '  - {id: a, type: shell, run: "x", colour: red}\n  - {id: a, type: shel, run: "x"}\n')  # fmt: skip
    result = command("validate", str(bad))
    assert result.status == 1
    assert f"{bad}:4:" in result.out
    assert ": warning: " in result.out
    assert f"{bad}:5:" in result.out
    assert "did you mean `shell`" in result.out
    assert "not valid" in result.err
    assert "1 warning" in result.err
    found = checked("validate", command("validate", str(bad), "--json", "--strict").out)
    assert not found["valid"]
    assert {problem["severity"] for problem in found["problems"]} == {"error"}
    bad.write_text("steps: [\x07")
    found = checked("validate", command("validate", str(bad), "--json").out)
    assert found["problems"]
    assert "\x07" not in command("validate", str(bad)).out
    missing = command("validate", "nope.yml")
    assert (missing.status, missing.out) == (1, "")


def test_schemas_are_schemas(here: Project, command: Command) -> None:
    for name in names():
        Draft202012Validator.check_schema(json.loads(command("schema", "--of", name).out))
    workflow = json.loads(command("schema").out)
    Draft202012Validator.check_schema(workflow)
    assert "steps" in workflow["properties"]


def test_report_is_written_whole(here: Project, command: Command, tmp_path) -> None:
    file = tmp_path / "r.html"
    found = checked("report", command("report", "gated", "-o", str(file), "--json").out)
    assert found == {"run_id": "gated", "file": str(file), "bytes": file.stat().st_size}
    assert command("report", "gated", "-o", "-").out.startswith("<!doctype html>")
    assert command("report", "gated", "-o", "-", "--json").status == 2
    assert command("report", "quick", "-o", str(file)).out == f"{file}\n"
    refused = command("report", "gated", "-o", str(tmp_path / "no" / "r.html"))
    assert (refused.status, refused.out) == (1, "")
    assert "cannot be written" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_plans(here: Project, command: Command) -> None:
    found = checked("plan", command("run", "mixed.yml", "--dry-run", "--json").out)
    assert found["counts"]["run"] >= 17
    out = command("resume", "failing", "--explain").out
    assert "first" in out
    assert "reuse" in out
    assert out.splitlines()[-1] == "1 to reuse, 1 to run"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("bakeoff sh", {"show"}),
        ("bakeoff show g", {"gated"}),
        ("bakeoff logs gated fan:it:1", {"fan:it:1", "fan:it:10", "fan:it:11", "fan:it:12", "fan:it:13", "fan:it:14"}),
        ("bakeoff answer gated ", {"last"}),
        ("bakeoff answer gated last ", {"approve", "reject"}),
        ("bakeoff answer nope ", set()),
        ("bakeoff logs nope ", set()),
    ],
)
def test_the_shell_completes(here: Project, line: str, wanted: set[str]) -> None:
    words = line.split(" ")
    env = {"_BAKEOFF_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    found = here(**env).out.split()
    assert {word.removeprefix("plain,") for word in found} == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(command: Command, shell: str) -> None:
    result = command("completion", shell)
    assert result.status == 0
    assert f"_BAKEOFF_COMPLETE={shell}_complete" in result.out


def test_doctor(here: Project, command: Command, monkeypatch, tmp_path) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho git version 2.20.1\n")
    git.chmod(0o755)
    agent = tmp_path / "aider"
    agent.write_text("#!/bin/sh\necho aider 0.86.1\n")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = checked("doctor", here("doctor", "--json", PATH=f"{tmp_path}").out)
    assert found["ok"]
    checks = {check["name"]: check for check in found["checks"]}
    assert "2.38" in checks["git"]["advice"]
    assert {agent["name"]: agent["version"] for agent in found["agents"]}["aider"] == "0.86.1"
    git.unlink()
    result = here("doctor", PATH=f"{tmp_path}")
    assert "git: not found" in result.out
    assert "claude: not installed" in result.out
    assert result.status == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("x = 1", "defines no class"),
    ],
)
def test_doctor_finds_step_types_that_cannot_be_loaded(project: Project, code: str, words: str) -> None:
    (project.folder / "bakeoff.toml").write_text('step_types = "steps.py"\n')
    (project.folder / "steps.py").write_text(code)
    result = project("doctor", PATH="/nonexistent")
    assert result.status == 1
    assert "✗ step types:" in result.out
    assert words in result.out
    assert "take `step_types` out" in result.out


def test_doctor_asks_a_model_for_one_token(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody listens there when this block is left
    result = project("doctor", "--model", f"http://127.0.0.1:{port}/v1#m", "--model", "nope", PATH="/nonexistent")
    assert result.status == 1
    assert "connection refused" in result.out
    assert "no model is called 'nope'" in result.out


def test_doctor_names_the_step_types_of_the_settings(project: Project) -> None:
    (project.folder / "bakeoff.toml").write_text('step_types = "steps.py"\n')
    (project.folder / "steps.py").write_text(
        "from bakeoff.workflow.models import StepModel\n"
        "class Mine:\n    name, model = 'mine', StepModel\n    def run(self, step, context): ...\n"
    )
    result = project("doctor", PATH="/nonexistent")
    assert "✓ step types: mine in" in result.out


def test_doctor_finds_wrong_settings(project: Project) -> None:
    (project.folder / "bakeoff.toml").write_text("max_parallel = 0\n")
    result = project("doctor", PATH="/nonexistent")
    assert result.status == 1
    assert "✗ settings: cannot be read" in result.out
    assert "max_parallel" in result.out


def test_what_spec_kit_says_of_a_workflow_counts(project: Project) -> None:
    home = project.folder / "home"
    folder = project.folder / ".specify" / "workflows" / "sk"
    folder.mkdir(parents=True)
    home.mkdir()
    (folder / "workflow.yml").write_text(HEAD.replace("ID", "sk") + "steps: [{id: a, type: shell, run: touch ran}]\n")
    (home / "w.yml").write_text(HEAD.replace("ID", "w") + "steps: [{id: a, type: shell, run: touch ran}]\n")
    registry = folder.parent / "workflow-registry.json"
    for enabled in ("true", "false"):
        registry.write_text(f'{{"schema_version": "1.0", "workflows": {{"sk": {{"enabled": {enabled}}}}}}}')
        result = project("run", "sk", SPECKIT_WORKFLOW_RUN_ID=f" {enabled} ")
        assert (result.status == 0, (project.folder / "ran").exists()) == (enabled == "true", enabled == "true"), result
        (project.folder / "ran").unlink(missing_ok=True)
    assert (project.folder / ".bakeoff" / "runs" / "true").is_dir()
    assert project("run", "~/w.yml", HOME=str(home)).status == 0
    assert (project.folder / "ran").exists()
