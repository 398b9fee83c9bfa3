"""What a user sets once: `[tool.bakeoff]` of pyproject.toml, or bakeoff.toml, then BAKEOFF_* variables on top."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from bakeoff.engine.errors import BakeoffError

Argv = tuple["str | tuple[str, ...]", ...]


class SettingsError(BakeoffError):
    """A setting is wrong; the message names the file or variable, the key and what is allowed."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What a user says of one coding agent: a change to a known one, or a new one by `argv`.

    Attributes:
        argv: program and arguments, `{prompt}` among them; a list inside it is left out when a placeholder in it
            has no value, as in `["tool", ["--model", "{model}"], "{prompt}"]`.
        executable: another program for the same arguments.
        like: name of the built-in agent that a new one is a variant of.
        args: arguments added to every call.
        env: variables set for it.
        model: its model where a workflow names none.
        events: how its output is read: the name of a built-in agent's format, or `text`.
        slash: how a command is asked for, with `{command}`.
        install: what to tell a person who does not have it.
    """

    argv: Argv | None = None
    executable: str | None = None
    like: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    events: str | None = None
    slash: str | None = None
    install: str | None = None


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """How slots, the places where attempts work, are made.

    Attributes:
        kind: `auto`, or one kind that is then had or refused: `overlay`, `repository`, `worktree`.
        dirty: what a snapshot takes besides HEAD: `none`, `tracked` (changes to tracked files) or `all`.
        link: paths of the project that slots see but cannot change (a checkout slot has a link to them).
        copy: paths of the project that every slot has a copy of.
        setup: shell command that builds what slots need; it runs once, and all slots share what it made.
        setup_inputs: the paths that its products depend on; without any, the whole tree.
        source_roots: folders with Python packages, first on a slot's PYTHONPATH.
        max_disk_mb: megabytes that all slots of the project may take together.
        max_file_mb: megabytes of one file above which a result leaves it out.
    """

    kind: str = "auto"
    dirty: str = "all"
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    setup: str | None = None
    setup_inputs: tuple[str, ...] = ()
    source_roots: tuple[str, ...] = ()
    max_disk_mb: int | None = None
    max_file_mb: int = 100


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a user says of one model that is behind HTTP.

    Attributes:
        api: wire format: `chat`, `responses`, `completions` or `messages`.
        base_url: the endpoint; the inventor's own one of the format where it is not set.
        key_env: variable that holds the key.
        model: its name at the endpoint; the name of these settings where it is not set.
        max_tokens: tokens of output for requests that name no limit.
        requests_per_minute: the endpoint's limit.
        tokens_per_minute: the endpoint's limit, input and output.
        max_in_flight: requests at once.
        timeout: seconds that the endpoint may be silent.
        price_in: USD for a million tokens of input.
        price_out: USD for a million tokens of output.
    """

    api: str = "chat"
    base_url: str | None = None
    key_env: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_in_flight: int | None = None
    timeout: float | None = None
    price_in: float | None = None
    price_out: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, checked.

    Attributes:
        max_parallel: leaves that run at once, over all nesting.
        lanes: capacity of each named lane; a name that is missing has its built-in default.
        integration: the agent for steps that name none.
        model: the model for steps that name none, nor their workflow, nor the agent's own settings.
        max_usd: ceiling in USD handed to each agent call.
        grace: seconds between TERM and KILL when a process is ended early.
        step_types: Python file that registers step types.
        agents: what the user says of each agent.
        slots: how places to work are made.
        models: what the user says of each model, by a name of the user's own.
        sandbox: protection that code nobody has read must run under: `full`, `weak` (what can be had) or `none`.
        source: the file they came from, for messages.
        warnings: what looks like a mistake but is none for sure.
    """

    max_parallel: int = 64
    lanes: Mapping[str, int] = field(default_factory=dict)
    integration: str | None = None
    model: str | None = None
    max_usd: float | None = None
    grace: float = 5.0
    step_types: Path | None = None
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    slots: SlotSettings = field(default_factory=SlotSettings)
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    sandbox: str = "full"
    source: Path | None = None
    warnings: tuple[str, ...] = ()


def load_settings(project_root: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of the project at `project_root`; `environ` defaults to this process's.

    Raises:
        SettingsError: a file cannot be read or a value is wrong.
    """  # noqa: DOC502 - it comes out of the checks
    source, table, warnings = _read(Path(project_root))
    settings = Settings(source=source, warnings=warnings)
    if table:
        settings = replace(settings, **_top(table, source, Path(project_root)))
    return _from_environment(settings, os.environ if environ is None else environ, Path(project_root))


def _read(root: Path) -> tuple[Path | None, Mapping[str, Any], tuple[str, ...]]:
    own = root / "bakeoff.toml"
    project = root / "pyproject.toml"
    table = _toml(own)
    # Most projects have no settings of ours in pyproject.toml: then it need not be parsed.
    shared = _toml(project, b"bakeoff")
    tool = shared.get("tool", {}) if shared else {}
    inner = tool.get("bakeoff") if isinstance(tool, dict) else None
    if table is not None:
        warning = f"{project}: its [tool.bakeoff] is not used, because {own} is there"
        return own, table, (warning,) if inner else ()
    if inner is None:
        return None, {}, ()
    if not isinstance(inner, dict):
        raise SettingsError(f"{project}: tool.bakeoff must be a table, not {inner!r}")
    return project, inner, ()


def _toml(path: Path, needle: bytes = b"") -> dict[str, Any] | None:
    try:
        raw = path.read_bytes()
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


Value = TypeVar("Value")
Check = Callable[[Any], Any]
"""Returns the value in its final type, or raises ValueError with what is allowed."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts")
    return tuple(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("a whole number from 1")
    return value


def _amount(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise ValueError("a number from 0")
    return float(value)


def _above(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise ValueError("a number above 0")
    return float(value)


def _url(value: Any) -> str:
    match = re.fullmatch(r"https?://([^/?#\s]+)(/[^?#\s]*)?", value) if isinstance(value, str) else None
    if match is None or "@" in match[1]:
        raise ValueError("an address such as http://127.0.0.1:8000/v1, without a key in it")
    return str(value)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def _variables(value: Any) -> dict[str, str]:
    if not all(isinstance(item, str) and "\0" not in item for item in _table(value).values()):
        raise ValueError("a table of texts")
    return dict(value)


_PLACEHOLDERS = ("prompt", "model", "session", "max_usd", "command", "extra")


def _argv(value: Any) -> Argv:
    if not isinstance(value, list) or not value or not isinstance(value[0], str) or not value[0].strip():
        raise ValueError("a list whose first item is the program")
    argv: Argv = tuple(_texts(item) if isinstance(item, list) else item for item in value)
    flat = [text for item in argv for text in (item if isinstance(item, tuple) else (item,))]
    if not all(isinstance(text, str) for text in flat):
        raise ValueError("a list of texts, and of lists of texts for what is optional")
    names = re.findall(r"\{([a-z_]+)\}", " ".join(flat))
    for name in names:
        if name not in _PLACEHOLDERS:
            known = ", ".join(f"{{{known}}}" for known in _PLACEHOLDERS)
            raise ValueError(
                f"a list with no other placeholders than {known} (there is {{{name}}}{_close(name, _PLACEHOLDERS)})"
            )
    if any("{extra}" in text and text != "{extra}" for text in flat):
        raise ValueError('a list in which "{extra}", where it is used, stands alone')
    if "prompt" not in names:
        raise ValueError('a list with "{prompt}" where the prompt goes')
    return argv


_BUILT_IN = ("claude", "codex", "gemini", "copilot", "opencode", "qwen", "cursor-agent", "aider", "mini")
_EVENTS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "aider", "text")


def _one_of(names: tuple[str, ...]) -> Check:
    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}{_close(value, names)}")
        return str(value)

    return check


_AGENT: Mapping[str, Check] = {
    "argv": _argv,
    "executable": _text,
    "like": _one_of(_BUILT_IN),
    "args": _texts,
    "env": _variables,
    "model": _text,
    "events": _one_of(_EVENTS),
    "slash": _text,
    "install": _text,
}
_SLOTS: Mapping[str, Check] = {
    "kind": _one_of(("auto", "overlay", "repository", "worktree")),
    "dirty": _one_of(("none", "tracked", "all")),
    "link": _texts,
    "copy": _texts,
    "setup": _text,
    "setup_inputs": _texts,
    "source_roots": _texts,
    "max_disk_mb": _whole,
    "max_file_mb": _whole,
}
_APIS = ("chat", "responses", "completions", "messages")
_MODEL: Mapping[str, Check] = {
    "api": _one_of(_APIS),
    "base_url": _url,
    "key_env": _text,
    "model": _text,
    "max_tokens": _whole,
    "requests_per_minute": _above,
    "tokens_per_minute": _above,
    "max_in_flight": _whole,
    "timeout": _above,
    "price_in": _amount,
    "price_out": _amount,
}
_TOP: Mapping[str, Check] = {
    "max_parallel": _whole,
    "lanes": _table,
    "integration": _text,
    "model": _text,
    "max_usd": _amount,
    "grace": _amount,
    "step_types": _text,
    "agents": _table,
    "slots": _table,
    "models": _table,
    "sandbox": _one_of(("full", "weak", "none")),
}


def _top(table: Mapping[str, Any], source: Path | None, root: Path) -> dict[str, Any]:
    where = f"{source}: " + ("tool.bakeoff." if source and source.name == "pyproject.toml" else "")
    found = _checked(table, _TOP, where)
    if "lanes" in found:
        found["lanes"] = {name: _check(_whole, size, f"{where}lanes.{name}") for name, size in found["lanes"].items()}
    if "step_types" in found:
        found["step_types"] = _file(found["step_types"], root, f"{where}step_types")
    if "slots" in found:
        found["slots"] = SlotSettings(**_checked(found["slots"], _SLOTS, f"{where}slots."))
    if "agents" in found:
        found["agents"] = {name: _agent(name, body, f"{where}agents.{name}") for name, body in found["agents"].items()}
    if "models" in found:
        found["models"] = {name: _model(name, body, f"{where}models.{name}") for name, body in found["models"].items()}
    return found


def _model(name: str, body: Any, where: str) -> ModelSettings:
    model = ModelSettings(**_checked(_check(_table, body, where), _MODEL, f"{where}."))
    if name == "local":
        raise SettingsError(f"{where}: `local` is the built-in local model; give yours another name")
    if (model.price_in is None) != (model.price_out is None):
        raise SettingsError(f"{where}: price_in and price_out go together; a price that is half known is not known")
    return model


def _agent(name: str, body: Any, where: str) -> AgentSettings:
    agent = AgentSettings(**_checked(_check(_table, body, where), _AGENT, f"{where}."))
    if name not in _BUILT_IN and agent.argv is None and agent.like is None:
        raise SettingsError(
            f"{where} is no agent that bakeoff knows{_close(name, _BUILT_IN)}: give it an argv with "
            '"{prompt}" where the prompt goes, or `like` with the name of a known one'
        )
    if name in _BUILT_IN and agent.like is not None:
        raise SettingsError(f"{where}.like is for agents of your own; {name} is a built-in one")
    return agent


def _checked(table: Mapping[str, Any], checks: Mapping[str, Check], where: str) -> dict[str, Any]:
    for key in table:
        if key not in checks:
            raise SettingsError(
                f"{where}{key} is no setting{_close(key, tuple(checks))}; known are {', '.join(checks)}"
            )
    return {key: _check(checks[key], value, f"{where}{key}") for key, value in table.items()}


def _check(check: Callable[[Any], Value], value: Any, where: str) -> Value:
    try:
        return check(value)
    except ValueError as failure:
        raise SettingsError(f"{where} must be {failure}, not {value!r}") from None


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
    "BAKEOFF_MAX_USD": "max_usd",
    "BAKEOFF_GRACE": "grace",
    "BAKEOFF_STEP_TYPES": "step_types",
    "BAKEOFF_SANDBOX": "sandbox",
}
_LANE = "BAKEOFF_LANE_"


def _from_environment(settings: Settings, environ: Mapping[str, str], root: Path) -> Settings:
    changes: dict[str, Any] = {}
    lanes = dict(settings.lanes)
    warnings = list(settings.warnings)
    for variable in [name for name in environ if name.startswith("BAKEOFF_")]:
        text = environ[variable]
        key = _VARIABLES.get(variable)
        if not text:
            continue
        if key is not None:
            numeric = _TOP[key] in (_whole, _amount)
            value = _check(_TOP[key], _number(text) if numeric else text, f"environment: {variable}")
            changes[key] = _file(value, root, f"environment: {variable}") if key == "step_types" else value
        elif variable.startswith(_LANE) and variable != _LANE:
            lanes[variable[len(_LANE) :].lower()] = _check(_whole, _number(text), f"environment: {variable}")
        elif hint := _close(variable, tuple(_VARIABLES)):
            warnings.append(f"environment: {variable} is no setting{hint}")
    return replace(settings, lanes=lanes, warnings=tuple(warnings), **changes)


def _close(name: Any, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(name), known, 1, 0.8 if str(name).startswith("BAKEOFF_") else 0.6)
    return f" (did you mean {close[0]}?)" if close else ""
