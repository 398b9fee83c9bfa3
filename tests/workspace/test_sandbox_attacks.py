from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bakeoff.engine.mask import Masker
from bakeoff.process.command import Finished
from bakeoff.process.spawner import Spawner
from bakeoff.workspace.sandbox.machine import Machine, look
from bakeoff.workspace.sandbox.policy import Limits, SandboxPolicy, agent_policy
from bakeoff.workspace.sandbox.sandbox import NOT_BUILT, Sandbox, sandbox
from bakeoff.workspace.workspace import open_workspace

from .conftest import Checkout, settings

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux"),
]

ATTACKS = Path(__file__).with_name("attacks.py")
WORD = "a-secret-nobody-may-see"
PYTHON = os.path.realpath(sys.executable)


def machine(kind: str) -> Machine:
    found = look()
    if kind == "apart":
        if found.namespaces is not None:
            pytest.skip(f"namespaces: {found.namespaces}")
        return found
    if found.landlock is not None or found.seccomp is not None:
        pytest.skip(f"landlock: {found.landlock}, seccomp: {found.seccomp}")
    return replace(found, namespaces="a test took them away", proc="a test took them away")


@pytest.fixture
async def processes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Spawner]:
    monkeypatch.setenv("API_SECRET", WORD)
    async with Spawner(token="test", base_env=dict(os.environ), masker=Masker()) as spawner:
        yield spawner


@asynccontextmanager
async def boxed(
    project: Checkout, kind: str = "apart", slots: str = "overlay", **policy: object
) -> AsyncIterator[Sandbox]:
    policy.setdefault("level", "full" if kind == "apart" else "weak")
    async with open_workspace(project.root, settings(kind=slots), "run", slots=2) as workspace:
        async with workspace.lease() as slot:
            yield await sandbox(slot, SandboxPolicy(**policy), machine=machine(kind))  # type: ignore[arg-type]


async def run(processes: Spawner, box: Sandbox, *argv: str, **more: object) -> Finished:
    return await processes.run(box.command(argv, **more))


async def python(processes: Spawner, box: Sandbox, text: str, *argv: str, **more: object) -> Finished:
    return await run(processes, box, PYTHON, "-c", text, *argv, **more)


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Path]:
    """A folder whose path fits into a socket's address."""
    place = Path(f"/var/tmp/b{os.getpid()}")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    yield place
    shutil.rmtree(place)


@pytest.mark.parametrize("slots", ["overlay", "repository"])
@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_nothing_gets_out(
    project: Checkout, home: Path, short: Path, kind: str, slots: str, processes: Spawner
) -> None:
    secret = home / ".ssh" / "id"
    secret.parent.mkdir()
    secret.write_text(WORD)
    secret.chmod(0o600)
    target = short / "target"
    target.mkdir()
    victim = subprocess.Popen(["sleep", "100"], env={"WORD": WORD, "PATH": os.environ["PATH"]})
    tcp, abstract, path = socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    try:
        tcp.bind(("127.0.0.1", 0))
        abstract.bind(f"\0bakeoff-test-{os.getpid()}")
        path.bind(str(short / "socket"))
        for sock in (tcp, abstract, path):
            sock.listen()
        async with open_workspace(project.root, settings(kind=slots), "run", slots=2) as workspace:
            async with workspace.lease() as slot, workspace.lease() as other:
                (other.outside / "theirs").write_text(WORD)
                level = "full" if kind == "apart" else "weak"
                box = await sandbox(slot, SandboxPolicy(level), machine=machine(kind))
                aim = {
                    "secret": str(secret), "home": str(home), "other": f"{other.path}/theirs", "outside": str(target / "x"),
                    "tcp": tcp.getsockname()[1], "abstract": f"bakeoff-test-{os.getpid()}", "socket": str(short / "socket"),
                    "victim": victim.pid, "coordinator": os.getpid(), "drow": WORD[::-1], "apart": kind == "apart",
                }  # fmt: skip
                done = await python(processes, box, ATTACKS.read_text(), json.dumps(aim))
                assert done.exit_code == 0, (done.stdout.value, done.stderr.value)
                found = json.loads(str(done.stdout.value))
                assert found["breaches"] == [], found["notes"]
                assert len(found["notes"]) > 35
        assert victim.poll() is None
        assert secret.stat().st_mode & 0o777 == 0o600
        assert list(target.iterdir()) == []
    finally:
        victim.kill()
        victim.wait()
        for sock in (tcp, abstract, path):
            sock.close()


@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_a_daemon_is_gone_when_the_command_ends(project: Checkout, kind: str, processes: Spawner) -> None:
    daemon = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            import signal; signal.signal(getattr(signal, name), signal.SIG_IGN)
        open("alive", "w").write("x")
        time.sleep(3600)
    os._exit(0)
while not os.path.exists("alive"):
    time.sleep(0.005)
print("left", flush=True)
"""
    async with boxed(project, kind) as box:
        with anyio.fail_after(60):
            done = await python(processes, box, daemon)
        assert (done.exit_code, str(done.stdout.value)) == (0, "left\n"), done.stderr.value
        assert done.seconds < 1800
        marker = box.slot.path.encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if Path(f"/proc/{pid}/environ").read_bytes().find(b"BAKEOFF_SLOT_PATH=" + marker) >= 0:
                    assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"", "a process was left"
            except OSError:
                continue


async def test_a_command_has_nothing_of_who_started_it(project: Checkout, processes: Spawner) -> None:
    """It is started by a fork of the process that starts all commands, and reads their pipes."""
    look_around = """
import os
print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:4], os.environ.get("API_SECRET"))
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "mem", "maps"):
        try:
            if int(pid) != os.getpid() and open(f"/proc/{pid}/{name}", "rb").read(1): print("breach", pid, name)
        except OSError: pass
"""
    async with boxed(project) as box:
        async with anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(
                processes.run, box.command(["sh", "-c", "echo x; sleep 60"], on_stdout=lambda data: ready.set())
            )
            await ready.wait()
            done = await python(processes, box, look_around)
            tasks.cancel_scope.cancel()
        assert str(done.stdout.value) == "[0, 1, 2, 3] None\n", done.stderr.value
        assert box.command(["true"]).fork is not None


BOMB = """
import os, sys, time
made = 0
try:
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(3600)
            os._exit(0)
        made += 1
        time.sleep(0.0005)
    time.sleep(3600)
except OSError as failure:
    print(made, failure.errno)
"""


async def test_a_fork_bomb_ends_at_its_limit(project: Checkout, processes: Spawner) -> None:
    async with boxed(project, limits=Limits(processes=40)) as box:
        done = await python(processes, box, BOMB)
        assert done.seconds < 1800
        if os.geteuid() == 0:
            assert done.exit_code == -signal.SIGKILL
            assert "ended: more than 40 processes" in str(done.stderr.value)
        else:
            made, number = map(int, str(done.stdout.value).split())
            assert made <= 40
            assert number == 11


async def test_memory_is_limited_for_each_and_for_all(project: Checkout, processes: Spawner) -> None:
    limits = Limits(memory=300 << 20, shared=64 << 20)
    share = "import mmap, os, time\nm = mmap.mmap(-1, 200 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\ntime.sleep(30)\n"
    async with boxed(project, limits=limits) as box:
        done = await python(processes, box, "x = bytearray(2 << 30)")
        assert done.exit_code == 1
        assert "MemoryError" in str(done.stderr.value)
        done = await python(processes, box, f"import os\nfor _ in range(3):\n    os.fork()\n{share}")
        assert done.exit_code == -signal.SIGKILL
        assert "ended: more than 300 MB of memory, all processes together" in str(done.stderr.value)
        done = await run(processes, box, "sh", "-c", "head -c 100000000 /dev/zero > /dev/shm/x")
        assert "No space left" in str(done.stderr.value)
        done = await python(processes, box, "import os; os.memfd_create('x')")
        assert "Function not implemented" in str(done.stderr.value)


@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_time_and_file_size_are_limited(project: Checkout, kind: str, processes: Spawner) -> None:
    async with boxed(project, kind, limits=Limits(cpu=1, file=1 << 20, seconds=20)) as box:
        done = await python(processes, box, "while True: pass")
        assert done.exit_code == -signal.SIGKILL
        done = await run(processes, box, "sh", "-c", "head -c 9000000 /dev/zero > big; wc -c < big")
        assert str(done.stdout.value).strip() == "1048576"
    async with boxed(project, kind, limits=Limits(seconds=0.3)) as box:
        done = await run(processes, box, "sleep", "60", grace=0.2)
        assert (done.exit_code, done.ended_by) == (-1, "timeout")
        assert (await run(processes, box, "true", timeout=20)).exit_code == 0


@pytest.mark.parametrize("slots", ["overlay", "repository"])
@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_work_in_the_slot_goes_on_as_ever(project: Checkout, kind: str, slots: str, processes: Spawner) -> None:
    async with boxed(project, kind, slots) as box:
        script = "cat a.txt; echo new > new.txt; rm tool.sh; mkdir d; mv a.txt d/; echo t > $TMPDIR/t; cat $TMPDIR/t; pwd; echo x > /dev/null"
        done = await run(processes, box, "sh", "-ec", script)
        assert str(done.stdout.value) == f"one\nchanged\nt\n{box.slot.path}\n", done.stderr.value
        done = await run(processes, box, "sh", "-c", "pwd; cat page.md", cwd=f"{box.slot.path}/docs/deep")
        assert str(done.stdout.value) == f"{box.slot.path}/docs/deep\n# page\n"
        changed = {path.path for path in (await box.slot.commit("n")).changed}
        assert changed == {"a.txt", "d/a.txt", "new.txt", "tool.sh"}


@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_a_command_ends_as_it_would_outside(project: Checkout, kind: str, processes: Spawner) -> None:
    async with boxed(project, kind) as box:
        for script, status in (("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9), ("kill -ABRT $$", -6)):
            assert (await run(processes, box, "sh", "-c", script)).exit_code == status, script
        done = await run(processes, box, "no-such-program")
        assert (done.exit_code, str(done.stderr.value)) == (
            127, "bakeoff sandbox: cannot start 'no-such-program': No such file or directory\n",
        )  # fmt: skip
        assert (await run(processes, box, "./a.txt")).exit_code == 126
        done = await run(processes, box, "true", cwd="/nowhere")
        assert (done.exit_code, "No such file" in str(done.stderr.value)) == (NOT_BUILT, True)


@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_who_ends_a_command_reaches_it_once(project: Checkout, kind: str, processes: Spawner) -> None:
    """Programs that clean up on the first signal often give up on the second."""
    handler = """
import signal, sys, time
def clean(*rest):
    with open("cleaned", "a") as file:
        file.write("x")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    time.sleep(0.3)
    sys.exit(3)
signal.signal(signal.SIGTERM, clean)
print("ready", flush=True)
time.sleep(60)
"""
    async with boxed(project, kind) as box:
        ready = anyio.Event()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    processes.run, box.command([PYTHON, "-c", handler], on_stdout=lambda data: ready.set())
                )
                await ready.wait()
                tasks.cancel_scope.cancel()
        assert (box.slot.outside / "cleaned").read_text() == "x"


async def test_cancelled_all_are_gone(project: Checkout, processes: Spawner) -> None:
    sleeps = f"sleep 1{os.getpid():08}"  # as nobody else on this machine
    async with boxed(project) as box:
        ready = anyio.Event()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:

                async def work() -> None:
                    command = box.command(
                        ["sh", "-c", f"trap '' TERM; (trap '' TERM; {sleeps}) & echo ready; wait; {sleeps}"],
                        grace=0.2,
                        on_stdout=lambda data: ready.set(),
                    )
                    await processes.run(command)

                tasks.start_soon(work)
                await ready.wait()
                tasks.cancel_scope.cancel()
        lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout.splitlines()
        assert sleeps not in lines


async def test_loopback_is_its_own(project: Checkout, processes: Spawner) -> None:
    server = """
import socket, multiprocessing, os, pty
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
    server.accept()[0].sendall(b"served")
    print(client.recv(10).decode())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(sum(pool.map(abs, [-1, -2])))
print(os.isatty(pty.openpty()[1]))
"""
    async with boxed(project) as box:
        done = await python(processes, box, server)
        assert str(done.stdout.value).split() == ["served", "3", "True"], done.stderr.value
    async with boxed(project, loopback=False) as box:
        done = await python(processes, box, "import socket; socket.socket()")
        assert "Address family not supported" in str(done.stderr.value)


async def test_only_known_variables_come_in(
    project: Checkout, processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WORD)
    monkeypatch.setenv("MY_FLAG", "flag")
    monkeypatch.setenv("LC_TIME", "C")
    async with boxed(project, environment=("MY_*",)) as box:
        done = await run(processes, box, "env", env={"GIVEN": "given", "LANG": None})
        found = dict(line.split("=", 1) for line in str(done.stdout.value).splitlines())
        assert (found["MY_FLAG"], found["GIVEN"], found["LC_TIME"]) == ("flag", "given", "C")
        assert found["HOME"] == found["TMPDIR"] == str(box.slot.temp)
        assert not {"AWS_SECRET_ACCESS_KEY", "API_SECRET", "LANG", "XDG_CACHE_HOME"} & set(found)
        assert found["BAKEOFF_SLOT"] == box.slot.id


async def test_further_places(project: Checkout, tmp_path: Path, processes: Spawner) -> None:
    for name in ("read", "write"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    (tmp_path / "link").symlink_to("read")
    for kind in ("apart", "here"):
        reads, writes = (
            (str(tmp_path / "link"), str(tmp_path / "none")),
            (str(tmp_path / "write"), str(tmp_path / "none")),
        )
        async with boxed(project, kind, reads=reads, writes=writes) as box:
            script = f"cat {tmp_path}/link/x; echo {kind} > {tmp_path}/write/{kind}; echo x > {tmp_path}/read/y"
            done = await run(processes, box, "sh", "-c", script)
            assert str(done.stdout.value) == "read"
            assert (tmp_path / "write" / kind).read_text() == f"{kind}\n"
            assert [path.name for path in (tmp_path / "read").iterdir()] == ["x"]


@pytest.mark.parametrize("kind", ["apart", "here"])
async def test_an_agent_has_the_network_and_writes_to_its_own_places_only(
    project: Checkout, home: Path, kind: str, processes: Spawner
) -> None:
    (home / ".agent").mkdir()
    (home / ".agent" / "login").write_text("login")
    attack = f"""
import os, socket
print(open({str(home / ".agent/login")!r}).read(), os.environ["API_SECRET"], os.environ["HOME"] == {str(home)!r})
open({str(home / ".agent/state")!r}, "w").write("x"); open("work", "w").write("x"); open(os.environ["TMPDIR"] + "/t", "w")
for path in ({str(home / "x")!r}, {str(project.root / "x")!r}, "/usr/x", "/proc/sys/kernel/core_pattern"):
    try:
        open(path, "w"); print("breach", path)
    except OSError: pass
with socket.create_connection(("127.0.0.1", PORT), 5) as sock: print(sock.recv(9).decode())
try: os.kill({os.getpid()}, 0); print("breach kill")
except OSError: pass
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
            box = await sandbox(slot, agent_policy([str(home / ".agent")]), machine=machine(kind))
            text = attack.replace("PORT", str(server.getsockname()[1]))
            async with anyio.create_task_group() as tasks:

                async def serve() -> None:
                    await anyio.wait_readable(server)
                    with server.accept()[0] as sock:
                        sock.sendall(b"served")

                tasks.start_soon(serve)
                done = await python(processes, box, text)
                tasks.cancel_scope.cancel()
            assert str(done.stdout.value).splitlines() == [f"login {WORD} True", "served"], done.stderr.value
            assert (home / ".agent" / "state").exists()
            assert [path.path for path in (await slot.commit("n")).changed] == ["work"]


async def test_places_that_lead_elsewhere_through_the_slot_are_refused(
    project: Checkout, home: Path, processes: Spawner
) -> None:
    """A further place inside the slot may have been replaced by a link in an earlier command."""
    async with boxed(project, writes=()) as box:
        (box.slot.outside / "docs").rename(box.slot.outside / "moved") if box.slot.kind != "overlay" else None
        done = await run(processes, box, "sh", "-c", f"rm -r new && ln -s {home} new")
        assert done.exit_code == 0
        policy = replace(box.policy, reads=(f"{box.slot.path}/new",))
        done = await run(processes, replace(box, policy=policy), "ls", "new/")
        assert str(done.stdout.value) == ""


def test_the_same_as_nobody(nobodys: Path) -> None:
    """The attacks by a user without any privilege."""
    system = Path("/usr/bin/python3")
    if os.geteuid() != 0 or not system.exists():
        pytest.skip("needs root to become somebody else, and a Python that everybody may run")
    packages = next((Path(entry) for entry in sys.path if entry.endswith("site-packages")), Path())
    version = subprocess.run([system, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if version.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        pytest.skip("the system's Python is another version")
    tests = Path(__file__).parent
    asked = "gets_out or daemon or bomb or memory or goes_on or agent"
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    pytest_ = [str(system), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={nobodys}/t"]
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(nobodys), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"{tests.parents[1] / 'src'}:{tests.parent}:{packages}",
    }  # fmt: skip
    done = subprocess.run(
        [*become, *pytest_, "-k", asked, "test_sandbox_attacks.py"],
        cwd=tests, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " skipped" not in done.stdout
