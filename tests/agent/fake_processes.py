"""A plain runner of processes for tests of the agent floor: anyio only, no supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import anyio

from bakeoff.engine.process import Command, Finished, Output, SpawnError


class PlainProcesses:
    """Fulfils `Processes`; remembers what it was told to run and the process groups that it started."""

    def __init__(self, base: dict[str, str] | None = None) -> None:
        self.base = dict(os.environ) if base is None else base
        self.commands: list[Command] = []
        self.groups: list[int] = []

    async def run(self, command: Command) -> Finished:
        self.commands.append(command)
        env = {**self.base, **command.env}
        started = time.monotonic()
        try:
            process = await anyio.open_process(
                list(command.argv),
                cwd=command.cwd,
                env={name: value for name, value in env.items() if value is not None},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as failure:
            raise SpawnError(str(failure), failure.errno or 0, False) from failure
        self.groups.append(process.pid)
        out, err = bytearray(), bytearray()
        ended_by = None
        try:
            with anyio.move_on_after(command.timeout) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._read, process.stdout, out, command.on_stdout)
                    group.start_soon(self._read, process.stderr, err, None)
                await process.wait()
            if scope.cancelled_caught:
                ended_by = "timeout"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            with anyio.CancelScope(shield=True):
                await process.wait()
                await process.aclose()
        exit_code = -1 if ended_by else process.returncode
        return Finished(exit_code, _output(out), _output(err), time.monotonic() - started, ended_by)

    async def _read(self, stream, into, callback) -> None:
        async for piece in stream:
            into += piece
            if callback:
                callback(piece)


def _output(raw: bytearray) -> Output:
    return Output(raw.decode("utf-8", "replace"), len(raw))
