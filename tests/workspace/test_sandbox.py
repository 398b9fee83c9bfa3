from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.confine import filter
from bakeoff.settings import SettingsError, load_settings
from bakeoff.workspace.sandbox import darwin, machine, places
from bakeoff.workspace.sandbox.inside import watch
from bakeoff.workspace.sandbox.machine import Machine, look
from bakeoff.workspace.sandbox.plan import SandboxPlan
from bakeoff.workspace.sandbox.policy import Limits, SandboxPolicy, agent_places, agent_policy
from bakeoff.workspace.sandbox.protection import unprotected
from bakeoff.workspace.sandbox.sandbox import SandboxError, protection_of, sandbox
from bakeoff.workspace.sandbox.variables import scrubbed
from bakeoff.workspace.workspace import open_workspace

from .conftest import Checkout, settings

NO = "a test took it away"
NOTHING = Machine(NO, NO, NO, False, NO)
RULES = Machine(NO, NO, None, True, None)
ALL = Machine(None, None, None, True, None)


@pytest.mark.parametrize("given", [NOTHING, RULES, replace(RULES, scopes=False), replace(RULES, landlock=NO)])
@pytest.mark.anyio
async def test_full_is_refused_where_it_cannot_be_had(project: Checkout, given: Machine) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
        with pytest.raises(SandboxError) as raised:
            await sandbox(slot, SandboxPolicy("full"), machine=given)
        assert all(
            word in str(raised.value) for word in (NO, "file system", "network", "processes", "BAKEOFF_SANDBOX=weak")
        )
        weak = await sandbox(slot, SandboxPolicy("weak"), machine=given)
        receipt = json.loads(json.dumps(weak.protection.receipt()))
        assert len(receipt["missing"]) == 3
        assert receipt["files"]["strength"] == ("weak" if given.landlock is None else None)
        assert receipt["network"]["strength"] == ("weak" if given.seccomp is None else None)
        done = subprocess.run(
            weak.command(["sh", "-c", "cat a.txt"]).argv, capture_output=True, text=True, cwd="/", check=False,
            env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "one\nchanged\n"), done.stderr


@pytest.mark.anyio
async def test_none_is_the_slots_own_command(project: Checkout, tmp_path: Path) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
        box = await sandbox(slot, SandboxPolicy("none", limits=Limits(seconds=5)))
        assert box.command(["true"]) == slot.command(["true"], timeout=5)
        script = tmp_path / "a=b" / "where"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\npwd\n")
        script.chmod(0o755)
        command = box.command([str(script)], cwd=f"{slot.path}/docs")
        done = subprocess.run(command.argv, cwd=command.cwd, capture_output=True, text=True, check=True)
        assert done.stdout == f"{slot.path}/docs\n"
        assert box.protection == unprotected("sandbox = none was asked for")
        assert box.may_read(["/root"])


def test_what_is_protected_is_said() -> None:
    whole = protection_of(SandboxPolicy(), ALL)
    assert whole.missing == []
    assert whole.files.by == ("mount namespace", "landlock", "seccomp")
    assert "reads and writes outside" in whole.unseen
    assert protection_of(SandboxPolicy(network=True), ALL).network.gap == "the policy allows the network"
    assert protection_of(SandboxPolicy(network=True), RULES).network.gap == "the policy allows the network"
    blind = protection_of(SandboxPolicy(), replace(ALL, proc=NO))
    assert blind.missing == []
    assert (blind.limits.strength, blind.processes.gap) == ("weak", f"no /proc inside: {NO}")


def test_a_policy_knows_its_levels() -> None:
    with pytest.raises(ValueError, match="one of none, weak, full"):
        SandboxPolicy("strong")


def test_the_level_is_a_setting(tmp_path: Path) -> None:
    file = tmp_path / "bakeoff.toml"
    assert load_settings(tmp_path, {}).sandbox == "full"
    file.write_text('sandbox = "weak"\n')
    assert load_settings(tmp_path, {}).sandbox == "weak"
    assert load_settings(tmp_path, {"BAKEOFF_SANDBOX": "none"}).sandbox == "none"
    file.write_text('sandbox = "week"\n')
    with pytest.raises(SettingsError, match=r"one of full, weak, none \(did you mean weak\?\)"):
        load_settings(tmp_path, {})


def test_the_places_of_an_agent() -> None:
    environ = {"HOME": "/home/u", "AGENT_HOME": "/elsewhere"}
    files = ("~/.agent/login.json", "~/.agent.json", "/etc/agent/key")
    assert agent_places(files, ("~/.cache/agent", "/var/agent"), "AGENT_HOME", environ) == [
        "/home/u/.agent",
        "/home/u/.agent.json",
        "/etc/agent",
        "/elsewhere",
        "/home/u/.cache/agent",
        "/var/agent",
    ]
    assert agent_places((), (), "OTHER", environ) == []
    shared = {"HOME": "/home/u", "XDG_DATA_HOME": "/data", "XDG_CACHE_HOME": "/cache"}
    found = agent_places(("~/.local/share/agent/login",), ("~/.cache/agent", "~/.config/agent"), None, shared)
    assert found == [
        "/data/agent",
        "/home/u/.local/share/agent",
        "/cache/agent",
        "/home/u/.cache/agent",
        "/home/u/.config/agent",
    ]
    policy = agent_policy(["/x"])
    assert (policy.level, policy.network, policy.read_everything, policy.writes) == ("weak", True, True, ("/x",))


def test_all_variables_for_those_who_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "key")
    found = scrubbed({"A": None, "B": "b"}, ["*"], {"B": None}, "/temp")
    assert (found["KEY"], found["HOME"]) == ("key", os.environ["HOME"])
    assert "B" not in found


def test_places_are_found_and_secrets_are_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".local/bin", ".local/lib", ".local/share/keyrings", "bin", ".pyenv/shims", ".pyenv/versions", ".ssh"):
        (home / name).mkdir(parents=True)
    (home / "tools").mkdir()
    (home / "tools" / "python3").symlink_to(os.path.realpath(sys.executable))
    path = ":".join(str(home / name) for name in (".local/bin", "bin", ".pyenv/shims", "tools", "missing"))
    variables = {"PATH": f"{path}:relative", "PYTHONPATH": f"{home}:{home}/tools", "VIRTUAL_ENV": str(home / ".pyenv")}
    found = places.readable(variables, True, [str(home), str(home / ".ssh")])
    inside = {os.path.relpath(path, home) for path in found if path.startswith(str(home))}
    assert inside == {".local/bin", ".local/lib", "bin", ".pyenv", "tools"}
    assert any(places.below(os.__file__, [os.path.realpath(path), path]) for path in found)
    assert "/etc/resolv.conf" in found or not os.path.exists("/etc/resolv.conf")
    assert places.outermost(["/usr/lib", "/usr", "/nowhere"]) == ["/usr"]


def simulate(lines: list[tuple[int, int, int, int]], number: int, arch: int, first: int = 0, second: int = 0) -> int:
    """What the kernel would make of the filter."""
    data = {filter.NUMBER: number, filter.ARCHITECTURE: arch, filter.FIRST: first, filter.SECOND: second}
    at, value = 0, 0
    while True:
        operation, yes, no, constant = lines[at]
        at += 1
        if operation == filter.RETURN:
            return constant
        if operation == filter.LOAD:
            value = data[constant]
            continue
        true = {
            filter.EQUAL: value == constant,
            filter.ABOVE: value >= constant,
            filter.ANY_BIT: bool(value & constant),
        }[operation]
        at += yes if true else no


@pytest.mark.parametrize("arm", [False, True])
def test_the_filter_on_both_machines(arm: bool) -> None:
    arch, other = (0xC00000B7, 0xC000003E) if arm else (0xC000003E, 0xC00000B7)
    numbers = filter.SINCE_5 | (filter.AARCH64 if arm else filter.X86)
    refused, absent = filter.ERRNO | filter.EPERM, filter.ERRNO | filter.ENOSYS

    def answer(
        name: str | int, families: tuple[int, ...] = (1, 2), keep: bool = False, arch: int = arch, **more: int
    ) -> int:
        number = numbers[name] if isinstance(name, str) else name
        return simulate(filter.program(families, keep, arm), number, arch, **more)

    for name in (
        "ptrace",
        "mount",
        "unshare",
        "keyctl",
        "bpf",
        "perf_event_open",
        "setns",
        "process_vm_readv",
        "pivot_root",
    ):
        assert answer(name) == refused, name
    for name in ("clone3", "io_uring_setup", "memfd_create"):
        assert answer(name) == absent, name
    assert answer("clone", first=0x01200011) == filter.ALLOW
    assert answer("clone", first=0x10000011) == refused
    assert answer("socket", first=2) == filter.ALLOW
    assert answer("socket", first=16) == filter.ERRNO | filter.EAFNOSUPPORT
    assert answer("socket", (), first=1) == filter.ERRNO | filter.EAFNOSUPPORT
    assert answer("ioctl", second=0x5412) == refused
    assert answer("ioctl", second=0x5401) == filter.ALLOW
    assert answer("fchmodat") == filter.ALLOW
    assert answer("fchmodat", keep=True) == refused
    assert answer(63 if arm else 0) == filter.ALLOW  # read
    assert answer("ptrace", arch=other) == filter.KILL
    if not arm:
        assert answer(0x40000000 + 101) == absent
    assert all(max(yes, no) < 256 for _, yes, no, _ in filter.program((1, 2, 10, 16), True, arm))


def test_too_much_together(tmp_path: Path) -> None:
    for number in range(1, 5):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "statm").write_text(f"100 {number * 1000} 5")
    (tmp_path / "5").mkdir()
    (tmp_path / "self").mkdir()
    assert watch.too_much(str(tmp_path), 0, 4) == ""
    assert watch.too_much(str(tmp_path), 0, 3) == "more than 3 processes"
    assert watch.too_much(str(tmp_path), 10_000 * watch.PAGE, 0) == ""
    assert "MB of memory, all processes together" in watch.too_much(str(tmp_path), 10_000 * watch.PAGE - 1, 0)


def test_a_machine_tells_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = machine._plan(tmp_path, namespaces=False, landlock=False)
    assert machine._run(plan, "exit 9") == "it can be made, and holds nothing back"
    assert machine._run(plan, "echo why >&2; exit 3") == "why"
    assert machine._run(plan, "exit 3") == "a try ended with exit status 3"
    assert "No such file" in str(machine._run(replace(plan, folder="/nowhere"), "true"))
    monkeypatch.setattr(machine, "TIMEOUT", 0.01)
    assert "timed out" in str(machine._run(plan, "sleep 5"))


def test_a_machine_without_a_proc_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, known = machine._run, look()

    def run(plan: SandboxPlan, script: str) -> str | None:
        return "it is masked" if plan.namespaces and plan.proc else real(plan, script)

    monkeypatch.setattr(machine, "_run", run)
    found = machine._try(tmp_path)
    assert found.proc == "it is masked" or found.namespaces is not None
    assert found.namespaces == known.namespaces


@pytest.mark.anyio
async def test_without_a_proc_of_its_own(project: Checkout) -> None:
    if look().namespaces is not None:
        pytest.skip("no namespaces")
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
        box = await sandbox(slot, SandboxPolicy(), machine=replace(look(), proc=NO))
        argv = box.command(["sh", "-c", "ls /proc; cat a.txt; exit 5"]).argv
        done = subprocess.run(
            argv, capture_output=True, text=True, cwd="/", env={"PATH": os.environ["PATH"]}, check=False
        )
        assert done.returncode == 5
        assert "one" in done.stdout


def test_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    argv = darwin.started(["pytest"], ["/opt/x"], ['/slot "1"'], network=False)
    assert (argv[0], argv[1], argv[-1]) == (darwin.PROGRAM, "-p", "pytest")
    assert '(allow file-read* file-write* (subpath "/slot \\"1\\""))' in argv[2]
    assert '(allow file-read* (subpath "/opt/x"))' in argv[2]
    assert "network" not in argv[2]
    assert "(allow network*)" in darwin.profile(None, [], True)
    assert "(allow file-read*)" in darwin.profile(None, [], True)
    assert darwin.missing() == f"{darwin.PROGRAM} is missing"
    found = protection_of(SandboxPolicy(), replace(NOTHING, seatbelt=None))
    assert len(found.missing) == 3
    assert found.processes.gap == "macOS has no process spaces"
    assert protection_of(SandboxPolicy(network=True), replace(NOTHING, seatbelt=None)).network.strength == "full"


@pytest.mark.anyio
async def test_commands_on_macos(project: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_workspace(project.root, settings(kind="repository"), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            monkeypatch.setattr(sys, "platform", "darwin")
            given = look.__wrapped__()
            assert given.seatbelt == f"{darwin.PROGRAM} is missing"
            box = await sandbox(slot, SandboxPolicy("weak"), machine=replace(given, seatbelt=None))
            command = box.command(["pytest"])
            assert (command.argv[0], command.cwd) == (darwin.PROGRAM, slot.path)
            assert slot.path in command.argv[2]
