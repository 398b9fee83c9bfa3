"""Registry of agents: the entry that a workflow's `integration:` names, built in or defined in settings."""

from __future__ import annotations

from dataclasses import asdict, replace

from bakeoff.agent.clis import entry_of
from bakeoff.agent.endpoint import Endpoint
from bakeoff.agent.entry import QUIET, AgentError, Entry
from bakeoff.settings import BUILT_IN, AgentSettings, Settings
from bakeoff.settings.endpoints import named_endpoint


def agent_names(settings: Settings) -> list[str]:
    """Every name that `integration:` takes here."""
    return sorted({*BUILT_IN, *settings.agents})


def find_entry(name: str | None, settings: Settings, endpoint: str | None = None) -> Entry:
    """The entry called `name`, or the default one for None, with what settings change in it.

    `endpoint` names the one it is to ask; the settings' if left out. Its model is then the endpoint's, unless the
    agent's own settings name both; without one it is that of the agent's settings, or the setting `model`.

    Raises:
        AgentError: there is none, the message lists those there are; or it cannot be set up for an endpoint.

    Passes on SettingsError: there is no such endpoint.
    """
    entry = _found(name, settings)
    asked = endpoint or settings.endpoint
    own = settings.agents.get(entry.name)
    if asked is None and own is not None and own.endpoint is not None:
        asked, model = own.endpoint, own.model
    else:
        model = None
    if asked is None:
        return replace(entry, model=entry.model or settings.model)
    found = endpoint_of(asked, settings)
    if entry.aim is None:
        raise AgentError(
            f"agent {entry.name} cannot be set up for an endpoint, it has its own way to a model"
            if entry.known
            else f"agent {entry.name} cannot be set up for an endpoint, as bakeoff does not know its program: say "
            f"where its model is by `args` or `env` in [tool.bakeoff.agents.{entry.name}], and name no endpoint"
        )
    return replace(entry, endpoint=found, model=model or found.model)


def endpoint_of(name: str, settings: Settings) -> Endpoint:
    """The endpoint called `name`.

    Passes on SettingsError: there is none.
    """
    return Endpoint(**asdict(named_endpoint(name, settings.endpoints, "--endpoint")), name=name)


def _found(name: str | None, settings: Settings) -> Entry:
    name = name or settings.integration
    if not name:
        raise AgentError(
            "no agent is named: use --agent, give a step or its workflow an `integration:`, or set `integration` in "
            f"the settings; known are {', '.join(agent_names(settings))}",
            "missing",
        )
    custom = settings.agents.get(name)
    if name in BUILT_IN:
        base = entry_of(name)
        return base if custom is None else _changed(base, custom)
    if custom is None:
        raise AgentError(_unknown(name, settings), "missing")
    if custom.like is not None:
        return _changed(replace(entry_of(custom.like), name=name), custom)
    return _generic(name, custom)


def _generic(name: str, custom: AgentSettings) -> Entry:
    program, *arguments = custom.argv or (name,)
    entry = Entry(
        name=name,
        executables=(str(program),),
        install=f"whatever provides it; its argv stands in [tool.bakeoff.agents.{name}]",
        argv=tuple(arguments),
        slash="/{command}",
        env=QUIET,
        reports_usage=custom.events not in (None, "text"),
        reports_cost=custom.events in BUILT_IN and entry_of(custom.events).reports_cost,
        known=False,
    )
    return _changed(entry, replace(custom, argv=None))


def _changed(entry: Entry, custom: AgentSettings) -> Entry:
    executables, argv = entry.executables, entry.argv
    if custom.argv is not None:
        executables, argv = (str(custom.argv[0]),), tuple(custom.argv[1:])
    if custom.executable is not None:
        executables = (custom.executable,)
    if custom.args:
        argv = replace(entry, argv=argv).with_arguments(custom.args)
    return replace(
        entry,
        executables=executables,
        argv=argv,
        env={**entry.env, **custom.env},
        slash=custom.slash or entry.slash,
        events=custom.events or entry.events,
        install=custom.install or entry.install,
        model=custom.model or entry.model,
        own=(*entry.own, *custom.writes),
        prices=(custom.price_in, custom.price_out),
        configured=bool(custom.args or custom.env),
        known=entry.known and custom.argv is None and custom.executable is None,
    )


def _unknown(name: str, settings: Settings) -> str:
    from difflib import get_close_matches

    known = agent_names(settings)
    if name == "auto":
        return (
            "`integration: auto` is the agent that .specify/integration.json names, and that file names none. Name one "
            f"with -i integration=NAME, or there; known are {', '.join(known)}"
        )
    close = get_close_matches(name, known, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return (
        f"no agent is called {name!r}.{hint} Known are {', '.join(known)}. Define it: "
        f'argv = ["PROGRAM", "--prompt", "{{prompt}}"] in [tool.bakeoff.agents.{name}] of pyproject.toml, '
        f"or in [agents.{name}] of bakeoff.toml where you have that"
    )
