"""Running commands: what comes back, for every way a command can behave."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bakeoff.engine.mask import Masker
from bakeoff.engine.record import EXCERPT, INLINE_LIMIT, Stored
from bakeoff.process import attach as attach_module
from bakeoff.process import spawner as spawner_module
from bakeoff.process.command import Command, Finished, SpawnError
from bakeoff.process.launch import NICER
from bakeoff.process.spawner import MEMORY_LIMIT, Spawner
from process.family import SCRIPT, Fifo

pytestmark = pytest.mark.anyio
SECRET = "correct-horse-battery"
FOR_EVER = "while :; do sleep 0.01; done"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


BY_SUPERVISOR = pytest.mark.parametrize(
    "anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.soak(only=True))]
)
"""For what takes seconds of waiting in the supervisor, which knows no event loop: trio is left to `make soak`."""


def new_spawner(**changes: object) -> Spawner:
    arguments = {"token": f"test-{os.getpid()}", "base_env": dict(os.environ), "masker": Masker({"key": SECRET})}
    return Spawner(**{**arguments, **changes})


async def sh(spawner: Spawner, script: str, **options: object) -> Finished:
    return await spawner.run(Command(["/bin/sh", "-c", script], **{"cwd": "/", **options}))


async def test_small_output_comes_back_and_leaves_no_file(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "echo out; echo err >&2; exit 3", log=str(tmp_path / "log"))
    assert (done.exit_code, done.stdout.value, done.stderr.value) == (3, "out\n", "err\n")
    assert (done.stdout.size, done.stdout.path, done.ended_by) == (4, None, None)
    assert list(tmp_path.iterdir()) == []


async def test_no_process_is_started_without_a_command() -> None:
    async with new_spawner() as spawner:
        assert spawner._link is None
    await spawner.end()


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


async def test_what_ended_before_its_deadline_did_also_if_nobody_looked_until_later(tmp_path: Path) -> None:
    timeout, pid, fifo = 0.5, tmp_path / "pid", tmp_path / "go"
    os.mkfifo(fifo)
    done: list[Finished] = []
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        await sh(spawner, "true")
        assert spawner._link is not None
        supervisor = spawner._link.process.pid

        async def run() -> None:
            done.append(await sh(spawner, f"echo $$ > {pid}; read x < {fifo}; exit 7", timeout=timeout))

        tasks.start_soon(run)
        await anyio.to_thread.run_sync(until, lambda: pid.exists() and pid.read_text().endswith("\n"))
        started = time.monotonic()
        os.kill(supervisor, 19)
        try:
            fifo.write_text("x\n")
            stat = Path("/proc", pid.read_text().strip(), "stat")
            until(lambda: " Z " in stat.read_text())
            in_time = time.monotonic() < started + timeout / 2  # else this machine was too slow to show anything
            until(lambda: time.monotonic() > started + 2 * timeout)
        finally:
            os.kill(supervisor, 18)
    assert (done[0].exit_code, done[0].ended_by) == (7, None) or not in_time


async def test_death_by_a_signal_gives_its_negative_number() -> None:
    async with new_spawner() as spawner:
        assert (await sh(spawner, "kill -USR1 $$")).exit_code == -10


async def test_signals_have_their_defaults_and_the_session_is_new() -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "grep SigIgn /proc/self/status; grep SigBlk /proc/self/status")
        session = await spawner.run(
            Command([sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"], "/")
        )
    # Signals 32 and 33 are the C library's own.
    assert [int(line.split()[1], 16) & 0x7FFFFFFF for line in done.stdout.value.splitlines()] == [0, 0]
    assert session.stdout.value == "True\n"


async def test_a_command_goes_behind_what_started_it() -> None:
    niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + NICER, 19)
    async with new_spawner() as spawner:
        done = await sh(spawner, f'until [ "$(nice)" = {niceness} ]; do sleep 0.01; done', timeout=60)
    assert done.exit_code == 0


async def test_environment_is_the_base_with_changes_and_marks() -> None:
    async with new_spawner(base_env={"PATH": os.environ["PATH"], "KEEP": "1", "DROP": "2"}) as spawner:
        done = await sh(spawner, "echo $KEEP-$DROP-$ADD-$BAKEOFF_RUN-$BAKEOFF_LEAF", env={"DROP": None, "ADD": "3"})
    assert done.stdout.value == f"1--3-test-{os.getpid()}-1\n"


async def test_runs_in_its_directory(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        (await sh(spawner, "pwd -P > here", cwd=str(tmp_path)))
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\necho local\n")
        program.chmod(0o755)
        done = await spawner.run(Command(["./program"], str(tmp_path)))
    assert (tmp_path / "here").read_text().strip() == str(tmp_path.resolve())
    assert done.stdout.value == "local\n"


async def test_the_supervisor_holds_no_directory(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        await sh(spawner, "true", cwd=str(tmp_path))
        assert spawner._link is not None
        assert os.readlink(f"/proc/{spawner._link.process.pid}/cwd") == "/"


async def test_standard_input_is_empty_or_the_coordinators(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    try:
        os.write(writer, b"typed\nmore\n")
        async with new_spawner() as spawner:
            none = await sh(spawner, "cat")
            given = await sh(spawner, "read line; echo got $line", inherit_stdin=True)
    finally:
        os.dup2(saved, 0)
        for fd in (reader, writer, saved):
            os.close(fd)
    assert (none.stdout.value, given.stdout.value) == ("", "got typed\n")


async def test_large_output_goes_to_a_file_with_an_excerpt(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "seq 100000; seq 100000 >&2", log=str(tmp_path / "deep" / "log"))
    expected = "".join(f"{i}\n" for i in range(1, 100001))
    for output, suffix in ((done.stdout, ".out"), (done.stderr, ".err")):
        value = output.value
        assert isinstance(value, Stored)
        assert value.path == output.path == str(tmp_path / "deep" / "log") + suffix
        assert value.load() == expected
        assert value.size == output.size == len(expected)
        assert value.excerpt.startswith(expected[:EXCERPT])
        assert value.excerpt.endswith(expected[-EXCERPT:])
        assert f"[... {len(expected) - 2 * EXCERPT} bytes left out ...]" in value.excerpt
        assert Path(value.path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [INLINE_LIMIT, INLINE_LIMIT + 1])
async def test_the_inline_limit_is_exact(tmp_path: Path, size: int) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, f"head -c {size} /dev/zero", log=str(tmp_path / "log"))
    assert isinstance(done.stdout.value, Stored) == (size > INLINE_LIMIT)
    assert (done.stdout.path is None) == (size <= INLINE_LIMIT)


async def test_bytes_that_are_not_utf8_are_replaced_and_kept_raw(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, r"printf 'a\377b'", log=str(tmp_path / "log"))
        without = await sh(spawner, r"printf 'a\377b'")
    assert done.stdout.value == without.stdout.value == "a\ufffdb"
    assert done.stdout.path is not None
    assert Path(done.stdout.path).read_bytes() == b"a\xffb"
    assert without.stdout.path is None


async def test_live_output_is_in_the_file_from_the_first_byte(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    log = str(tmp_path / "log")
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        done: list[Finished] = []

        async def work() -> None:
            done.append(await sh(spawner, f"echo first; read x < {tmp_path}/go; echo second", log=log, live=True))

        tasks.start_soon(work)
        with anyio.fail_after(60):
            while not (Path(log + ".out").exists() and Path(log + ".out").read_text() == "first\n"):  # noqa: ASYNC110
                await anyio.sleep(0.005)
        (tmp_path / "go").write_text("\n")
    assert done[0].stdout.value == "first\nsecond\n"
    assert done[0].stdout.path == log + ".out"
    assert Path(log + ".out").read_text() == "first\nsecond\n"
    assert not Path(log + ".err").exists()


async def test_output_of_long_work_goes_to_the_file(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "echo a; sleep 1.1; echo b", log=str(tmp_path / "log"))
    assert done.stdout.value == "a\nb\n"
    assert Path(str(done.stdout.path)).read_text() == "a\nb\n"


async def test_secrets_are_masked_everywhere_also_across_chunks(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    script = f"printf {SECRET[:9]}; sleep 0.05; echo {SECRET[9:]}; echo {SECRET} >&2"
    async with new_spawner() as spawner:
        done = await sh(spawner, script, log=str(tmp_path / "log"), live=True, on_stdout=pieces.append)
        large = await sh(spawner, f"yes {SECRET} | head -20000", log=str(tmp_path / "large"))
    assert (done.stdout.value, done.stderr.value) == ("***\n", "***\n")
    assert b"".join(pieces) == b"***\n"
    assert Path(str(done.stdout.path)).read_bytes() == b"***\n"
    assert str(large.stdout.value) == "***\n" * 20000
    assert large.stdout.size == 20000 * (len(SECRET) + 1)


async def test_a_secret_cut_by_the_output_limit_is_not_shown_in_part() -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, f"echo 12345{SECRET}", output_limit=15)
    assert (done.stdout.value, done.ended_by) == ("12345", "output-limit")


async def test_standard_output_is_streamed_in_order_and_the_backlog_is_bounded() -> None:
    got = bytearray()
    async with new_spawner() as spawner:

        def slow(piece: bytes) -> None:
            if not got:
                time.sleep(0.3)  # the supervisor must leave the rest in the pipe meanwhile
            got.extend(piece)

        done = await sh(spawner, "seq 1000000", on_stdout=slow)
    assert bytes(got) == "".join(f"{i}\n" for i in range(1, 1000001)).encode()
    assert done.stdout.size == len(got)


async def test_what_masking_held_back_is_shown_at_the_end() -> None:
    pieces: list[bytes] = []
    async with new_spawner() as spawner:
        done = await sh(spawner, f"printf {SECRET[:9]}", on_stdout=pieces.append)
    assert (done.stdout.value, b"".join(pieces)) == (SECRET[:9], SECRET[:9].encode())


async def test_a_command_whose_output_waits_can_be_ended() -> None:
    async with new_spawner() as spawner:

        def slow(piece: bytes) -> None:
            time.sleep(0.05)
            spawner.kill_now()

        done = await sh(spawner, "yes", on_stdout=slow)
    assert done.ended_by == "kill"


async def test_a_coordinator_too_busy_to_listen_does_not_take_its_supervisor_for_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bakeoff.process.spawner.ANSWER_TIME", 0.5)
    async with new_spawner() as spawner:
        pauses = [0.7, 0.7, 0.7]

        def slow(piece: bytes) -> None:
            time.sleep(pauses.pop() if pauses else 0)
            spawner.kill_now()

        done = await sh(spawner, "yes", on_stdout=slow)
    assert done.ended_by == "kill"


async def test_timeouts_of_commands_that_ended_are_forgotten() -> None:
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        late: list[Finished] = []

        async def work() -> None:
            late.append(await sh(spawner, "sleep 600", timeout=0.5))

        tasks.start_soon(work)
        for _ in range(150):
            await sh(spawner, ":", timeout=0.4)
    assert late[0].ended_by == "timeout"


async def test_an_error_of_on_stdout_ends_the_command_and_is_raised() -> None:
    def broken(piece: bytes) -> None:
        raise ZeroDivisionError(piece)

    async with new_spawner() as spawner:
        with pytest.raises(ZeroDivisionError):
            await sh(spawner, "echo a; sleep 600", on_stdout=broken)


@BY_SUPERVISOR
async def test_a_timeout_keeps_the_partial_output_and_ends_the_tree(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    async with new_spawner() as spawner:
        done = await sh(spawner, "echo partial;" + SCRIPT, env={"FIFO": fifo.path}, timeout=2, grace=0.1)
        fifo.wait_for(3)
        assert (done.exit_code, done.ended_by, done.stdout.value) == (-1, "timeout", "partial\n")
        assert "not reached" not in fifo.text
        assert done.seconds >= 2


async def test_after_a_timeout_nothing_of_the_tree_is_left(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    script = SCRIPT.replace("env -i ", "")
    async with new_spawner() as spawner:
        await sh(spawner, script, env={"FIFO": fifo.path}, timeout=0.4, grace=0.05)
        fifo.wait_until_gone(0.0)


@BY_SUPERVISOR
async def test_term_comes_first_and_the_grace_time_is_granted() -> None:
    script = "trap 'echo saved; exit 7' TERM; echo up; while :; do sleep 0.01; done"
    async with new_spawner() as spawner:
        done = await sh(spawner, script, timeout=2, grace=3600.0)
    assert (done.exit_code, done.stdout.value, done.ended_by) == (-1, "up\nsaved\n", "timeout")
    assert done.seconds < 1800


@BY_SUPERVISOR
async def test_a_helper_has_its_grace_time_when_the_shell_over_it_is_gone() -> None:
    inner = "trap 'sleep 0.1; echo saved; exit' TERM; echo up; while :; do sleep 0.01; done"
    async with new_spawner() as spawner:
        done = await sh(spawner, f'sh -c "{inner}" & wait', timeout=2, grace=3600.0)
    assert done.stdout.value == "up\nsaved\n"


async def test_cancelling_returns_when_the_tree_is_gone(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    script = SCRIPT.replace("env -i ", "")
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:

            async def cancel_when_ready() -> None:
                await anyio.to_thread.run_sync(fifo.wait_for, 3)
                scope.cancel()

            tasks.start_soon(cancel_when_ready)
            await sh(spawner, script, env={"FIFO": fifo.path}, grace=0.05)
        assert scope.cancelled_caught
        fifo.wait_until_gone(0.0)
        assert (await sh(spawner, "echo on")).stdout.value == "on\n"


async def test_cancelling_everything_around_the_spawner_still_ends_it_cleanly(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    with anyio.CancelScope() as scope:
        async with new_spawner() as spawner, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: sh(spawner, SCRIPT, env={"FIFO": fifo.path}, grace=0.05))
            await anyio.to_thread.run_sync(fifo.wait_for, 3)
            scope.cancel()
    fifo.wait_until_gone(0.0)


async def test_leaving_kills_daemons_that_commands_left(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    async with new_spawner() as spawner:
        go = tmp_path / "go"
        os.mkfifo(go)
        daemon = f"env -i setsid sh -c 'echo up >&9; echo > {go}; exec sleep 600'"
        done = await sh(spawner, f"exec 9>{fifo.path}; {daemon} & read x < {go}")
        assert done.exit_code in (0, 1)
        fifo.wait_for(1)
    fifo.wait_until_gone(0.0)


async def test_the_group_goes_with_its_process(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    async with new_spawner() as spawner:
        done = await sh(spawner, f"exec 9>{fifo.path}; echo up >&9; sleep 600 &")
        assert (done.exit_code, done.ended_by) == (0, None)
        fifo.wait_until_gone()


async def test_a_daemon_that_holds_the_pipe_is_not_waited_for() -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "setsid sh -c 'trap \"\" PIPE; while :; do echo noise; done' & sleep 0.1; echo end")
    assert done.exit_code == 0


async def test_streams_closed_early() -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "exec >&- 2>&-; sleep 0.05; exit 4")
    assert (done.exit_code, done.stdout.value) == (4, "")


async def test_the_output_limit_ends_the_tree(tmp_path: Path) -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "yes", log=str(tmp_path / "log"), output_limit=100_000, grace=0.1)
    assert done.ended_by == "output-limit"
    assert done.exit_code != 0
    assert Path(str(done.stdout.path)).stat().st_size == 100_000
    assert isinstance(done.stdout.value, Stored)


async def test_without_a_log_output_stays_in_memory_up_to_a_limit() -> None:
    async with new_spawner() as spawner:
        done = await sh(spawner, "head -c 3000000 /dev/zero | tr '\\0' x")
        over = await sh(spawner, "yes", grace=0.1)
    assert done.stdout.value == "x" * 3_000_000
    assert over.ended_by == "output-limit"
    assert isinstance(over.stdout.value, str)
    assert len(over.stdout.value) == MEMORY_LIMIT


async def test_eight_commands_with_ten_megabytes_each(tmp_path: Path) -> None:
    sizes = []
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            done = await sh(spawner, "head -c 10000000 /dev/zero", log=str(tmp_path / str(number)))
            sizes.append(Path(str(done.stdout.path)).stat().st_size)

        for number in range(8):
            tasks.start_soon(one, number)
    assert sizes == [10_000_000] * 8


async def test_kill_now_leaves_no_grace(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    done: list[Finished] = []
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:

        async def work() -> None:
            done.append(await sh(spawner, SCRIPT, env={"FIFO": fifo.path}, grace=600.0))

        tasks.start_soon(work)
        await anyio.to_thread.run_sync(fifo.wait_for, 3)
        spawner.kill_now()
    assert done[0].ended_by == "kill"
    assert done[0].exit_code == -9


@BY_SUPERVISOR
async def test_kill_now_cuts_a_grace_time_short(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:

        async def work() -> None:
            done = await sh(spawner, f"trap 'echo t >&9' TERM; exec 9>{fifo.path}; echo up >&9; " + FOR_EVER,
                            timeout=2, grace=600.0)  # fmt: skip
            assert done.ended_by == "timeout"

        tasks.start_soon(work)
        await anyio.to_thread.run_sync(fifo.wait_for, 2)
        spawner.kill_now()


@pytest.mark.parametrize(
    ("argv", "options", "text"),
    [
        (["no-such-program"], {}, "no such program on PATH"),
        (["/no/such/program"], {}, "No such file"),
        (["/etc"], {}, "Permission denied"),
        (["/etc/passwd"], {}, "Permission denied"),
        (["secret-file"], {"env": {"PATH": "/nonexistent:DIR"}}, "Permission denied"),
        (["true"], {"cwd": "/no/such/directory"}, "cannot run in /no/such/directory"),
        (["sh", "-c", "x" * 4_000_000], {}, "argument too long"),
        (["a\0b"], {}, "NUL"),
        (["true"], {"env": {"A": "x\0y"}}, "NUL"),
        (["true"], {"env": {"A=B": "x"}}, "'='"),
        ([], {}, "argv is empty"),
        (["DIR/odd"], {}, "interpreter"),
        (["DIR/garbage"], {}, "neither a program"),
    ],
)
async def test_what_cannot_start_says_why(
    tmp_path: Path, argv: list[str], options: dict[str, object], text: str
) -> None:
    files = (("odd", "#!/no/such/interpreter\n", 0o755), ("garbage", "\x01\x02", 0o755), ("secret-file", "", 0o644))
    for name, content, mode in files:
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
    argv = [word.replace("DIR", str(tmp_path)) for word in argv]
    if "env" in options and "PATH" in options["env"]:
        options = {"env": {"PATH": options["env"]["PATH"].replace("DIR", str(tmp_path))}}
    async with new_spawner() as spawner:
        with pytest.raises(SpawnError, match=text) as caught:
            await spawner.run(Command(argv, **{"cwd": "/", **options}))
        assert not caught.value.transient
        assert caught.value.errno
        assert (await sh(spawner, "echo fine")).stdout.value == "fine\n"


@pytest.mark.parametrize("script", ["seq 100000; sleep 600", "printf 'a\\377b'", "seq 100000"])
async def test_a_full_disk_ends_the_command_with_the_reason(tmp_path: Path, script: str) -> None:
    (tmp_path / "log.out").symlink_to("/dev/full")
    async with new_spawner() as spawner:
        done = await sh(spawner, script, log=str(tmp_path / "log"), grace=0.1)
    assert done.ended_by == "log"
    assert done.exit_code != 0
    assert done.message is not None
    assert "No space left" in done.message
    assert str(tmp_path / "log.out") in done.message


@pytest.mark.parametrize("script", ["seq 100000; sleep 600", "echo hello; sleep 600"])
async def test_a_log_that_cannot_be_made_ends_the_command_with_the_reason(tmp_path: Path, script: str) -> None:
    (tmp_path / "file").write_text("")
    async with new_spawner() as spawner:
        done = await sh(spawner, script, log=str(tmp_path / "file" / "log"), live=True, grace=0.1)
    assert done.ended_by == "log"
    assert "Not a directory" in str(done.message)
    assert done.stdout.path is None
    assert str(done.stdout.value).startswith(("1\n2\n", "hello"))


async def test_a_file_that_cannot_be_made_durable_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    async with new_spawner() as spawner:
        done = await sh(spawner, "seq 100000", log=str(tmp_path / "log"))
    assert (done.ended_by, done.exit_code) == ("log", -1)
    assert "No space left" in str(done.message)


FULL_TABLE = """
import errno, os, sys
sys.path.append(sys.argv.pop())
left, real = [FAILURES], os.posix_spawn
def spawn(*args, **options):
    if left[0]:
        left[0] -= 1
        raise BlockingIOError(errno.EAGAIN, "process table full")
    return real(*args, **options)
os.posix_spawn = spawn
from bakeoff.process.supervisor import main
main()
"""


@pytest.mark.parametrize("failures", [3, 1000])
async def test_a_full_process_table_is_waited_out_within_bounds(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    monkeypatch.setattr(spawner_module, "START", FULL_TABLE.replace("FAILURES", str(failures)))
    monkeypatch.setattr(spawner_module, "RETRIES", (0.001,) * 4)
    async with new_spawner() as spawner:
        if failures == 3:
            assert (await sh(spawner, "echo yes")).stdout.value == "yes\n"
        else:
            with pytest.raises(SpawnError, match="temporarily unavailable") as caught:
                await sh(spawner, "echo yes")
            assert caught.value.transient


BARE = """
import os, select, sys
sys.path.append(sys.argv.pop())
del os.waitid, select.epoll
from bakeoff.process import proctable
proctable.process_table = dict
from bakeoff.process import supervisor
supervisor.main()
"""


@BY_SUPERVISOR
async def test_a_system_without_proc_epoll_pidfd_and_waitid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spawner_module, "START", BARE)
    monkeypatch.delattr(os, "pidfd_open")
    fifo = Fifo(tmp_path)
    script = f"exec 9>{fifo.path}; trap '' TERM; sleep 600 & echo up >&9; echo out; "
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        assert (await sh(spawner, script)).stdout.value == "out\n"
        fifo.wait_until_gone()
        done = await sh(spawner, script + "sleep 600", timeout=2, grace=0.1)
        assert (done.exit_code, done.ended_by, done.stdout.value) == (-1, "timeout", "out\n")
        fifo.wait_until_gone()
        fifo.text = ""

        async def lost() -> None:
            with pytest.raises(SpawnError, match="killed when all were ended"):
                await sh(spawner, script + "sleep 600")

        tasks.start_soon(lost)
        await anyio.to_thread.run_sync(fifo.wait_for, 1)
        await spawner.end()
        fifo.wait_until_gone(0.0)


def test_whether_a_standard_stream_is_passed_on() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    assert not attach_module._is_passed_on(reader)
    os.set_inheritable(reader, True)
    assert attach_module._is_passed_on(reader)
    os.close(reader)
    assert not attach_module._is_passed_on(reader)


async def test_after_the_end_nothing_is_sent_and_a_command_starts_anew() -> None:
    async with new_spawner() as spawner:
        await sh(spawner, "true")
        link = spawner._link
        assert link is not None
        await spawner.end()
        link.send(("kill",))
        spawner.kill_now()
        assert (await sh(spawner, "echo yes")).stdout.value == "yes\n"


async def test_a_supervisor_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_spawner() as spawner:
        monkeypatch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(SpawnError, match="supervisor of processes could not be started"):
            await sh(spawner, "true")
        monkeypatch.undo()
        assert (await sh(spawner, "echo yes")).stdout.value == "yes\n"


async def test_a_bug_in_the_supervisor_is_told_and_the_next_command_gets_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = FULL_TABLE.replace("FAILURES", "1").replace("BlockingIOError(errno.EAGAIN,", "ZeroDivisionError(0,")
    async with new_spawner() as spawner:
        monkeypatch.setattr(spawner_module, "START", broken)
        with pytest.raises(SpawnError, match="ZeroDivisionError") as caught:
            await sh(spawner, "true")
        assert caught.value.transient
        monkeypatch.undo()
        assert (await sh(spawner, "echo yes")).stdout.value == "yes\n"


async def test_a_stuck_supervisor_is_killed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawner_module, "STOP_PATIENCE", 0.05)
    async with new_spawner() as spawner:
        await sh(spawner, "true")
        assert spawner._link is not None
        os.kill(spawner._link.process.pid, 19)


async def test_many_frames_at_once_are_all_sent() -> None:
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        ends = []

        async def one(number: int) -> None:
            done = await spawner.run(Command(["/bin/echo", "x" * 100_000, str(number)], "/"))
            ends.append(done.stdout.size)

        for number in range(40):
            tasks.start_soon(one, number)
    assert len(ends) == 40
    assert min(ends) > 100_000


async def test_commands_that_could_not_be_sent_fail_when_the_supervisor_dies() -> None:
    async with new_spawner() as spawner, anyio.create_task_group() as tasks:
        await sh(spawner, "true")
        assert spawner._link is not None
        supervisor = spawner._link.process.pid
        os.kill(supervisor, 19)
        failed = []

        async def one() -> None:
            try:
                await spawner.run(Command(["/bin/echo", "x" * 100_000], "/"))
            except SpawnError as failure:
                failed.append(failure.transient)

        for _ in range(40):
            tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        os.kill(supervisor, 9)
    assert failed == [True] * 40


async def test_nothing_starts_in_a_cancelled_scope() -> None:
    with anyio.CancelScope() as scope:
        async with new_spawner() as spawner:
            scope.cancel()
            await sh(spawner, "true")
    assert spawner._link is None


async def test_many_trees_end_together(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    script = SCRIPT.replace("env -i ", "")
    async with new_spawner() as spawner:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                for _ in range(24):
                    tasks.start_soon(lambda: sh(spawner, script, env={"FIFO": fifo.path}, grace=0.05))
                await anyio.to_thread.run_sync(fifo.wait_for, 72)
                scope.cancel()
        fifo.wait_until_gone(0.0)


async def test_the_supervisor_starts_light_and_stays_close_on_exec() -> None:
    program = (
        "import sys; sys.argv.pop(); before = set(sys.modules); sys.path.append(sys.argv.pop());"
        "import bakeoff.process.supervisor; print(sorted(set(sys.modules) - before))"
    )
    async with new_spawner() as spawner:
        loaded = await spawner.run(Command([sys.executable, "-I", "-S", "-c", program, spawner_module.ROOT, "x"], "/"))
        open_files = await sh(spawner, "ls /proc/self/fd")
    heavy = {"anyio", "asyncio", "typing", "re", "socket", "subprocess", "json", "dataclasses", "ctypes"}
    assert heavy.isdisjoint(eval(str(loaded.stdout.value)))
    assert open_files.stdout.value.split() == ["0", "1", "2", "3"]
