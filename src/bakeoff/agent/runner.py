"""Runner of coding-agent CLIs: one call, from checks before it to its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import anyio

from bakeoff.agent.clis import event_format
from bakeoff.agent.endpoint import SetUp
from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.events import session
from bakeoff.agent.executable import extra_arguments, find_executable
from bakeoff.agent.leftover_files import leftover_files, remove_leftover_files
from bakeoff.agent.login import check_login, endpoint_key
from bakeoff.agent.output_reader import OutputReader
from bakeoff.agent.reachable import why_refused
from bakeoff.agent.result import AgentResult, judge, tail_of
from bakeoff.process.command import Command, Finished, Processes, SpawnError
from bakeoff.system.temporary import temporary_folder
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import read_small

ARGUMENT_LIMIT = 128 * 1024 - 1
"""Bytes of one argument that Linux passes to a program."""

ARTIFACT_LIMIT = 64 << 20
"""Bytes of a result file that are read."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """Request to an agent.

    Attributes:
        prompt: the text; or
        command: name of a command of the agent's, asked for in its own slash form, with `args` after it.
        args: the command's arguments, as one text.
        model: None for the CLI's own default.
        session: id of a session to continue.
        max_usd: ceiling handed to the CLI's own cap, where it has one.
        extra: further arguments for the CLI.
    """

    prompt: str | None = None
    command: str | None = None
    args: str = ""
    model: str | None = None
    session: str | None = None
    max_usd: float | None = None
    extra: tuple[str, ...] = ()


class CallOptions(TypedDict, total=False):
    """Options of one call, by name.

    Attributes:
        log: path prefix of the log files that its output is streamed to; by default there are none.
        env: variables on top of the entry's; None takes one away.
        timeout: seconds after which it is ended; by default there is no limit.
        grace: seconds between TERM and KILL, 5 by default.
        temp: a folder that it can write in; by default the system's.
        heard: called whenever it prints, with what it has told so far.
        begins: called just before it is started: what is raised before that was not paid for.
    """

    log: str | None
    env: Mapping[str, str | None] | None
    timeout: float | None
    grace: float
    temp: str | None
    heard: Callable[[Mapping[str, Any]], None] | None
    begins: Callable[[], None] | None


async def run_agent(
    entry: Entry,
    request: AgentRequest,
    processes: Processes,
    *,
    cwd: str | os.PathLike[str],
    **options: Unpack[CallOptions],
) -> AgentResult:
    """Ask `entry`'s CLI in `cwd` and wait for its end.

    Cancelled, it ends the process tree first. Failures are results, not exceptions.
    """
    cwd = os.fspath(cwd)
    with _scratch(entry, options.get("temp")) as scratch:
        artifact = None if scratch is None else Path(scratch, entry.artifact or "")
        env = options.get("env") or {}
        try:
            entry, made = _set_up(entry, {**entry.env, **env})
            # Some CLIs take PWD for the folder they are in.
            variables = {**entry.env, "PWD": cwd, **env, **made.env}
            argv = _argv(entry, request, cwd, variables, artifact)
            _check_login(entry, request, cwd, variables)
        except AgentError as failure:
            return AgentResult(entry.name, False, unbegun=True, error=str(failure), kind=failure.kind)
        if entry.endpoint is not None:
            await in_thread(made.write, entry.endpoint.folder(entry.name))
        output = OutputReader(entry.events, options.get("heard"))
        command = _command(entry, argv, cwd, variables, output, options)
        if entry.endpoint is not None and (refused := await why_refused(entry.endpoint)) is not None:
            return AgentResult(entry.name, False, argv=tuple(argv), unbegun=True, error=refused, kind="connection")
        before = await leftover_files(entry, processes, cwd)
        if (begins := options.get("begins")) is not None:
            begins()
        try:
            finished = await _run(processes, command, output, artifact)
        except SpawnError as failure:
            kind = "spawn" if failure.transient else "missing"
            said, unbegun = f"{argv[0]}: {failure}", not failure.lost
            return AgentResult(entry.name, False, argv=tuple(argv), unbegun=unbegun, error=said, kind=kind)
        await remove_leftover_files(entry, processes, cwd, before)
    capped = request.max_usd is not None and entry.can_cap_cost
    return judge(entry, request.model or entry.model, command, finished, output.reading, capped)


def _command(
    entry: Entry,
    argv: list[str],
    cwd: str,
    env: Mapping[str, str | None],
    output: OutputReader,
    options: CallOptions,
) -> Command:
    """The command that asks the CLI; `output` takes what it prints where that is events, or somebody listens."""
    form, log = event_format(entry.events), options.get("log")
    has_events = form.has_final and not form.from_artifact
    return Command(
        argv,
        cwd,
        env=env,
        log=log,
        timeout=options.get("timeout"),
        grace=options.get("grace", 5.0),
        live=log is not None,
        lossy=True,  # its work is worth more than its transcript
        on_stdout=output.take if has_events else output.told if options.get("heard") is not None else None,
    )


async def _run(processes: Processes, command: Command, output: OutputReader, artifact: Path | None) -> Finished:
    """Run the CLI to its end, while what it prints is read; then what it left as its result.

    Passes on SpawnError: it could not be started.
    """
    outcome: list[Finished | Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.listen)
        try:
            finished = await processes.run(command)
            if artifact is not None:
                output.take(await in_thread(_read_artifact, artifact))
            outcome.append(finished)
            output.end(tail_of(finished.stdout.value))
        except Exception as failure:  # as itself, and not in a group
            outcome.append(failure)
            tasks.cancel_scope.cancel()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def check_request(entry: Entry, request: AgentRequest, cwd: str | os.PathLike[str]) -> None:
    """See, before anything is spent, that the CLI is there, has a login as far as that shows, and can be asked this.

    Passes on AgentError: it is not, or cannot.
    """
    _check_login(entry, request, os.fspath(cwd), entry.env, scripts=False)
    entry, made = _set_up(entry, entry.env)
    artifact = Path(os.sep, entry.artifact) if entry.artifact else None
    _argv(entry, request, os.fspath(cwd), {**entry.env, **made.env}, artifact)


def _check_login(
    entry: Entry, request: AgentRequest, cwd: str, env: Mapping[str, str | None], scripts: bool = True
) -> None:
    """See `check_login`; further arguments may hold a login. Passes on AgentError: there is none."""
    if not request.extra:
        check_login(entry, cwd, env, request.model or entry.model, scripts)


def _scratch(entry: Entry, temp: str | None) -> AbstractContextManager[str | None]:
    """A folder for the result file, where the CLI is told to write one."""
    return temporary_folder("agent", temp) if entry.artifact else nullcontext()


def _set_up(entry: Entry, env: Mapping[str, str | None]) -> tuple[Entry, SetUp]:
    """The entry with the arguments that make it ask its endpoint, and what else it takes for that.

    Passes on AgentError: the endpoint's key is not there.
    """
    if entry.endpoint is None or entry.aim is None:
        return entry, SetUp({})
    made = entry.aim(entry.endpoint, endpoint_key(entry, env), entry.endpoint.folder(entry.name))
    return replace(entry, argv=entry.with_arguments(made.arguments)), made


def _argv(
    entry: Entry, request: AgentRequest, cwd: str, env: Mapping[str, str | None], artifact: Path | None
) -> list[str]:
    """The whole command line.

    Raises:
        AgentError: the CLI is missing, or cannot be asked this.
    """
    model = entry.named(request.model)
    for value, placeholder, what in ((model, "model", "model"), (request.session, "session", "session to continue")):
        if value and not entry.takes(placeholder):
            raise AgentError(f"agent {entry.name} takes no {what}: its argv has no {{{placeholder}}}; leave it out")
    if request.session and session(request.session) is None:
        raise AgentError(
            f"agent {entry.name}: {request.session[:40]!r} is no session id: letters, digits, and any of `_.:-` after "
            "the first, at most 128 characters; leave it out to begin a session"
        )
    program = find_executable(entry, cwd, env)
    values = {
        "model": model,
        "session": request.session,
        "max_usd": None if request.max_usd is None else f"{request.max_usd:g}",
        "artifact": None if artifact is None else str(artifact),
        **_asked(entry, request),
    }
    extra = (*extra_arguments(entry, env), *request.extra)
    argv = [program, *entry.arguments(values, extra)]
    for argument in argv:
        if "\0" in argument:
            raise AgentError(f"agent {entry.name}: a NUL character cannot be passed to a program: {argument[:40]!r}...")
        if len(argument.encode("utf-8", "surrogatepass")) > ARGUMENT_LIMIT:
            raise AgentError(
                f"agent {entry.name}: the prompt has more than {ARGUMENT_LIMIT} bytes, which no program can be given; "
                "write it to a file and ask the agent to read that"
            )
    return argv


def _asked(entry: Entry, request: AgentRequest) -> dict[str, str | None]:
    if request.command is None:
        if not (request.prompt or "").strip():
            raise AgentError(f"agent {entry.name}: the prompt is empty; there is nothing to ask")
        return {"prompt": request.prompt}
    if not request.command.strip():
        raise AgentError(f"agent {entry.name}: the command's name is empty")
    if entry.takes("command") and request.command[:1] not in ("/", "$"):
        return {"command": entry.slash_text(request.command, ""), "prompt": request.args}
    return {"prompt": entry.slash_text(request.command, request.args)}


def _read_artifact(path: Path) -> bytes:
    """A result file; where there is none, there is no final event, and that is judged."""
    return read_small(path.parent, os.fsencode(path.name), ARTIFACT_LIMIT) or b""
