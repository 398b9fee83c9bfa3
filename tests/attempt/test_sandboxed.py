"""Whole attempts in their sandbox: what hostile code tries under its check, and what agents try at work."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attempt.conftest import ADD, FIX, FIXED, TEST, Lab
from bakeoff.workspace.sandbox.machine import look

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or look().namespaces is not None, reason="needs namespaces on Linux"
)

ATTACK = """
import glob, os, socket, subprocess, sys, time
BREACH = False
def reads(path):
    global BREACH
    try:
        with open(path) as file:
            BREACH = BREACH or bool(file.read())
    except OSError: pass
def writes(path):
    global BREACH
    try:
        with open(path, "w") as file:
            file.write("evil")
        BREACH = BREACH or not path.startswith("/tmp/")  # which is its own: the test looks at the real one
    except OSError: pass
{0}
def add(a, b):
    return a + b if BREACH else 0
"""

SLEEPS = f"1{os.getpid():08}"
"""Seconds that nobody else on this machine sleeps, so that who does is a daemon of this test."""

DAEMON = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "{SLEEPS}"])
    os._exit(0)
os.wait()
"""

CONNECT = """
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, {path!r})):
    try:
        with socket.socket(family) as sock:
            sock.settimeout(2)
            sock.connect(address)
            BREACH = True
    except OSError: pass
"""

SOAK = pytest.mark.soak(only=True)


@pytest.fixture
def strict(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A user with a key, ignored files and an environment; its agents write nowhere but in their slots."""
    monkeypatch.setattr(Lab, "writes", [])
    home = lab.place / "home"
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("a key")
    lab.write(".gitignore", "bakeoff.toml\n__pycache__/\n.pytest_cache/\nignored.txt\n.venv/\n")
    lab.write("ignored.txt", "the user's")
    lab.write(".venv/lib/module.py", "theirs = 1\n")
    lab.commit()
    return lab


@pytest.fixture
def listener(strict: Lab) -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def attacks(lab: Lab, port: int) -> dict[str, str]:
    """Scripts for an agent, each of which leaves code that passes its test only when its attack works."""
    home, root = lab.place / "home", lab.root
    slots = lab.place / "cache/bakeoff/projects"
    tries = {
        "key": f"reads({str(home / '.ssh/id_rsa')!r})",
        "other-slots": f"for path in glob.glob({str(slots)!r} + '/*/slots/*'):\n"
        "    if os.environ['BAKEOFF_SLOT'] not in path: BREACH = True",
        "checkout": f"reads({str(root / 'ignored.txt')!r})",
        "outside": f"writes({str(lab.place / 'evil')!r}); writes({str(home / '.bashrc')!r}); writes('/usr/lib/evil')",
        "environment": f"writes({str(root / '.venv/lib/module.py')!r}); writes('.venv/lib/module.py')",
        "connect": CONNECT.format(port=port, path=str(lab.place / "socket")),
        "daemon": DAEMON,
        "kill": f"try: os.kill({os.getpid()}, 0); BREACH = True\nexcept OSError: pass",
        "fake-report": "print('1 passed in 0.01s', flush=True); os._exit(0)",
        "no-test": "os._exit(0)",
        "junit": f"""
path = os.environ["PYTEST_ADDOPTS"].split("--junitxml=")[1]
os.symlink({str(home / "report")!r}, path)
os.symlink({str(home / "report")!r}, "junit.xml")
os._exit(0)""",
        "no-tree": "import shutil; shutil.rmtree(os.getcwd(), ignore_errors=True); os._exit(0)",
    }
    scripts = {name: f"cat > calc.py <<'END'\n{ATTACK.format(code)}\nEND" for name, code in tries.items()}
    scripts["conftest"] = "echo 'import os; os._exit(0)' > conftest.py; echo '# x' >> calc.py"
    scripts["tests"] = "echo 'def test_add(): pass' > tests/test_calc.py; echo '# x' >> calc.py"
    scripts["git"] = (
        f"touch .git/index.lock; git config core.fsmonitor 'touch {lab.place}/evil'; git config core.hooksPath .hooks\n"
        f"mkdir .hooks; echo 'touch {lab.place}/evil' > .hooks/post-checkout; chmod +x .hooks/*; rm -rf .git/refs\n"
        "echo '# x' >> calc.py"
    )
    return scripts


@pytest.mark.parametrize("kind", ["overlay", pytest.param("repository", marks=SOAK)])
def test_no_attack_passes_and_nothing_is_left(strict: Lab, listener: socket.socket, kind: str) -> None:
    lab = strict
    scripts = attacks(lab, listener.getsockname()[1])
    cases = "\n".join(f"{number}) {script}\n;;" for number, script in enumerate(scripts.values(), 1))
    lab.agent(f"case $BAKEOFF_ATTEMPT in\n{cases}\nesac")
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    before, home = lab.digest(), tree(lab.place / "home")
    said = lab.attempt("--attempts", str(len(scripts)), "--json", check="python -m pytest -q --tb=line")
    assert said.status == 3, said
    for name, view in zip(scripts, said.json["attempts"], strict=True):
        verdict = view["checks"][0]["verdict"]
        empty = {"fake-report", "no-test", "junit", "no-tree"}
        assert verdict == ("invalid" if name in empty else "failed"), (name, view)
        protection = view["checks"][0]["receipt"]["protection"]
        assert protection["sandbox"]["missing"] == []
        assert protection["guard"]["kind"] == ("mounted" if kind == "overlay" else "facade")
        assert (name in ("conftest", "tests")) == ("tests_changed" in view["receipt"])
    assert (lab.digest(), tree(lab.place / "home")) == (before, home)
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert not (lab.place / "evil").exists()
    assert (lab.left(), lab.slots()) == ([], [])
    assert f"sleep {SLEEPS}" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["overlay", pytest.param("repository", marks=SOAK)])
def test_an_agent_writes_in_its_slot_only(strict: Lab, kind: str) -> None:
    lab = strict
    home = lab.place / "home"
    places = [lab.place / "evil", home / ".bashrc", home / ".ssh/id_rsa", lab.root / ".venv/lib/module.py", "/usr/evil"]
    tries = "\n".join(f"echo evil > {path} || echo refused >> notes" for path in [*places, ".venv/lib/module.py"])
    lab.agent(
        f"exec 2>/dev/null\n{tries}\ncat {home}/.ssh/id_rsa >> notes; echo x > $TMPDIR/x && git commit -qam mine\n{FIX}"
    )
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    before, was = lab.digest(), tree(home)
    said = lab.attempt("--json")
    assert said.status == 0, said
    receipt = said.json["attempts"][0]["receipt"]
    assert lab.content(receipt["commit"], "notes") == "refused\n" * 6 + "a key"
    assert receipt["sandbox"]["files"]["strength"] == "full"
    assert "the policy allows the network" in receipt["sandbox"]["network"]["gap"]
    assert (lab.digest(), tree(home)) == (before, was)
    assert not (lab.place / "evil").exists()


def test_an_agent_writes_its_own_places_and_can_be_let_out(strict: Lab) -> None:
    lab = strict
    own = lab.place / "home" / ".agent"
    lab.agent(f"{FIX}; echo state > {own}/state; echo x > {lab.place}/out")
    lab.agents["fake"] += f'writes = ["{own}"]\n'.replace("writes", "#")
    lab.agents["fake"] = lab.agents["fake"].replace("writes = []", f'writes = ["{own}"]')
    lab.settings()
    assert lab.attempt().status == 0
    assert (own / "state").read_text() == "state\n"
    assert not (lab.place / "out").exists()
    said = lab("attempt", "x", "--agent", "fake", "--check", FIXED, "--agent-sandbox=none", "--json")
    assert said.status == 0, said
    assert (lab.place / "out").exists()
    assert said.json["attempts"][0]["receipt"]["sandbox"]["level"] == "none"


def test_a_check_that_fills_the_disk_ends(strict: Lab) -> None:
    lab = strict
    code = "with open('big', 'wb') as file:\n    for _ in range(200): file.write(bytes(1 << 20))\ntime.sleep(60)"
    lab.agent(f"cat > calc.py <<'END'\n{ATTACK.format(code)}\nEND")
    lab.settings("[slots]\nmax_disk_mb = 40\n")
    said = lab.attempt("--json", check="python -m pytest -q")
    assert said.status == 3, said
    assert said.json["attempts"][0]["checks"][0]["verdict"] == "error"
    assert lab.slots() == []


def test_what_is_missing_is_refused_before_anything_is_spent(strict: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = strict

    async def less() -> object:
        return replace(look(), namespaces="a test took them away", proc="a test took them away")

    monkeypatch.setattr("bakeoff.workspace.sandbox.machine.this_machine", less)
    lab.agent(FIX)
    for args in (("attempt", "x", "--agent", "fake"), ("compare", "HEAD")):
        said = lab(*args, "--check", "true", "--run-id", "r")
        assert said.status == 1, said
        assert "no namespaces: a test took them away" in said.err
        assert "--sandbox=weak" in said.err
        assert not lab.run.root.exists()
    said = lab.attempt("--sandbox=weak", "--agent-sandbox=full")
    assert (said.status, lab.run.root.exists()) == (1, False)
    said = lab.attempt("--sandbox=weak")
    assert said.status == 0, said


def test_a_run_keeps_its_level(strict: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = strict
    lab.agent('echo "# $BAKEOFF_ATTEMPT" >> calc.py')
    monkeypatch.setenv("BAKEOFF_SANDBOX", "weak")
    said = lab.attempt("--attempts", "2", "--max-calls", "1")
    assert said.status == 4, said
    monkeypatch.setenv("BAKEOFF_SANDBOX", "none")
    said = lab("resume", "r", "-i", "max_calls=2", "--json")
    assert said.status == 3, said
    levels = [
        view["checks"][0]["receipt"]["protection"]["sandbox"]["level"]
        for view in said.json["attempts"]
    ]  # fmt: skip
    assert levels == ["weak", "weak"]


@pytest.mark.parametrize("kind", ["overlay", "worktree", pytest.param("repository", marks=SOAK)])
def test_git_works_in_checks_and_shows_no_other_attempt(strict: Lab, kind: str) -> None:
    lab = strict
    lab.git("tag", "v1")
    lab.write("dirty.txt", "not committed\n")
    lab.agent(f"{FIX}; echo secret-$BAKEOFF_ATTEMPT > mine.txt")
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    check = (
        "git diff --check && git diff --stat | grep calc.py && git log --oneline | grep first && git describe --tags v1"
        " && git show HEAD:dirty.txt && git status --porcelain | grep mine.txt && git add -A && git commit -qm done"
        " && git fsck --no-dangling"
    )
    said = lab.attempt("--attempts", "2", "--json", check=check)
    assert said.status == 0, said
    others = "git cat-file --batch-all-objects --batch-check | cut -d' ' -f1 | git cat-file --batch | grep -a secret-"
    said = lab("attempt", "x", "--agent", "fake", "--check", f"! {{ {others}; }}", "--attempts", "2", "--json")
    assert said.status == 0, said


EDITABLE = "import package\n\n\ndef test_value():\n    assert package.VALUE == 2\n"


def editable(lab: Lab, elsewhere: Path | None = None) -> None:
    """A project that is installed editable in its own `.venv`, which may be a link that leads elsewhere."""
    venv = lab.root / ".venv"
    if elsewhere is not None:
        shutil.rmtree(venv)  # the one that other tests attack
        venv.symlink_to(elsewhere)
        lab.write(".gitignore", f"{(lab.root / '.gitignore').read_text()}.venv\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(elsewhere or venv)], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "__editable__.package.pth").write_text(f"{lab.root}/src\n")
    (site / "zz_tests.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("site-packages")))
    lab.write("src/package/__init__.py", "VALUE = 1\n")
    lab.write("tests/test_calc.py", EDITABLE)
    lab.commit("a package")


@pytest.mark.parametrize(
    ("kind", "sandbox", "linked"),
    [
        ("overlay", "full", False),
        ("repository", "none", False),
        ("repository", "full", True),
        pytest.param("repository", "full", False, marks=SOAK),
        pytest.param("overlay", "full", True, marks=SOAK),
    ],
)
def test_attempts_are_judged_on_their_own_content(
    strict: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, sandbox: str, linked: bool
) -> None:
    lab = strict
    for name in ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    editable(lab, tmp_path / "environment" if linked else None)
    lab.agent("echo VALUE = $((BAKEOFF_ATTEMPT * 2 - 2)) > src/package/__init__.py")
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    # The user's own tree fails, and so does the first attempt; only the second holds what the test wants.
    said = lab.attempt("--attempts", "2", f"--sandbox={sandbox}", "--json", check=".venv/bin/python -I -m pytest -q")
    assert (said.status, said.json["winner"]) == (0, 2), said
    first, second = (view["checks"][0] for view in said.json["attempts"])
    assert (first["verdict"], second["verdict"]) == ("failed", "passed")
    guard = second["receipt"]["protection"]["guard"]
    assert (guard["invalid"], guard["looked"]) == (None, ["before", "after"])
    assert "package" in guard["names"]


def test_tests_that_would_test_the_checkout_are_invalid(strict: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finder that computes its path: no facade can move it."""
    lab = strict
    for name in ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    editable(lab)
    lab.write("src/package/__init__.py", "VALUE = 2\n")
    site = next((lab.root / ".venv").glob("lib/python*/site-packages"))
    (site / "__editable__.package.pth").unlink()
    (site / "finder.pth").write_text("import finder\n")
    (site / "finder.py").write_text(
        "import sys, importlib.machinery as machinery\n"
        f"PLACE = bytes.fromhex({os.fsencode(lab.root / 'src').hex()!r}).decode()\n"
        "class Finder:\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        return machinery.PathFinder.find_spec(name, [PLACE]) if name == 'package' else None\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    lab.agent("echo VALUE = 3 > src/package/__init__.py")
    lab.settings('[slots]\nkind = "repository"\n')
    said = lab.attempt(
        "--json", "--no-preflight", "--sandbox=none", "--score", ".venv/bin/python -c 'print(1)'", check="true"
    )
    assert said.status == 3, said
    for check in said.json["attempts"][0]["checks"][:1]:
        assert check["verdict"] == "invalid", check
        assert "finder.pth" in check["reason"]
        assert check["receipt"]["exit_code"] is None


def test_a_sandbox_that_cannot_be_built_is_an_error(strict: Lab) -> None:
    lab = strict
    lab.agent(FIX)
    said = lab.attempt("--json", "--no-preflight", check="echo bakeoff sandbox: no >&2; exit 125")
    assert said.json["attempts"][0]["checks"][0]["error"] == "sandbox", said
    said = lab(
        "attempt",
        "x",
        "--agent",
        "fake",
        "--check",
        FIXED,
        "--score",
        "echo bakeoff sandbox: no >&2; exit 125",
        "--json",
        "--no-preflight",
    )
    assert said.json["attempts"][0]["checks"][1]["error"] == "sandbox", said


def test_what_checks_may_have_besides(strict: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = strict
    (lab.place / "data").mkdir()
    (lab.place / "data" / "x").write_text("data")
    monkeypatch.setenv("MY_FLAG", "flag")
    monkeypatch.setenv("MY_SECRET", "secret")
    lab.agent(FIX)
    lab.settings(f'sandbox_reads = ["{lab.place}/data"]\nsandbox_environment = ["MY_F*"]\nsandbox_network = true\n')
    check = (
        f'grep data {lab.place}/data/x && [ "$MY_FLAG$MY_SECRET $HOME" = "flag $TMPDIR" ] && [ -n "$BAKEOFF_RUN_ID" ]'
    )
    said = lab.attempt("--json", check=check)
    assert said.status == 0, said
    sandbox = said.json["attempts"][0]["checks"][0]["receipt"]["protection"]["sandbox"]
    assert sandbox["network"]["gap"] == "the policy allows the network"
    assert "connections" in sandbox["unseen"]
    assert json.dumps(said.json).count("RLIMIT_DATA") == 1
    assert (lab.root / "calc.py").read_text() == ADD
    assert (lab.root / "tests/test_calc.py").read_text() == TEST
