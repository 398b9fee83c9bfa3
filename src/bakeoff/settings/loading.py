"""Settings of a project: `[tool.bakeoff]` of pyproject.toml, or bakeoff.toml, then BAKEOFF_* variables on top."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.options.kinds import LEVEL, Number, Whole, close_to
from bakeoff.options.option import option
from bakeoff.system.named_files import read_named
from bakeoff.system.ownership import check_owner

from .agents import AgentSettings, agent_settings
from .checks import (
    SettingsError,
    above,
    amount,
    checked,
    checked_value,
    checks_of,
    flag,
    table,
    text,
    texts,
    whole,
)
from .endpoints import EndpointSettings, endpoint_settings, named_endpoint
from .merge import MergeSettings, merge_settings
from .models import ModelSettings, model_settings
from .plan import PlanSettings, plan_settings
from .slots import SlotSettings, slot_settings


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, checked.

    Attributes:
        source: the file they came from, for messages.
        warnings: what looks like a mistake but is none for sure.
    """

    max_parallel: int = option(64, whole, "Leaves that run at once, over all nesting.")
    lanes: Mapping[str, int] = option(
        dict, table, "Capacity of each named lane; a name that is missing has its built-in default."
    )
    integration: str | None = option(None, text, "The agent for steps that name none.")
    model: str | None = option(
        None, text, "The model for steps that name none, nor their workflow, nor the agent's own settings."
    )
    endpoint: str | None = option(
        None, text, "Name of the endpoint that agents are set up for; None for their own ways to a model."
    )
    max_usd: float | None = option(None, above, "Ceiling in USD handed to each agent call.")
    grace: float = option(5.0, amount, "Seconds between TERM and KILL when a process is ended early.")
    step_types: Path | None = option(None, text, "Python file that registers step types.")
    agents: Mapping[str, AgentSettings] = option(dict, table, "What the user says of each agent.")
    slots: SlotSettings = option(SlotSettings, table, "How places to work are made.")
    models: Mapping[str, ModelSettings] = option(
        dict, table, "What the user says of each model, by a name of the user's own."
    )
    endpoints: Mapping[str, EndpointSettings] = option(
        dict, table, "What the user says of each endpoint, by a name of the user's own."
    )
    merge: MergeSettings = option(MergeSettings, table, "How results are merged.")
    sandbox: str = option(
        "full",
        LEVEL,
        "Protection that code nobody has read must run under: `full`, `weak` (what can be had) or `none`.",
    )
    sandbox_reads: tuple[Path, ...] = option((), texts, "Further files and folders that it may read.")
    sandbox_environment: tuple[str, ...] = option(
        (), texts, "Names of further variables that it gets; `*` stands for any text."
    )
    sandbox_network: bool = option(False, flag, "Whether it has the network.")
    agent_sandbox: str = option(
        "weak", LEVEL, "As `sandbox`, for coding agents: these keep network, variables, login and all they can read."
    )
    agent_sockets: tuple[str, ...] = option(
        (), texts, "Unix sockets, or folders of them, that agents may connect to; `~` and `$NAME` are replaced."
    )
    exclude: tuple[str, ...] = option((), texts, "Files that no plan takes in, in the words of `.gitignore`.")
    plan: PlanSettings = option(
        PlanSettings, table, "How a project is split into subplans, and how these are carried out."
    )
    source: Path | None = None
    warnings: tuple[str, ...] = ()

    @property
    def asked_model(self) -> str | None:
        """The model for steps that ask one and name none."""
        return self.endpoint or self.model

    def at(self, endpoint: str | None) -> Settings:
        """The same for agents and models at `endpoint`; None changes nothing.

        Passes on SettingsError: there is none of that name.
        """
        if endpoint is None:
            return self
        named_endpoint(endpoint, self.endpoints, "--endpoint")
        return replace(self, endpoint=endpoint)


def load_settings(project_root: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of the project at `project_root`; `environ` defaults to this process's.

    Raises:
        SettingsError: a file cannot be read or a value is wrong.

    Passes on OwnerError: the file is another user's.
    """  # noqa: DOC502 - it comes out of the checks
    source, given, warnings = _read(Path(project_root))
    settings = Settings(source=source, warnings=warnings)
    if given:
        settings = replace(settings, **_top(given, source, Path(project_root)))
    return _from_environment(settings, os.environ if environ is None else environ, Path(project_root))


def _read(root: Path) -> tuple[Path | None, Mapping[str, Any], tuple[str, ...]]:
    own = root / "bakeoff.toml"
    project = root / "pyproject.toml"
    given = _toml(own)
    # Most projects have no settings of ours in pyproject.toml: then it need not be parsed.
    shared = _toml(project, b"bakeoff")
    tool = shared.get("tool", {}) if shared else {}
    inner = tool.get("bakeoff") if isinstance(tool, dict) else None
    if given is not None:
        warning = f"{project}: its [tool.bakeoff] is not used, because {own} is there"
        return own, given, (warning,) if inner else ()
    if inner is None:
        return None, {}, ()
    if not isinstance(inner, dict):
        raise SettingsError(f"{project}: tool.bakeoff must be a table, not {inner!r}")
    return project, inner, ()


def _toml(path: Path, needle: bytes = b"") -> dict[str, Any] | None:
    try:
        check_owner(path)
        raw = read_named(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        raise SettingsError(f"{path} cannot be read: {failure.strerror}") from failure
    if needle not in raw:
        return None
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except UnicodeDecodeError as failure:
        raise SettingsError(f"{path} is not UTF-8: {failure}") from failure
    except tomllib.TOMLDecodeError as failure:
        raise SettingsError(f"{path} is not valid TOML: {failure}") from failure


def _top(given: Mapping[str, Any], source: Path | None, root: Path) -> dict[str, Any]:
    where = f"{source}: " + ("tool.bakeoff." if source and source.name == "pyproject.toml" else "")
    found = checked(given, checks_of(Settings), where)
    if "lanes" in found:
        found["lanes"] = {
            name: checked_value(whole, size, f"{where}lanes.{name}") for name, size in found["lanes"].items()
        }
    if "step_types" in found:
        found["step_types"] = _file(found["step_types"], root, f"{where}step_types")
    if "sandbox_reads" in found:
        found["sandbox_reads"] = tuple(root / Path(path).expanduser() for path in found["sandbox_reads"])
    if "slots" in found:
        found["slots"] = slot_settings(found["slots"], f"{where}slots")
    if "merge" in found:
        found["merge"] = merge_settings(found["merge"], f"{where}merge")
    if "plan" in found:
        found["plan"] = plan_settings(found["plan"], f"{where}plan")
    if "agents" in found:
        found["agents"] = {
            name: agent_settings(name, body, f"{where}agents.{name}") for name, body in found["agents"].items()
        }
    if "models" in found:
        found["models"] = {
            name: model_settings(name, body, f"{where}models.{name}") for name, body in found["models"].items()
        }
    if "endpoints" in found:
        found["endpoints"] = {
            name: endpoint_settings(name, body, f"{where}endpoints.{name}") for name, body in found["endpoints"].items()
        }
    _check_endpoints(found, where)
    return found


def _check_endpoints(found: Mapping[str, Any], where: str) -> None:
    """See that endpoints which are named are there, and that no model has the name of one.

    Raises:
        SettingsError: it is otherwise.
    """
    endpoints = found.get("endpoints", {})
    for name, agent in found.get("agents", {}).items():
        if agent.endpoint is not None:
            named_endpoint(agent.endpoint, endpoints, f"{where}agents.{name}.endpoint")
    if "endpoint" in found:
        named_endpoint(found["endpoint"], endpoints, f"{where}endpoint")
    for name in found.get("models", {}):
        if name in endpoints:
            raise SettingsError(f"{where}endpoints.{name}: a model has that name, too; give one of them another")


def _file(text: str, root: Path, where: str) -> Path:
    path = root / Path(text).expanduser()
    if not path.is_file():
        raise SettingsError(f"{where}: there is no file {path}")
    return path


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


_VARIABLES = {
    "BAKEOFF_MAX_PARALLEL": "max_parallel",
    "BAKEOFF_INTEGRATION": "integration",
    "BAKEOFF_MODEL": "model",
    "BAKEOFF_ENDPOINT": "endpoint",
    "BAKEOFF_MAX_USD": "max_usd",
    "BAKEOFF_GRACE": "grace",
    "BAKEOFF_STEP_TYPES": "step_types",
    "BAKEOFF_SANDBOX": "sandbox",
    "BAKEOFF_AGENT_SANDBOX": "agent_sandbox",
}
_LANE = "BAKEOFF_LANE_"


def _from_environment(settings: Settings, environ: Mapping[str, str], root: Path) -> Settings:
    changes: dict[str, Any] = {}
    lanes = dict(settings.lanes)
    warnings = list(settings.warnings)
    checks = checks_of(Settings)
    for variable in [name for name in environ if name.startswith("BAKEOFF_")]:
        text = environ[variable]
        key = _VARIABLES.get(variable)
        if not text:
            continue
        if key is not None:
            check = checks[key]
            numeric = isinstance(check, Whole | Number)
            value = checked_value(check, _number(text) if numeric else text, f"environment: {variable}")
            if key == "endpoint":
                named_endpoint(value, settings.endpoints, f"environment: {variable}")
            changes[key] = _file(value, root, f"environment: {variable}") if key == "step_types" else value
        elif variable.startswith(_LANE) and variable != _LANE:
            lanes[variable[len(_LANE) :].lower()] = checked_value(whole, _number(text), f"environment: {variable}")
        elif hint := close_to(variable, tuple(_VARIABLES)):
            warnings.append(f"environment: {variable} is no setting{hint}")
    return replace(settings, lanes=lanes, warnings=tuple(warnings), **changes)
