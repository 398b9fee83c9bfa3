"""`workspace: slot`: steps that work in a slot of their own, and what becomes of what they make."""

from __future__ import annotations

import os
import signal
import socket
import subprocess

import pytest

from attempt.conftest import ADD
from attempt.test_resume import until
from steps.conftest import peak

MAKE = """
steps:
  - id: make
    type: shell
    workspace: slot
    run: echo made > made.txt; echo "# more" >> calc.py; rm tests/test_calc.py
"""


@pytest.fixture(params=["auto", "repository"])
def kind(request, lab):
    lab.settings(f'[slots]\nkind = "{request.param}"\n')
    return request.param


def test_the_result_is_a_commit_and_the_files_stay(lab, flow, kind):
    before = lab.digest()
    said = flow(MAKE)
    assert said.status == 0, said
    assert lab.digest() == before
    result = flow.output("make")["result"]
    assert [(file["path"], file["status"]) for file in result["files"]] == [
        ("calc.py", "M"),
        ("made.txt", "A"),
        ("tests/test_calc.py", "D"),
    ]
    assert lab.content(result["commit"], "calc.py") == ADD + "# more\n"
    assert result["changed"] is True
    assert lab.refs()[result["ref"].removeprefix("refs/bakeoff/")] == result["commit"]
    assert "+made" in lab("diff", "r").out
    assert "+made" in lab("diff", "r", "make").out
    assert lab("diff", "r", "make", "--json").json["step"] == "make"
    assert lab("apply", "r", "make").status == 0
    assert (lab.root / "made.txt").read_text() == "made\n"
    assert lab.slots() == []
    assert lab("clean", "r").status == 0
    assert not [name for name in lab.refs() if name.startswith("r/")]


def test_a_slot_has_its_own_environment_and_starts_where_the_step_says(lab, flow, kind):
    lab.write("sub/deeper/file", "x")
    said = flow(
        """
        env: {WHO: workflow}
        steps:
          - id: fan
            type: fan-out
            items: [1, 2]
            max_concurrency: 2
            step:
              id: one
              type: shell
              workspace: slot
              cwd: sub/deeper
              env: {MINE: "{{ item }}"}
              run: echo $PORT $TMPDIR $MINE $WHO $(pwd -P) $BAKEOFF_SLOT_PATH; ls; touch here; echo x > "$TMPDIR/t"
        """
    )
    assert said.status == 0, said
    lines = [flow.stdout(f"fan:one:{number}").splitlines() for number in range(2)]
    ports, temps = {line[0].split()[0] for line in lines}, {line[0].split()[1] for line in lines}
    assert len(ports) == len(temps) == 2 or peak(flow.history) == 1
    for number, (first, *listed) in enumerate(lines):
        assert first.split()[2:4] == [str(number + 1), "workflow"]
        assert first.split()[4] == f"{os.path.realpath(first.split()[5])}/sub/deeper"
        assert listed == ["file"]
    assert flow.output("fan:one:0")["result"]["files"][0]["path"] == "sub/deeper/here"


def test_more_items_than_slots_wait(lab, flow):
    said = flow(
        """
        lanes: {slots: 2}
        steps:
          - id: fan
            type: fan-out
            items: [1, 2, 3, 4, 5]
            max_concurrency: 5
            step: {id: one, type: shell, workspace: slot, run: 'echo {{ item }} > n; sleep 0.05'}
        """
    )
    assert said.status == 0, said
    assert peak(flow.history) == 2
    assert [lab.content(flow.output(f"fan:one:{n}")["result"]["commit"], "n") for n in range(5)] == [
        f"{n}\n" for n in range(1, 6)
    ]


def test_slots_see_what_earlier_steps_did_to_the_files(lab, flow):
    said = flow(
        """
        steps:
          - {id: one, type: shell, run: echo now > now.txt}
          - {id: two, type: shell, workspace: slot, run: cat now.txt}
          - {id: three, type: shell, workspace: {base: "{{ 'HEAD' }}"}, run: ls now.txt || echo none}
        """
    )
    assert said.status == 0, said
    assert flow.stdout("two") == "now\n"
    assert flow.stdout("three") == "none\n"
    assert flow.output("two")["result"]["changed"] is False


def test_a_failed_step_keeps_what_it_made_and_tries_have_results_of_their_own(lab, flow):
    said = flow(
        f"""
        steps:
          - id: make
            type: shell
            workspace: slot
            retry: {{attempts: 2, delay: 0}}
            run: echo x >> {lab.place}/tries; wc -l < {lab.place}/tries > n; exit 3
        """
    )
    assert said.status == 1
    step = flow.step("make")
    assert (step["kind"], step["attempts"]) == ("exit", 2)
    assert lab.content(step["output"]["result"]["commit"], "n").strip() == "2"
    refs = [name for name in lab.refs() if name.startswith("r/")]
    assert len(refs) == 2
    assert "has not passed" in lab("apply", "r", "make").err


def test_agents_and_steps_written_in_python(lab, flow):
    lab.agent("echo agent > who.txt")
    types = lab.write(
        "types.py",
        '''
from pathlib import Path
from bakeoff import StepModel

class Fields(StepModel):
    """Writes."""

class Write:
    name = "write"
    model = Fields

    async def run(self, step, context):
        Path(context.cwd, "python.txt").write_text("by python")
        done = await context.process("cat", "python.txt")
        return {"read": done.stdout.value}
''',
    )
    lab.settings(f'step_types = "{types}"')
    before = lab.digest()
    said = flow(
        """
        steps:
          - {id: ask, type: prompt, integration: fake, workspace: slot, prompt: do it}
          - {id: write, type: write, workspace: slot}
        """
    )
    assert said.status == 0, said
    assert lab.digest() == before
    assert lab.content(flow.output("ask")["result"]["commit"], "who.txt") == "agent\n"
    output = flow.output("write")
    assert output["read"] == "by python"
    assert lab.content(output["result"]["commit"], "python.txt") == "by python"


REACH = """
import os
from pathlib import Path
from bakeoff import StepModel
from bakeoff.system.named_files import write_whole

class Fields(StepModel):
    \"\"\"Writes wherever it can.\"\"\"

def tried(function, *args):
    try:
        return str(function(*args))
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"

class Reach:
    name = "reach"
    model = Fields

    def run(self, step, context):
        context.write("deep/er/new.txt", b"new")
        context.write("../calc.py", b"changed")
        os.symlink("LAB", Path(context.cwd, "absolute"))
        os.symlink("..", Path(context.cwd, "above"))
        return {
            "read": context.read("../calc.py").decode(),
            "missing": tried(context.read, "nowhere"),
            "through": [tried(context.write, path, b"x") for path in ("absolute/calc.py", "above/calc.py", "above")],
            "read_through": [tried(context.read, path) for path in ("absolute/calc.py", "above/calc.py", "above")],
            "outside": [tried(context.write, path, b"x") for path in ("../../calc.py", "LAB/calc.py", "/calc.py", "..")],
            "whole": tried(write_whole, Path(context.cwd, "whole.txt"), b"x"),
        }
"""


def test_code_in_this_process_reads_and_writes_in_its_slot_alone(lab, flow, kind):
    lab.write("sub/file", "x")
    types = lab.write("types.py", REACH.replace("LAB", str(lab.root)))
    lab.settings(f'step_types = "{types}"\n[slots]\nkind = "{kind}"\n')
    before = lab.digest()
    said = flow("steps: [{id: it, type: reach, workspace: slot, cwd: sub}]")
    assert said.status == 0, said
    assert lab.digest() == before
    output = flow.output("it")
    made = {file["path"]: file["status"] for file in output["result"]["files"]}
    assert (made["calc.py"], made["sub/deep/er/new.txt"]) == ("M", "A")
    assert lab.content(output["result"]["commit"], "calc.py") == output["read"] == "changed"
    assert output["missing"].startswith("FileNotFoundError")
    assert all("BakeoffError" in said and "cannot be written: it" in said for said in output["through"])
    assert all("BakeoffError" in said and "cannot be read: it" in said for said in output["read_through"])
    assert all("lies outside of" in said for said in output["outside"])
    if flow.history.records["it"].facts["slot"]["kind"] == "overlay":
        assert "context.write(path, data)" in output["whole"]


def test_without_a_slot_it_reads_and_writes_in_the_project(lab, flow):
    lab.write("sub/file", "x")
    types = lab.write("types.py", REACH.replace("LAB", str(lab.place)))
    lab.settings(f'step_types = "{types}"')
    said = flow("steps: [{id: it, type: reach, cwd: sub}]")
    assert said.status == 0, said
    assert (lab.root / "calc.py").read_text() == "changed"
    assert (lab.root / "sub/deep/er/new.txt").read_text() == "new"
    assert all("lies outside of" in said for said in flow.output("it")["outside"])
    assert (lab.root / "sub/whole.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{id: a, type: shell, workspace: slot, run: ls, cwd: /}", "lies outside of the project"),
        ("{id: a, type: shell, workspace: {base: nowhere}, run: ls}", "nowhere"),
    ],
)
def test_without_a_slot_the_step_fails(lab, flow, step, words):
    said = flow(f"steps:\n  - {step}\n")
    assert said.status == 1
    assert flow.step("a")["kind"] == "workspace"
    assert words in flow.step("a")["error"]


def test_the_tree_is_part_of_the_key(lab, flow):
    text = """
        steps:
          - id: fan
            type: fan-out
            items: [1, 2]
            step: {id: one, type: shell, workspace: slot, env: {TO: LAB}, run: 'echo {{ item }}; echo x >> $TO/ran'}
        """.replace("LAB", str(lab.place))
    assert flow(text).status == 0
    more = text.replace("[1, 2]", "[2, 1, 3]")
    assert "reuse" in lab("resume", "r", "--edit", str(flow.write(more)), "--explain").out
    assert flow.edit(more).status == 0
    assert (lab.place / "ran").read_text() == "x\n" * 3
    lab.write("calc.py", ADD + "# changed\n")
    again = text.replace("[1, 2]", "[2, 1, 3, 4]")
    out = lab("resume", "r", "--edit", str(flow.write(again)), "--explain").out
    assert "fan:one:3" in out or "one:3" in out
    assert flow.edit(again).status == 0
    assert (lab.place / "ran").read_text() == "x\n" * 7


@pytest.mark.parametrize(
    "how", ["SIGKILL", *(pytest.param(how, marks=pytest.mark.soak(only=True)) for how in ("SIGINT", "cancel"))]
)
def test_stopped_in_the_middle(lab, flow, how):
    path = flow.write(
        f"""
        steps:
          - id: fan
            type: fan-out
            items: [1, 2, 3]
            max_concurrency: 2
            step:
              id: one
              type: shell
              workspace: slot
              run: |
                echo half {{{{ item }}}} > half.txt; echo {{{{ item }}}} >> {lab.place}/ran
                [ {{{{ item }}}} = 1 ] || [ -e {lab.place}/go ] || sleep 60
        """
    )
    before = lab.digest()
    process = lab.spawn("run", str(path), "--run-id", "r", stdin=subprocess.DEVNULL)
    until(lambda: (lab.place / "ran").exists() and len((lab.place / "ran").read_text().split()) == 3)
    until(lambda: any(path == "fan:one:0" for path in lab.run.history().records))
    if how == "cancel":
        assert lab("cancel", "r").status == 0
    else:
        process.send_signal(getattr(signal, how))
    out, err = process.communicate(timeout=60)
    until(lambda: lab.left() == [])
    if how != "SIGKILL":
        assert lab.slots() == [], out + err
    (lab.place / "go").touch()
    assert flow.resume().status == 0
    ran = (lab.place / "ran").read_text().split()
    assert ran.count("1") == 1
    assert ran.count("2") == ran.count("3") == 2
    assert lab.slots() == []
    assert lab.digest() == before
    saved = [oid for name, oid in lab.refs().items() if name.startswith("salvage/r/")]
    assert sorted(lab.content(oid, "half.txt") for oid in saved) == ["half 2\n", "half 3\n"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("{id: a, type: gate, message: m, workspace: slot}", "a `gate` step has no slot of its own"),
        ("{id: a, type: if, condition: true, workspace: slot, then: [{id: b, type: slot}]}", "a `if` step has no slot"),
        ("{id: a, type: attempt, task: t, check: c, workspace: slot}", "a `attempt` step has no slot"),
        ("{id: a, type: shell, run: ls, workspace: slt}", "`workspace` must be"),
        ("{id: a, type: shell, run: ls, workspace: {bas: x}}", "did you mean `base`"),
    ],
)
def test_validation_of_slots(lab, flow, steps, words):
    said = lab("validate", "--strict", str(flow.write(f"steps:\n  - {steps}\n")))
    assert said.status == 1
    assert words in said.out + said.err
    assert ":3:" in said.out


def test_a_slot_that_grows_too_much_is_ended(lab, flow):
    lab.settings("[slots]\nmax_disk_mb = 1\n")
    said = flow(
        "steps:\n  - {id: a, type: shell, workspace: slot, run: head -c 5000000 /dev/urandom > big; sleep 60}\n"
    )
    assert said.status == 1
    assert flow.step("a")["kind"] == "disk"
    assert lab.left() == []
    assert lab.slots() == []


def test_an_agent_in_a_slot_is_in_the_sandbox_of_agents(lab, flow, kind):
    lab.agent("pwd -P > where.txt; touch /var/tmp/planted 2> /dev/null || echo refused > said.txt")
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    lab.write("sub/file", "x")
    said = flow(
        """
        steps:
          - {id: ask, type: prompt, integration: fake, workspace: slot, prompt: do it, cwd: sub}
        """
    )
    assert said.status == 0, said
    commit = flow.output("ask")["result"]["commit"]
    assert lab.content(commit, "sub/where.txt").strip().endswith("/sub")
    assert lab.content(commit, "sub/said.txt") == "refused\n"
    assert flow.history.records["ask"].facts["sandbox"]["files"]["strength"] == "full"


LISTEN = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    with socket.create_connection(server.getsockname()) as out:
        out.sendall(b"hi")
        with server.accept()[0] as sock:
            print(sock.recv(2).decode())
"""


def test_an_ignored_file_that_a_step_misses_is_named(lab, flow, kind):
    lab.write(".gitignore", "_version.py\n")
    lab.write("_version.py", "VERSION = 7\n")
    text = """
    steps:
      - {id: it, type: shell, workspace: slot, run: "python -c 'import _version; print(_version.VERSION)'"}
    """
    said = flow(text)
    assert said.status == 1
    assert "misses _version.py" in said.err
    assert 'copy = ["_version.py"] in [tool.bakeoff.slots]' in said.err
    lab.settings(f'[slots]\nkind = "{kind}"\ncopy = ["_version.py"]\n')
    said = flow(text, "--run-id", "with")
    assert said.status == 0, said


def test_a_fixed_port_in_a_network_of_each_steps_own(lab, flow, kind):
    lab.write("listen.py", LISTEN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = f"""
        steps:
          - id: fan
            type: fan-out
            items: [1, 2, 3]
            step: {{id: one, type: shell, workspace: slot, run: "python listen.py {server.getsockname()[1]}"}}
        """
        said = flow(text)
        assert said.status == 1
        assert 'network = "private" in [tool.bakeoff.slots]' in said.err
        lab.settings(f'[slots]\nkind = "{kind}"\nnetwork = "private"\n')
        said = flow(text, "--run-id", "own")
    assert said.status == 0, said
