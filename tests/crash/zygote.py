"""A process that has bakeoff imported and forks one child per command line, so that a session costs no start-up.

Each child is a real process of its own that dies by a real SIGKILL. Requests and answers are JSON, one a line.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any


def arm(crash: dict[str, Any]) -> None:
    """Let the journal be slow, and let it kill its process around its commit number `at`."""
    from bakeoff.engine.journal import SqliteJournal

    commit = SqliteJournal._commit
    done = 0

    def counted(self: SqliteJournal, batch: Any) -> Any:
        nonlocal done
        done += 1
        if crash.get("slow"):
            time.sleep(crash["slow"])
        if crash.get("at") == done and crash["when"] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if crash.get("at") == done and crash["when"] == "inside":
            self._db = Dying(self._db)  # type: ignore[assignment]
        error = commit(self, batch)
        if crash.get("at") == done and crash["when"] == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return error

    SqliteJournal._commit = counted  # type: ignore[method-assign]
    if "call" in crash:
        _arm_calls(crash)
    if "in" in crash:
        _arm_function(crash)


def _arm_function(crash: dict[str, Any]) -> None:
    """Kill the process, or send it `signal`, around call number `nth` of `module:function` or `module:Class.method`."""
    module, _, name = crash["in"].partition(":")
    owner = import_module(module)
    *classes, name = name.split(".")
    for part in classes:
        owner = getattr(owner, part)
    original = getattr(owner, name)
    done = 0

    def die(when: str) -> None:
        if done == crash.get("nth", 1) and crash["when"] == when:
            os.kill(os.getpid(), crash.get("signal", signal.SIGKILL))

    @functools.wraps(original)
    def call(*args: Any, **more: Any) -> Any:
        nonlocal done
        done += 1
        die("before")
        result = original(*args, **more)
        die("after")
        return result

    @functools.wraps(original)
    async def call_async(*args: Any, **more: Any) -> Any:
        nonlocal done
        done += 1
        die("before")
        result = await original(*args, **more)
        die("after")
        return result

    setattr(owner, name, call_async if inspect.iscoroutinefunction(original) else call)


class Dying:
    """A connection to a journal that kills its process where it would have committed."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, statement: str) -> Any:
        if statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.connection.execute(statement)

    def executemany(self, *args: Any) -> Any:
        return self.connection.executemany(*args)


def _arm_calls(crash: dict[str, Any]) -> None:
    """Kill the process and all that it started around the start of a program, or a change of a file, number `call`.

    All of them are noted.
    """
    import subprocess

    done = 0

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            nonlocal done
            done += 1
            mine = done == crash["call"]
            with open(crash["noted"], "a", encoding="utf-8") as file:
                file.write(f"{name} {args[1] if name == '__init__' else args[0]!r}\n")
            if mine and crash["when"] == "before":
                os.killpg(0, signal.SIGKILL)
            try:
                return original(*args, **more)
            finally:
                if mine and crash["when"] == "after":
                    os.killpg(0, signal.SIGKILL)

        setattr(owner, name, call)

    os.setpgid(0, 0)

    counted(subprocess.Popen, "__init__")
    for name in ("replace", "unlink", "mkdir", "fchmod", "link", "rmdir"):
        counted(os, name)


def child(request: dict[str, Any]) -> None:
    os.chdir(request["cwd"])
    os.environ.update(request["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    arm(request["crash"])
    from bakeoff.cli.command_line import cli

    cli(request["argv"])


def main() -> None:
    # What children would each import, and each find out about this machine.
    for name in ("attempt", "merge", "optimize", "plan", "resume", "run", "show"):
        import_module(f"bakeoff.cli.{name}")
    for name in ("optimize", "plan.queue", "plan.run", "sampling.attempt", "workflow"):
        import_module(f"bakeoff.{name}.session")
    import_module("bakeoff.workspace.sandbox.machine").look()
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                child(request)
            except SystemExit as end:
                os._exit(end.code if isinstance(end.code, int) else 1)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(70)
            os._exit(0)
        if (after := request["crash"].get("after")) is not None:
            time.sleep(after)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


if __name__ == "__main__":
    main()
