"""Runs one coding-agent CLI to its end and says what it did."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from bakeoff.agent.clis import event_format
from bakeoff.agent.cost import cost_of
from bakeoff.agent.endpoint import SetUp
from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.events import LINE_LIMIT, EventFormat, Reading, session
from bakeoff.agent.executable import extra_arguments, find_executable
from bakeoff.agent.failures import LIMITED, error_lines, kind_of, one_line, pause_of
from bakeoff.agent.litter import litter_of, remove_litter
from bakeoff.agent.login import check_login, endpoint_key
from bakeoff.agent.output_reader import OutputReader
from bakeoff.agent.reachable import why_refused
from bakeoff.engine.record import Outcome, Status, Stored
from bakeoff.process.command import Command, Finished, Output, Processes, SpawnError
from bakeoff.system.temporary import temporary_folder
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import read_small

ARGUMENT_LIMIT = 128 * 1024 - 1
"""Bytes of one argument that Linux passes to a program."""

ARTIFACT_LIMIT = 64 << 20
"""Bytes of a result file that are read."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """What an agent is asked.

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


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How an agent's work ended.

    Attributes:
        agent: name of its entry.
        ok: whether it succeeded, by `evidence`.
        text: its last words; `Stored` where a CLI that prints plain text printed much.
        exit_code: of the process; 1 when it was not started.
        argv: what was run, as it was run.
        dispatched: whether a process was started, and ended under our eyes.
        unbegun: whether it is certain that none was started.
        stdout: raw standard output, None when not started; `stderr` likewise.
        usage: tokens by `events.USAGE_KEYS`, None where unknown.
        usd: cost in USD, None where unknown, never 0 for that.
        evidence: `final-event`, `exit-status` or `none` (not started, or no final event from a CLI that has one).
        error: one line for a person, and its `kind` (one of `failures.KINDS`), when not ok.
        retry_after: seconds after which it says that trying again may help.
        capped: whether the CLI was given a ceiling of money.
        seconds: the time it took.
    """

    agent: str
    ok: bool
    text: str | Stored = ""
    exit_code: int = 1
    argv: tuple[str, ...] = ()
    dispatched: bool = False
    unbegun: bool = False
    stdout: Output | None = None
    stderr: Output | None = None
    usage: Mapping[str, int] | None = None
    usd: float | None = None
    session_id: str | None = None
    turns: int | None = None
    evidence: str = "none"
    error: str | None = None
    kind: str | None = None
    retry_after: float | None = None
    capped: bool = False
    seconds: float = 0.0
    ended_by: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def uncharged(self) -> bool:
        """Whether no call was made: nothing was started, or nobody listened where its model was to be."""
        return self.unbegun or (self.kind == "connection" and self.usage is None)

    def outcome(self, output: Mapping[str, Any] | None = None, given: Mapping[str, Any] | None = None) -> Outcome:
        """The same as a node's outcome; `output` is put in front of the fields every agent step has.

        `stdout` is what the agent said, as its plain-text mode would print it; its events are in the log.
        """
        usage = {**(self.usage or {}), **({} if self.usd is None else {"usd": self.usd})}
        facts = {
            "agent": self.agent,
            "evidence": self.evidence,
            "session_id": self.session_id,
            "turns": self.turns,
            "argv": list(self.argv),
            "retry_after": self.retry_after,
            **self.facts,
        }
        return Outcome(
            status=Status.COMPLETED if self.ok else Status.FAILED,
            output={
                **(output or {}),
                "exit_code": self.exit_code,
                "stdout": self.text,
                "stderr": self.stderr.value if self.stderr else "",
                "text": self.text,
                "session_id": self.session_id,
                "dispatched": self.dispatched,
                "timed_out": self.ended_by == "timeout",
            },
            error=self.error,
            kind=self.kind,
            input=given or {},
            usage=usage or None,
            facts={name: value for name, value in facts.items() if value is not None},
        )


async def run_agent(
    entry: Entry,
    request: AgentRequest,
    processes: Processes,
    *,
    cwd: str | os.PathLike[str],
    log: str | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    grace: float = 5.0,
    temp: str | None = None,
    heard: Callable[[Mapping[str, Any]], None] | None = None,
    begins: Callable[[], None] | None = None,
) -> AgentResult:
    """Ask `entry`'s CLI in `cwd` and wait for its end.

    `env` comes on top of the entry's; `log` is the path prefix of the log files that its output is streamed to;
    `timeout` and `grace` are seconds; `temp` is a folder that it can write in, the system's if left out; `heard` is
    called whenever it prints, with what it has told so far, and `begins` just before it is started: what is raised
    before that was not paid for. Cancelled, it ends the process tree first. Failures are
    results, not exceptions.
    """
    with _scratch(entry, temp) as scratch:
        artifact = None if scratch is None else Path(scratch, entry.artifact or "")
        try:
            entry, made = _set_up(entry, {**entry.env, **(env or {})})
            # Some CLIs take PWD for the folder they are in.
            variables = {**entry.env, "PWD": os.fspath(cwd), **(env or {}), **made.env}
            argv = _argv(entry, request, os.fspath(cwd), variables, artifact)
            _check_login(entry, request, os.fspath(cwd), variables)
        except AgentError as failure:
            return AgentResult(entry.name, False, unbegun=True, error=str(failure), kind=failure.kind)
        if entry.endpoint is not None:
            await in_thread(made.write, entry.endpoint.folder(entry.name))
        form = event_format(entry.events)
        output = OutputReader(entry.events, heard)
        has_events = form.has_final and not form.from_artifact
        command = Command(
            argv,
            os.fspath(cwd),
            env=variables,
            log=log,
            timeout=timeout,
            grace=grace,
            live=log is not None,
            lossy=True,  # its work is worth more than its transcript
            on_stdout=output.take if has_events else output.told if heard is not None else None,
        )
        if entry.endpoint is not None and (refused := await why_refused(entry.endpoint)) is not None:
            return AgentResult(entry.name, False, argv=tuple(argv), unbegun=True, error=refused, kind="connection")
        before = await litter_of(entry, processes, os.fspath(cwd))
        if begins is not None:
            begins()
        try:
            finished = await _run(processes, command, output, artifact)
        except SpawnError as failure:
            kind = "spawn" if failure.transient else "missing"
            said, unbegun = f"{argv[0]}: {failure}", not failure.lost
            return AgentResult(entry.name, False, argv=tuple(argv), unbegun=unbegun, error=said, kind=kind)
        await remove_litter(entry, processes, os.fspath(cwd), before)
    capped = request.max_usd is not None and entry.can_cap_cost
    return _judge(entry, request.model or entry.model, form, command, finished, output.reading, capped)


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
            output.end(_tail(finished.stdout.value))
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


def _judge(
    entry: Entry,
    model: str | None,
    form: EventFormat,
    command: Command,
    finished: Finished,
    reading: Reading,
    capped: bool,
) -> AgentResult:
    printed = finished.stdout.value
    text: str | Stored = reading.text if form.has_final else printed
    error, kind = _failure(entry, form, finished, reading, text, command.timeout)
    told = [error or "", *reading.warnings[-1:], _own_words(finished.stderr.value)] if kind in LIMITED else []
    if form.has_final:
        evidence = "final-event" if reading.succeeded is not None else "none"
    else:
        evidence = "exit-status"
    return AgentResult(
        agent=entry.name,
        ok=error is None,
        text=text,
        exit_code=finished.exit_code,
        argv=tuple(command.argv),
        dispatched=True,
        stdout=finished.stdout,
        stderr=finished.stderr,
        usage=reading.usage,
        usd=cost_of(entry, model, reading.usage) if reading.usd is None else reading.usd,
        session_id=reading.session_id,
        turns=reading.turns,
        evidence=evidence,
        error=error,
        kind=kind,
        retry_after=next(filter(None, map(pause_of, told)), None),
        capped=capped,
        seconds=finished.seconds,
        ended_by=finished.ended_by,
    )


def _failure(
    entry: Entry, form: EventFormat, finished: Finished, reading: Reading, text: str | Stored, timeout: float | None
) -> tuple[str | None, str | None]:
    """Why it is no success, and of which kind; (None, None) for a success."""
    if finished.ended_by == "timeout":
        last = f"; the last trouble it told of: {reading.warnings[-1]}" if reading.warnings else ""
        return one_line(f"{entry.name} was ended after {timeout:g} s, its timeout{last}"), "timeout"
    if finished.ended_by is not None:
        return f"{entry.name} was ended early: {finished.ended_by}", "output"
    told = [*filter(None, [reading.error]), *reversed(reading.warnings)]
    printed = _tail(finished.stdout.value) if form.from_artifact or not form.has_final else reading.stray
    said = [*told, _tail(finished.stderr.value), printed]
    # Of what was printed beside the events only the CLI's own error lines tell of a kind: its tools print there, too.
    own = [*told, _own_words(finished.stderr.value), error_lines(printed)]
    sort = reading.kind or next(filter(None, map(kind_of, own)), None)
    reason = next((_last_line(words) for words in said if words.strip()), "")
    if reading.succeeded is False:
        told_why = reading.error or reason or "it says that it failed, and not why"
        return one_line(f"{entry.name}: {told_why}"), sort or "agent"
    because = f": {reason}" if reason else ""
    if finished.exit_code != 0:
        return one_line(f"{entry.name} exited with code {finished.exit_code}{because}"), sort or "agent"
    if form.has_final and reading.succeeded is None:
        fallback = "cut-stream" if reading.heard else "agent"
        return one_line(f"{entry.name} exited with code 0 but without its final event{because}"), sort or fallback
    if reading.uncalled:
        words = text if isinstance(text, str) else text.excerpt
        return one_line(f"{entry.name} called no model (0 turns, 0 tokens): {words or reason}".rstrip(": ")), "agent"
    if isinstance(text, str) and not text.strip():
        if reading.dropped:
            most = LINE_LIMIT >> 20
            return f"{entry.name}: it said more in one line than the {most} MiB that are read of one", "output"
        wanted = "" if entry.known or because else ", which counts as failed: let its program print what it did"
        return one_line(f"{entry.name} ended without saying anything{because or wanted}"), sort or "agent"
    return None, None


def _tail(value: str | Stored, limit: int = 16_384) -> str:
    return (value if isinstance(value, str) else value.excerpt)[-limit:]


def _own_words(stderr: str | Stored) -> str:
    """What a CLI says of its failure on standard error: its error lines, and the last line."""
    text = _tail(stderr)
    return f"{error_lines(text)}\n{_last_line(text) if text.strip() else ''}"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
