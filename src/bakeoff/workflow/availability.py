"""Availability of the agents and models that steps name, looked at before anything was paid for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Protocol

from bakeoff.agent.executable import find_executable
from bakeoff.agent.login import check_login
from bakeoff.agent.registry import agent_names, find_entry
from bakeoff.engine.mask import Masker
from bakeoff.errors import BakeoffError
from bakeoff.settings import Settings, load_settings
from bakeoff.workflow.context import where
from bakeoff.workflow.definition import Workflow, all_steps
from bakeoff.workflow.expressions import ExpressionError
from bakeoff.workflow.problems import Path, suggestion
from bakeoff.workflow.scope import Scope
from bakeoff.workflow.tree import Entry, Tree


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents that a project knows.

    Attributes:
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
        """Warnings on a file: the place, and the words."""
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
        """The fault of the agent for steps that name none; said at the first of them."""
        name = own or inherited or self.known.default
        if not name:
            advice = "give the step or the workflow an `integration`, or set `integration` in the settings"
            yield entry.path, f"no agent is named for this step: {advice}"
        elif name not in self.known.names:
            whose = "" if own or inherited else "the setting `integration`: "
            yield ("workflow", "integration") if own else entry.path, whose + unknown_agent(name, self.known)


def unknown_agent(name: str, known: Agents) -> str:
    """The message on an agent that is not there."""
    if name == "auto":
        return "`auto` is the agent that .specify/integration.json names, and that file names none"
    hint = suggestion(name, known.names) or f"; known are {', '.join(known.names)}"
    return f"no agent is called `{name[:60]}`, built in or in the settings{hint}"


def unknown_by_inputs(workflow: Workflow, inputs: Mapping[str, Any], known: Agents, masker: Masker) -> Iterator[str]:
    """Warnings on steps that take their agent from the inputs, once those have their values."""
    for step in all_steps(workflow.steps):
        if step.agent_key is None or getattr(step, step.agent_key) is None or step.template(step.agent_key).is_literal:
            continue
        value = named_by_inputs(step, step.agent_key, inputs)
        if value and value not in known.names:
            yield where(step, step.id, unknown_agent(masker.text(value), known))


def check_logins(workflow: Workflow, inputs: Mapping[str, Any], settings: Settings, project: str) -> None:
    """See that the agents of the first steps have a login, as far as that shows, before any of them is paid for.

    Looked at are the steps that nothing but steps of agents precedes: what others do may be to log in, and a gate waits
    for a person. Later ones are looked at when it is their turn.

    Passes on AgentError: one has none (`auth`).
    """
    for step in workflow.steps:
        if step.agent_key is None or step.when is not None:
            return
        if step.env or workflow.env or step.continue_on_error or getattr(step, "integration_args", None):
            continue
        name, model = named_by_inputs(step, step.agent_key, inputs), named_by_inputs(step, "model", inputs)
        if name is None and getattr(step, step.agent_key) is not None:
            return  # an earlier step tells it
        try:
            entry = find_entry(name or workflow.integration, settings)
            find_executable(entry, project, entry.env)
        except BakeoffError:
            return  # the step says so when it is its turn
        check_login(entry, project, entry.env, model or workflow.model or entry.model)


def named_by_inputs(step: Any, key: str, inputs: Mapping[str, Any]) -> str | None:
    """The text in a field of a step, as far as the inputs tell it."""
    if getattr(step, key, None) is None:
        return None
    template = step.template(key)
    if not template.is_literal and not all(name.startswith("inputs.") for name in template.references):
        return None
    try:
        value = template.evaluate(Scope(None, {"inputs": inputs}))
    except ExpressionError:
        return None  # the step says so when it is its turn
    return value if isinstance(value, str) and value else None


def missing_models(workflow: Workflow, inputs: Mapping[str, Any], settings: Settings, masker: Masker) -> Iterator[str]:
    """Warnings on models that are not known, or whose key is not set, as far as the inputs tell their names."""
    from bakeoff.model.registry import missing

    for step in all_steps(workflow.steps):
        for key in step.model_keys:
            name = named_by_inputs(step, key, inputs)
            if key == step.model_keys[0] and getattr(step, key) is None and getattr(step, "action", "") is None:
                name = workflow.model or settings.asked_model
                if not name:
                    advice = "give the step or the workflow a `model`, or set it in the settings"
                    yield where(step, step.id, f"no model is named for this step: {advice}")
            problem = missing(name, settings) if name else None
            if problem is not None:
                yield where(step, step.id, masker.text(problem))
