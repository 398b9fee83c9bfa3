"""Whether the agents that steps name are there to be asked, said before anything was paid for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Protocol

from bakeoff.agent.registry import agent_names
from bakeoff.engine.mask import Masker
from bakeoff.settings import Settings, load_settings
from bakeoff.workflow.definition import Workflow, all_steps
from bakeoff.workflow.expressions import ExpressionError
from bakeoff.workflow.interpreter import where
from bakeoff.workflow.problems import Path, suggestion
from bakeoff.workflow.scope import Scope
from bakeoff.workflow.tree import Entry, Tree


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents that a project knows.

    Attributes:
        names: what `integration` may say.
        default: the agent for steps that name none, nor their workflow.
    """

    names: Collection[str]
    default: str | None = None


def agents_of(settings: Settings) -> Agents:
    """The agents, built in and of the settings."""
    return Agents(agent_names(settings), settings.integration)


class Examined(Protocol):
    """A file with the files that its steps call."""

    @property
    def tree(self) -> Tree:
        """Its steps."""
        ...

    @property
    def callees(self) -> Mapping[Entry, Any]:
        """The file that each `workflow` step calls, as far as that is known."""
        ...


@dataclass(slots=True)
class AgentCheck:
    """Looks for agents that are not there.

    Attributes:
        agents: those that are; None for those of the current directory's project, read once a step asks for one.
        seen: the called files that were looked at, each with the default that it was given.
    """

    agents: Agents | None
    seen: set[tuple[int, str | None]] = field(default_factory=set)

    @property
    def known(self) -> Agents:
        """The agents that are there.

        Passes on SettingsError: the settings of the current directory's project are wrong.
        """
        if self.agents is None:
            self.agents = agents_of(load_settings(FilePath.cwd()))
        return self.agents

    def complaints(self, file: Examined, inherited: str | None = None) -> Iterator[tuple[Path, str]]:
        """What to warn of in a file: the place, and the words.

        Args:
            file: what to look at.
            inherited: the agent that the workflow which calls it names for it.
        """
        header = file.tree.document.data.get("workflow")
        own = header.get("integration") if isinstance(header, dict) else None
        own = own if isinstance(own, str) and own else None
        default_said = False
        for entry in file.tree.entries:
            key = entry.model.agent_key if entry.model is not None else None
            written = entry.raw.get(key) if key is not None else None
            if entry.type_name == "workflow" and entry in file.callees:
                yield from self._called(entry, file.callees[entry], own or inherited)
            elif key is None:
                continue
            elif isinstance(written, str) and written:
                if "{{" not in written and written not in self.known.names:
                    yield (*entry.path, key), unknown_agent(written, self.known)
            elif not default_said:
                default_said = True
                yield from self._default(entry, own, inherited)

    def _called(self, entry: Entry, callee: Examined, default: str | None) -> Iterator[tuple[Path, str]]:
        if (id(callee), default) in self.seen:
            return
        self.seen.add((id(callee), default))
        for path, message in self.complaints(callee, default):
            line = callee.tree.document.position(path)[0]
            yield (*entry.path, "workflow"), f"in `{entry.raw['workflow']}`, line {line}: {message}"

    def _default(self, entry: Entry, own: str | None, inherited: str | None) -> Iterator[tuple[Path, str]]:
        """What is wrong with the agent for steps that name none; said at the first of them."""
        name = own or inherited or self.known.default
        if not name:
            advice = "give the step or the workflow an `integration`, or set `integration` in the settings"
            yield entry.path, f"no agent is named for this step: {advice}"
        elif name not in self.known.names:
            whose = "" if own or inherited else "the setting `integration`: "
            yield ("workflow", "integration") if own else entry.path, whose + unknown_agent(name, self.known)


def unknown_agent(name: str, known: Agents) -> str:
    """What to say of an agent that is not there."""
    if name == "auto":
        return "`auto` is the agent that .specify/integration.json names, and that file names none"
    hint = suggestion(name, known.names) or f"; known are {', '.join(known.names)}"
    return f"no agent is called `{name[:60]}`, built in or in the settings{hint}"


def unknown_by_inputs(workflow: Workflow, inputs: Mapping[str, Any], known: Agents, masker: Masker) -> Iterator[str]:
    """What to warn of in steps that take their agent from the inputs, once those have their values."""
    names = Scope(None, {"inputs": inputs})
    for step in all_steps(workflow.steps):
        if step.agent_key is None or getattr(step, step.agent_key) is None:
            continue
        template = step.template(step.agent_key)
        if template.is_literal or not all(name.startswith("inputs.") for name in template.references):
            continue
        try:
            value = template.evaluate(names)
        except ExpressionError:
            continue  # the step says so when it is its turn
        if isinstance(value, str) and value and value not in known.names:
            yield where(step, step.id, unknown_agent(masker.text(value), known))
