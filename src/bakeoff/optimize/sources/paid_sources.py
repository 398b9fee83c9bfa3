"""Makes the sources that cost something out of what was asked for, and says before they begin what they may cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bakeoff.engine.retry import ONCE
from bakeoff.engine.run import Run
from bakeoff.jobs.costs import announcement
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.sources.source import Source
from bakeoff.process.command import Processes
from bakeoff.report.words import counted
from bakeoff.sampling.attempt.session import AT_ONCE, TURNED_AWAY
from bakeoff.settings import Settings
from bakeoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from bakeoff.agent.entry import Entry
    from bakeoff.model.protocol import Model

LOCAL = "local"
LOCAL_TOKENS = 200
"""Tokens of output of the local model, which reads and writes little."""


@dataclass(slots=True)
class PaidSources:
    """Models and agents that were asked for.

    Attributes:
        models: by name, not open yet.
        agents: entries by name, with what one call may use.
    """

    options: OptimizeOptions
    settings: Settings
    models: dict[str, Model] = field(default_factory=dict)
    agents: dict[str, tuple[Entry, dict[str, float]]] = field(default_factory=dict)

    @property
    def lanes(self) -> dict[str, int]:
        """Lanes that they hold."""
        found = {f"model:{name}": self.settings.lanes.get(name, self.options.samples) for name in self.models}
        if self.agents:
            found["agents"] = self.settings.lanes.get("agents", AT_ONCE)
        return found

    def announcement(self) -> str:
        """Announcement of costs: paid calls at most, and what they may use; for before the first one."""
        options = self.options
        parts = [f"at most {counted(options.most_model_calls, 'request')} to {name}" for name in self.models]
        if LOCAL in self.models:
            place = list(self.models).index(LOCAL)
            parts[place] = f"{counted(options.samples, 'request')} to the local model, which cost nothing"
        parts += [f"at most {counted(options.most_agent_calls, 'call')} of {name}" for name in self.agents]
        parts.append("more only in place of those that fail")
        names = ", ".join(name for name, (entry, _) in self.agents.items() if not entry.can_cap_cost)
        return announcement(
            ", ".join(parts),
            options.ceilings,
            loose=names and f"{names} cannot be held to what is reserved for a call",
            late="tokens of agents" if self.agents else "",
        )

    async def sources(
        self,
        stack: AsyncExitStack,
        run: Run,
        workspace: Workspace,
        processes: Processes,
        write: Callable[[Candidate], Awaitable[str]],
        lock: BenchLock,
        warn: Callable[[str], None],
        prefix: str = "",
    ) -> list[Source]:
        """The sources; see `ModelSource` and `AgentSource` for what they are given. Models close with `stack`."""
        found: list[Source] = []
        for name, model in self.models.items():
            from bakeoff.optimize.sources.models import MAX_TOKENS, ModelSource

            local = name == LOCAL
            own = self.settings.models.get(name)
            limit = LOCAL_TOKENS if local else (own.max_tokens if own else None) or MAX_TOKENS
            found.append(
                ModelSource(
                    run,
                    await stack.enter_async_context(model),
                    name,
                    self.options.samples,
                    (f"model:{name}",),
                    limit,
                    completes=local,
                    busy=lock.working if local else nullcontext,
                    warn=warn,
                    prefix=prefix,
                )
            )
        if self.agents:
            run.root.joinpath("logs").mkdir(exist_ok=True)
        for entry, reserve in self.agents.values():
            found.append(self._agent(entry, reserve, run, workspace, processes, write, prefix))
        return found

    def _agent(
        self,
        entry: Entry,
        reserve: dict[str, float],
        run: Run,
        workspace: Workspace,
        processes: Processes,
        write: Callable[[Candidate], Awaitable[str]],
        prefix: str,
    ) -> Source:
        from bakeoff.judge.checks.protected import Protection
        from bakeoff.optimize.sources.agents import AgentSource
        from bakeoff.sampling.attempt.maker import AgentMaker

        settings, options = self.settings, self.options
        maker = AgentMaker(
            entry,
            "",
            workspace,
            processes,
            Protection(protect=options.protect),
            run.root.name,
            run.root / "logs",
            model=entry.model,
            max_usd=reserve.get("usd", settings.max_usd),
            grace=settings.grace,
            all_tokens=None if options.max_tokens is None else int(options.max_tokens) + 1,
            resumed=True,
            level=settings.agent_sandbox,
            sockets=settings.agent_sockets,
        )
        return AgentSource(run, maker, write, options.agent_samples, reserve, replace(TURNED_AWAY, attempts=3), prefix)


def paid_sources(
    options: OptimizeOptions, settings: Settings, project: str, environ: Mapping[str, str] | None = None
) -> PaidSources:
    """Find what was asked for, and see that it can work under the budget. Nothing is opened or asked.

    Passes on BakeoffError: one is unknown or not there, or what it uses or costs cannot be known.
    """
    found = PaidSources(options, settings)
    kinds = frozenset(options.ceilings)
    for name in options.models:
        from bakeoff.model.protocol import Message, Request
        from bakeoff.model.registry import model_for
        from bakeoff.optimize.sources.models import MAX_TOKENS, amounts

        model = found.models[name] = model_for(name, settings, environ, retry=ONCE)
        amounts(model, Request((Message("user", "?"),), max_tokens=MAX_TOKENS), kinds)
    for name in options.agents:
        from bakeoff.agent.registry import find_entry
        from bakeoff.agent.runner import AgentRequest, check_request
        from bakeoff.sampling.attempt.attempts import agent_reserve

        entry = find_entry(name, settings, options.endpoint)
        check_request(entry, AgentRequest("?"), project)
        calls = options.most_agent_calls
        reserve = agent_reserve(entry, None, settings.max_usd, options.max_cost, options.max_tokens, calls)
        found.agents[name] = entry, reserve
    return found
