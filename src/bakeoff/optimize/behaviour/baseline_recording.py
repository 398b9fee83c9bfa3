"""Recording of a baseline: the original is run in several processes, and what differs between them is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bakeoff.optimize.behaviour.baseline import RECORDED_BYTES, Baseline, Recorded, job_of_tests, serve_job
from bakeoff.optimize.behaviour.derived_inputs import derive
from bakeoff.optimize.behaviour.differences import DIGEST, comparable, same
from bakeoff.optimize.behaviour.discovery import SEEDS, Discovery, DiscoveryRun, last_line, passed
from bakeoff.optimize.behaviour.evaluation import CandidateProcess, ProcessConfig, run_tests
from bakeoff.optimize.behaviour.inside.later import LAZY
from bakeoff.optimize.behaviour.inside.proxy import SPENT
from bakeoff.optimize.behaviour.inside.serving import LATER, REUSE
from bakeoff.optimize.behaviour.observable import common_state
from bakeoff.optimize.behaviour.options import DERIVED, BehaviourOptions
from bakeoff.optimize.behaviour.original import ROUNDS, Asked, Original
from bakeoff.optimize.behaviour.runs import Call, TestRun
from bakeoff.optimize.behaviour.server_pool import ProcessPair, ServerPool
from bakeoff.optimize.errors import BehaviourError
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.source_code.raised import raised_by
from bakeoff.optimize.target import Target
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.slots.slot import Slot

LATER_CALLS, LATER_SECONDS = 80, 2.0
"""Calls whose results are used as callers may, and seconds that the original takes for them, at most."""


class BaselineRecording:
    """A baseline in the making: in the first slot, and side by side in the second where there is one."""

    def __init__(self, servers: ServerPool, slots: Sequence[Slot], target: Target) -> None:
        self.servers = servers
        self.slot = slots[0]
        self.slots = slots
        self.original = Original(servers, [], servers.options)
        self.target = target
        self.options: BehaviourOptions = servers.options
        self.source = b""
        self.doctests = False
        self.inner = False

    async def run(self) -> Baseline:
        """See `Behaviour.prepare`.

        Raises:
            BehaviourError: no test reaches the function.
        """
        self.source = await in_thread(read_source, self.slot, self.target)
        definition = locate(self.source, self.target.qualname, str(self.target.path))
        self.doctests = b">>>" in self.source
        await self.servers.ready(self.slot)
        if len(self.slots) > 1:
            await self.servers.warm((), SEEDS)
        self.original.pairs += [await self.servers.process_pair(slot) for slot in self.slots]
        if not self.original.pairs[0].tests.apart:
            del self.original.pairs[1:]  # the paths that the original sees would not be the same
        discovering = DiscoveryRun(self.servers, self.slot, self.original.pairs, self.target, self.doctests)
        discovering.decorated = bool(definition.decorators)
        found, recorded = await discovering.run()
        self.inner = found.inner
        if not found.reached:
            raise BehaviourError(self._nothing(found))
        await self.servers.warm(found.preload, SEEDS)
        return await self._compared(found, recorded)

    def _nothing(self, found: Discovery) -> str:
        if found.taken:
            return (
                f"no version of {self.target} can be put in its config: pytest itself uses the module of this project, "
                "and has loaded it before any test; judge whole commands with --bench"
            )
        failing = f"; {len(found.set_aside)} that call it do not pass" if found.set_aside else ""
        if found.uncollected:
            name, why = next(iter(found.uncollected.items()))
            more = f" and {len(found.uncollected) - 1} more" if len(found.uncollected) > 1 else ""
            return (
                f"no test reaches {self.target}: {found.count} tests were run{failing}, and those of {name}{more} "
                f"could not be collected: {why}"
            )
        return (
            f"no test reaches {self.target}: {found.count} tests were run{failing}. Without one nothing is known of "
            "how it is called: write a test that calls it"
        )

    def _job(self, config: ProcessConfig, mode: str, **more: Any) -> dict[str, Any]:
        return job_of_tests(self.target, config, self.options, mode, doctests=self.doctests, inner=self.inner, **more)

    # What the tests see

    async def _compared(self, found: Discovery, recorded: TestRun | None) -> Baseline:
        module, config = found.module, self.original.pairs[0].tests
        here = recorded or await self._recorded(found, found.reached)
        stable = {name: seconds for name, seconds in found.reached.items() if passed(here, name)}
        in_process: dict[str, str] = {}
        runs = await self.original.twice(partial(self._proxied, found, stable, in_process))
        if recorded is not None and in_process:  # then calls made here are compared, too
            here = await self._recorded(found, stable)
            stable = {name: seconds for name, seconds in stable.items() if passed(here, name)}
            in_process = {name: why for name, why in in_process.items() if name in stable}
        spent = {name: why for name, why in in_process.items() if why.startswith(SPENT)}
        if self.options.trust or len(in_process) == len(spent) == len(stable):
            spent = {}  # they are judged in their process, or all that there is
        in_process = {name: why for name, why in in_process.items() if name not in spent}
        stable = {name: seconds for name, seconds in stable.items() if name not in spent}
        flaky = found.reached.keys() - stable.keys() - spent.keys()
        set_aside = {
            **found.set_aside,
            **spent,
            **dict.fromkeys(sorted(flaky), "it passed once and failed once: flaky"),
        }
        tests = {name: seconds for name, seconds in stable.items() if name not in in_process}
        expected, again = ({name: run.calls.get(name, []) for name in tests} for run in runs)
        unrepeatable = {name for name in tests if not _alike(expected[name], again[name], self.options)}
        if in_process and self.options.trust:
            unrepeatable |= await self._changing(found, here, {name: stable[name] for name in in_process})
        baseline = Baseline(
            target=self.target,
            source=self.source,
            module=module,
            sys_path=found.sys_path,
            tests=tests,
            in_process=in_process,
            set_aside=set_aside,
            passing=found.passing,
            expected=expected,
            here={name: here.calls.get(name, []) for name in in_process},
            printed={name: here.tests[name].printed for name in in_process},
            unrepeatable=unrepeatable,
            recorded=[],
            evidence=self.original.evidence,
            evidence_here=set(here.watched.evidence),
            wrote=set(here.watched.wrote),
            leaves=False,
            peak=0,
            tree=self.slot.base.snapshot.tree,
            facts=self.servers.facts,
            protection=(await self.servers.box(self.slot)).protection.receipt(),
            root=config.root,
            inner=found.inner,
            line=found.line,
            uncollected=found.uncollected,
        )
        try:
            await self._record(baseline)
        except BehaviourError:
            if tests:
                raise  # else the module cannot be imported without its tests: they alone judge
        baseline.leaves, baseline.peak = self.original.leaves, self.original.peak
        baseline.wrote |= self.original.wrote
        if not stable:
            raise BehaviourError(f"all tests that reach {self.target} are flaky: {', '.join(sorted(set_aside)[:5])}")
        self._check_comparable(baseline)
        return baseline

    def _check_comparable(self, baseline: Baseline) -> None:
        comparable = sum(len(calls) for name, calls in baseline.expected.items() if name not in baseline.unrepeatable)
        if baseline.tests and not comparable and not baseline.recorded:
            raise BehaviourError(
                f"{self.target} gives something else each time it is called: there is nothing to compare with"
            )

    async def _changing(self, found: Discovery, here: TestRun, wanted: Mapping[str, float]) -> set[str]:
        """Those tests whose calls or output are not the same when they run alone, as they do with a candidate.

        They wait for something, or what they see depends on the tests before them.
        """
        alone = await self._recorded(found, wanted, SEEDS[0])
        return {
            name
            for name in wanted
            if not _alike_here(here.calls.get(name, []), alone.calls.get(name, []), self.options)
            or name not in alone.tests
            or here.tests[name].printed != alone.tests[name].printed
        }

    async def _recorded(self, found: Discovery, wanted: Mapping[str, float], seed: int = SEEDS[1]) -> TestRun:
        """Run tests with the function in their process, and note what comes of its calls."""
        config = self.original.pairs[0].tests
        async with self.servers.server(seed) as server:
            job = self._job(config, "record", wanted=wanted, module=found.module)
            return await run_tests(server, config, job, watched=True)

    async def _proxied(
        self, found: Discovery, stable: Mapping[str, float], in_process: dict[str, str], seed: int, pair: ProcessPair
    ) -> TestRun:
        """Run the original in another process than its tests; what goes wrong there is noted in `in_process`."""
        root, qualname = pair.tests.root, self.target.qualname
        serve = serve_job(found.module, qualname, found.sys_path, root, self.options, inner=self.inner)
        for _ in range(ROUNDS):
            wanted = {name: seconds for name, seconds in stable.items() if name not in in_process}
            if not wanted:
                return TestRun()
            async with self.servers.server(seed) as server:
                run = await run_tests(
                    server,
                    pair.tests,
                    self._job(pair.tests, "proxy", wanted=wanted, module=found.module, fit=True),
                    candidate=CandidateProcess(serve, pair.function),
                )
            self.original.notice(run)
            if run.unready is not None and run.candidate is not None and run.candidate.status is None:
                continue  # it was not even begun
            if run.unready is not None:
                in_process |= dict.fromkeys(wanted, f"its module cannot be imported by itself: {run.unready[1]}")
            elif run.lost is not None and run.lost[1] in wanted:
                in_process[run.lost[1]] = f"the function does not answer in another process ({run.lost[0]})"
            elif run.end is None:
                culprit = run.late if run.late in wanted else None
                in_process |= dict.fromkeys([culprit] if culprit else wanted, "it does not end out of process")
            else:
                break
        else:
            in_process |= dict.fromkeys(wanted, "the function does not answer in another process")
        for name in wanted:
            why = _unfit(run, name)
            if why is not None:
                in_process.setdefault(name, why)
        return run

    # Which calls are made once more

    async def _record(self, baseline: Baseline) -> None:
        """Choose calls, derive others, and find out what the original gives when they are made by themselves."""
        chosen = _chosen(baseline, self.options.recorded)
        limit = self.options.time_limit
        asked = [Asked(before, limit(seconds)) for before, seconds in chosen]
        if self.options.inputs == DERIVED and self.options.derived and chosen:
            made = await derive(
                [before for before, _ in chosen],
                self.options.derived,
                keep_first="." in self.target.qualname,
            )
            asked += [Asked(before, max(2.0, self.options.floor / 2), derived=True) for before in made]
        raised = {call.type for calls in baseline.expected.values() for call in calls if call.kind == "raise"}
        raised |= {call.type for calls in baseline.here.values() for call in calls if call.kind == "raise"}
        raised |= raised_by(self.source, self.target.qualname, baseline.line)

        def fits(call: Asked, answer: Call) -> bool:
            return not call.derived or answer.kind != "raise" or answer.type in raised

        kept, baseline.recorded, settled = await self.original.repeatable(baseline, asked, fits)
        baseline.dropped = {
            kind: sum(call.derived is derived for call in asked) - sum(call.derived is derived for call in kept)
            for kind, derived in (("recorded", False), ("derived", True))
        }
        if settled:
            states = [self.original.states.get(seed) for seed in SEEDS]
            baseline.state = common_state(self.source, self.target.qualname, baseline.module, states)
        if baseline.recorded:
            again = await self.original.answers(baseline, kept, SEEDS[0], self.original.pairs[0], mode=REUSE)
            baseline.reusable = all(
                index in again and same(one.expected, again[index], self.options)
                for index, one in enumerate(baseline.recorded)
            )
            baseline.later = await self._used_later(baseline)

    async def _used_later(self, baseline: Baseline) -> dict[int, Call]:
        """What comes of calls whose results are used as callers may, where that is the same each time.

        A result that the original itself shares with others says nothing of candidates.
        """
        places = _quickest(baseline.recorded)
        asked = [
            Asked(baseline.recorded[place].before, 3 * baseline.recorded[place].expected.seconds + 2.0)
            for place in places
        ]
        one, other = await self.original.twice(partial(self.original.answers, baseline, asked, mode=LATER))
        found: dict[int, Call] = {}
        for index, place in enumerate(places):
            first, second = one.get(index), other.get(index)
            if first is None or second is None or first.kind == "counted" or not same(first, second, self.options):
                continue
            if first.message == LAZY or (
                not first.message and first.result == baseline.recorded[place].expected.result
            ):
                found[place] = first
        return found


def read_source(slot: Slot, target: Target) -> bytes:
    """The target's file as the slot has it.

    Raises:
        BehaviourError: there is none.
    """
    try:
        return (slot.outside / target.path).read_bytes()
    except OSError as failure:
        raise BehaviourError(f"{target.path} cannot be read: {failure.strerror}") from failure


def _alike(one: Sequence[Call], other: Sequence[Call], options: BehaviourOptions) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(a.before == b.before and same(a, b, options) for a, b in pairs)


def _alike_here(one: Sequence[Call], other: Sequence[Call], options: BehaviourOptions) -> bool:
    return len(one) == len(other) and _alike(comparable(one), comparable(other), options)


def _unfit(run: TestRun, name: str) -> str | None:
    """Reason that a test cannot be judged with the function in another process; None for none."""
    for call in run.calls.get(name, []):
        if call.kind in ("unfit", "incomparable"):
            return call.message
    if not passed(run, name):
        message = run.tests[name].message if name in run.tests else ""
        return f"it fails when the function runs in another process: {last_line(message)}"
    return None if run.calls.get(name) else "it does not reach the function when that runs in another process"


def _quickest(recorded: Sequence[Recorded]) -> list[int]:
    """Places of the quickest calls, so many that making each of them three times takes no more than `LATER_SECONDS`."""
    chosen: list[int] = []
    seconds = 0.0
    for place in sorted(range(len(recorded)), key=lambda place: recorded[place].expected.seconds)[:LATER_CALLS]:
        seconds += 3 * recorded[place].expected.seconds
        if chosen and seconds > LATER_SECONDS:
            break
        chosen.append(place)
    return sorted(chosen)


def _chosen(baseline: Baseline, most: int) -> list[tuple[bytes, float]]:
    """Different calls, spread over the tests, in the tests' order."""
    queues = [list(calls) for calls in (*baseline.expected.values(), *baseline.here.values())]
    picked: dict[bytes, float] = {}
    order: list[list[tuple[bytes, float]]] = [[] for _ in queues]
    size = 0
    for turn in range(max(map(len, queues), default=0)):
        for index, queue in enumerate(queues):
            if turn >= len(queue) or len(picked) >= most:
                continue
            before = queue[turn].before
            if not before or before.startswith(DIGEST) or before in picked or size + len(before) > RECORDED_BYTES:
                continue
            size += len(before)
            picked[before] = queue[turn].seconds
            order[index].append((before, queue[turn].seconds))
    return [call for calls in order for call in calls]
