"""Preflight: every check runs once on the snapshot before the first paid call; what cannot judge refuses the run."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

from bakeoff.engine.failures import work_group
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import LANE, CommandRequirement
from bakeoff.judge.checks.diagnosis import why_unrunnable, without_code
from bakeoff.judge.checks.missing_files import what_to_copy
from bakeoff.judge.checks.on_base import OnBase
from bakeoff.judge.checks.protected import unmatched
from bakeoff.judge.checks.score import ScoreRequirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult, from_json, to_json
from bakeoff.process.command import Processes, SpawnError
from bakeoff.report.escape import one_line
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.result import SamplingResult
from bakeoff.settings import Settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.sandbox.policy import check_policy
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.workspace import Workspace

PATIENCE = 15.0
"""Seconds that a check without a timeout is given: what cannot run at all says so soon."""

LONGEST = 600.0
"""The same where it must be known whether the check fails."""

NODE = "preflight"
"""The type of its nodes."""

MOST_NAMED = 5

_UNABLE = "cannot judge"

_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


class PreflightError(BakeoffError):
    """Attempts could not be judged; nothing was paid."""

    kind = NODE


@dataclass(frozen=True, slots=True)
class Ways:
    """Words of a refusal: what was done until then, and who may go on without preflight."""

    done: str = "Checks were run on the snapshot, and nothing was paid"
    out: str = "Where attempts are to make what a check needs, name that file or module in the task, or"


@dataclass(frozen=True, slots=True)
class Tried:
    """Outcome of a check on the snapshot.

    Attributes:
        verdict: None where it was ended before it said anything, or said nothing.
        base: what checks of attempts are compared with.
    """

    verdict: ValidationResult | None
    base: OnBase | None


class PreflightPlace(TypedDict, total=False):
    """Place of a preflight in a run that holds more than one job's nodes.

    Attributes:
        prefix: what the paths of its nodes begin with.
        label: what names of log files begin with.
        lanes: lanes that its nodes hold besides.
        env: further variables of the checks.
    """

    prefix: str
    label: str
    lanes: tuple[str, ...]
    env: Mapping[str, str | None] | None


@dataclass(frozen=True, slots=True)
class Preflight:
    """The checks of some attempts, to be tried before the first of them.

    Attributes:
        warn: told in words what is known by then and refuses nothing.
        prefix: what the paths of its nodes begin with.
        lanes: lanes that they hold besides.
    """

    run: Run
    ground: CheckRunner
    options: AttemptOptions
    warn: Callable[[str], None]
    prefix: str = ""
    lanes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        options: AttemptOptions,
        settings: Settings,
        run: Run,
        workspace: Workspace,
        processes: Processes,
        warn: Callable[[str], None],
        **place: Unpack[PreflightPlace],
    ) -> Preflight:
        """The same on a workspace."""
        policy = check_policy(options.sandbox or settings.sandbox, settings)
        label, env = place.get("label", ""), place.get("env") or {}
        ground = CheckRunner(workspace, processes, run.root / "logs", settings.grace, policy, label, env)
        return cls(run, ground, options, warn, place.get("prefix", ""), place.get("lanes", ()))

    async def carry_out(self) -> dict[str, Tried]:
        """Run each check on the snapshot, side by side; what they came to there, by command.

        What an earlier session found is found again. Where attempts were begun without it, nothing is run. Cancelled,
        the checks have ended.

        Passes on PreflightError: one cannot judge, or passes though it must be red. BakeoffError: there is no slot or
        process to run them in.
        """
        if not self._begun():
            await say_unmatched(self.options.protect, self.ground.workspace.base, self.warn)
        if not self.options.preflight or (self._begun() and not self._known()):
            return {}
        works = [partial(self._try, kind, command) for kind, command in self._commands()]
        records = await tried_all(self.run, works, self.prefix, (LANE, *self.lanes))
        for record in records:
            self._tell(record.output)
        return {record.output["command"]: _tried(record.output) for record in records}

    def _begun(self) -> bool:
        """Whether attempts were begun before."""
        paths = (*self.run.history.records, *self.run.history.starts)
        return any(path.startswith(self.prefix) and path.endswith("/generate") for path in paths)

    def _known(self) -> bool:
        return self.run.find(f"{self.prefix}{NODE}:1") is not None

    def _commands(self) -> Iterator[tuple[str, str]]:
        options = self.options
        yield from (("check", command) for command in options.checks)
        if options.score is not None:
            yield "score", options.score

    @property
    def _limit(self) -> float:
        wanted = self.options.check_timeout
        return wanted or (LONGEST if self.options.require_red else PATIENCE)

    async def _try(self, kind: str, command: str) -> Outcome:
        """One command where nothing was changed.

        Raises:
            BakeoffError: no process is to be had; that says nothing of it.
        """
        base = self.ground.workspace.base
        commit, tree = base.snapshot.commit, base.snapshot.tree
        kept: OnBase | None = None
        try:
            if kind == "score":
                score = ScoreRequirement(command, self.ground, timeout=self._limit)
                verdict = await score.check(Subject({"tree": tree}, facts={"judged": commit}))
            else:
                verdict, kept = await CommandRequirement(command, self.ground).try_base(commit, self._limit)
        except SpawnError as failure:
            raise BakeoffError(f"{kind} `{one_line(command, 200)}` could not be run: {failure}") from failure
        output: dict[str, Any] = {"command": command, "kind": kind, "verdict": to_json(verdict)}
        output["base"] = None if kept is None else kept.to_json()
        if kept is not None and kept.limit is not None:
            output["unended"] = kept.limit
        why = await self._refused(kind, command, verdict, base)
        if why is not None and _UNABLE in why and (made := await in_thread(self._made, command, why, base)) is not None:
            output["made"], why = made, None
        return Outcome(output=output) if why is None else Outcome(Status.FAILED, output, why, NODE)

    async def _refused(self, kind: str, command: str, verdict: ValidationResult, base: Base) -> str | None:
        """Why the run is refused because of what came of a command; None where it is not."""
        said = f"{kind} `{one_line(command, 200)}`"
        if verdict.result:
            green = kind == "check" and self.options.require_red
            return f"{said} passes before anything is done, and --require-red is given" if green else None
        if (misses := await in_thread(what_to_copy, verdict.reason, base)) is not None:
            return f"{said} {misses}"
        why = why_unrunnable(command, verdict)
        return None if why is None else unable(kind, command, why)

    def _made(self, command: str, why: str, base: Base) -> str | None:
        """Files that a check misses and attempts may make, by leave or since the task names it; None for nothing."""
        files, options = base.entries.files, self.options
        protection = options.protection.within(files)
        asked = set(paths_in(options.task))
        for path in named_by(command):
            makes = protection.allows(path) or (path in asked and not protection.covers(path))
            if makes and os.fsencode(path) not in files:
                return path
        module = _MODULE.search(why)
        if module is None or protection.covers(f"{module[1]}.py") or protection.covers(f"{module[1]}/x.py"):
            return None
        return f"module {module[1]}" if module[1] in re.findall(r"\w+", options.task) else None

    def _tell(self, output: Mapping[str, Any]) -> None:
        said, verdict = f"{output['kind']} `{one_line(output['command'], 200)}`", from_json(output["verdict"])
        if output.get("made") is not None:
            self.warn(f"{said} misses {output['made']}, so it fails until an attempt makes that")
        elif output.get("unended") is not None:
            self.warn(f"{said} had not ended on the snapshot after {output['unended']:g} s; it is taken to be able to")
        elif output["kind"] == "check" and verdict.result:
            self.warn(f"{said} passes on the snapshot, so it says little of what is made (see --require-red)")
        elif output["kind"] == "score" and not verdict.result:
            self.warn(f"{said} gives no score on the snapshot: {one_line(verdict.reason, 200)}")


def _tried(output: Mapping[str, Any]) -> Tried:
    verdict = from_json(output["verdict"])
    known = output.get("unended") is None and verdict.error is None
    return Tried(verdict if known else None, OnBase.from_json(output["base"]))


async def tried_all(
    run: Run,
    works: Sequence[Callable[[], Awaitable[Outcome]]],
    prefix: str,
    lanes: tuple[str, ...],
    ways: Ways | None = None,
) -> list[Record]:
    """Each check tried as a leaf of the run, side by side; what an earlier session found is found again.

    Args:
        run: where each is a node.
        works: tries one; an outcome that failed refuses the run.
        prefix: what the paths of the nodes begin with.
        lanes: lanes that each holds.
        ways: the words of a refusal; those of attempts, where left out.

    Raises:
        PreflightError: one is refused.

    Passes on BakeoffError: one could not be tried.
    """
    records: dict[int, Record] = {}

    async def one(number: int, work: Callable[[], Awaitable[Outcome]]) -> None:
        records[number] = await run.leaf(f"{prefix}{NODE}:{number}", NODE, lambda _: work(), lanes=lanes)

    async with work_group() as group:
        for number, work in enumerate(works, 1):
            group.start(one, number, work)
    found = [record for _, record in sorted(records.items())]
    if failed := [record for record in found if record.status is not Status.COMPLETED]:
        said, ways = "; ".join(record.error or "" for record in failed), ways or Ways()
        way = f". {ways.out} give --no-preflight (`preflight: false` in files)" if _UNABLE in said else ""
        raise PreflightError(f"{said}. {ways.done}{way}")
    return found


def unable(kind: str, command: str, why: str) -> str:
    """The message on a check that cannot judge."""
    return f"{kind} `{one_line(command, 200)}` {_UNABLE}: {one_line(why, 400).rstrip('.')}"


def named_by(command: str) -> list[str]:
    """Words of a command that may be paths of files, relative to the top."""
    words = (word.partition("::")[0] for word in re.split(r"[\s'\"=;&|()]+", without_code(command)))
    return [os.path.normpath(word) for word in words if "/" in word or "." in word]


def protected_among(options: AttemptOptions, base: Base, paths: Iterable[str]) -> list[str]:
    """Those of the files and folders which attempts may not change. Blocks."""
    protection = options.protection.within(base.entries.files)
    found = []
    for path in dict.fromkeys(path.rstrip("/") for path in paths):
        name = os.fsencode(path)
        folder = name in base.entries.folders
        if (folder or name in base.entries.files) and protection.covers(f"{path}/x" if folder else path):
            found.append(path)
    return found


async def say_missing(result: SamplingResult, base: Base, warn: Callable[[str], None]) -> None:
    """Name ignored files that attempts missed, where none passed and nobody has looked before."""
    reasons = [verdict.reason for attempt in result.attempts for verdict in attempt.verdicts if not verdict.result]
    if not result.success and (misses := await in_thread(what_to_copy, "\n".join(reasons), base)) is not None:
        warn(f"what was judged {misses}")


async def say_unmatched(protect: Iterable[str], base: Base, warn: Callable[[str], None]) -> None:
    """Say of each pattern of what is to be protected that no file of the snapshot fits it: it may be a mistake."""
    if protect:
        for text in await in_thread(lambda: unmatched(protect, base.entries.files)):
            warn(text)


def paths_in(text: str) -> list[str]:
    """Words of a text that may be paths: they have a dot or a slash. A line number behind one is left out."""
    words = (word.strip(".,:;!?()[]{}<>`'\"*") for word in text.split())
    return [os.path.normpath(re.sub(r":\d+(?::\d+)?$", "", word)) for word in words if "/" in word or "." in word]


async def say_protected(options: AttemptOptions, base: Base, paths: Iterable[str], warn: Callable[[str], None]) -> None:
    """Say before anything is paid which of the files that are named to be changed are not attempts' to change."""
    found = await in_thread(protected_among, options, base, list(paths))
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        named = ", ".join(one_line(path, 200) for path in found[:MOST_NAMED])
        verb, them = ("is", "it") if len(found) == 1 else ("are", "them")
        what = f"judged as the snapshot has {them}, whatever attempts make of {them}"
        warn(f"{named}{more} {verb} {what}: see --may-edit")
