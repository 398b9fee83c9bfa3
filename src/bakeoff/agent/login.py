"""Login of an agent: what shows one, and who cannot be called without it. Files are seen to exist, never read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from bakeoff.agent.endpoint import NO_KEY
from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.executable import extra_arguments, find_executable, setting
from bakeoff.workspace.sandbox.policy import XDG, user_paths

_SHELL = re.compile(rb"#!\s*\S*/(?:env\s+)?(?:ba|da|k|z)?sh\b")


def login_of(entry: Entry, env: Mapping[str, str | None]) -> str | None:
    """The file or variable that shows a login, or an endpoint that needs none; None where none is seen."""
    found = _first_file(entry, entry.login_files, env)
    if found is not None:
        return f"file {found}"
    name = next(_set(entry.login_variables, env), None)
    return None if name is None else f"variable {name}"


def how_to_log_in(entry: Entry) -> str:
    """Advice to a person about a login that is not seen."""
    wanted = " or ".join(name for name in entry.login_variables if "*" not in name and not name.endswith("_URL"))
    return f"no login was seen: start {entry.executables[0]} once and log in" + (f", or set {wanted}" if wanted else "")


def check_login(
    entry: Entry, cwd: str, env: Mapping[str, str | None], model: str | None = None, scripts: bool = True
) -> None:
    """See that an agent which bakeoff knows can call its model, as far as that shows without calling it.

    One that has a configuration of its own, or is given further arguments, may have its login there; `model` may be one
    that wants none; on macOS it may be in the keychain. With `scripts`, a shell script of its name may bring one.

    Raises:
        AgentError: it has none (`auth`); the message says how to log in. Or it is not there.
    """
    if entry.endpoint is not None:
        endpoint_key(entry, env)
        return
    if not entry.known or not entry.needs_login or sys.platform == "darwin":
        return
    if login_of(entry, env) is not None or entry.configured or extra_arguments(entry, env):
        return
    if any(_set(entry.config_variables, env)) or (entry.names_providers and "/" in (model or "")):
        return
    in_project = (os.path.join(cwd, name) for name in entry.config_files if not name.startswith("~"))
    if any(map(os.path.exists, in_project)) or _first_file(entry, entry.config_files, env) is not None:
        return
    if scripts and _is_shell_script(find_executable(entry, cwd, env)):
        return
    raise AgentError(f"agent {entry.name}: {how_to_log_in(entry)}; nothing was begun", "auth")


def endpoint_key(entry: Entry, env: Mapping[str, str | None]) -> str:
    """The key of the endpoint that an agent is set up for.

    Raises:
        AgentError: the variable that is to hold it is not set (`auth`).
    """
    assert entry.endpoint is not None
    name = entry.endpoint.key_env
    key = NO_KEY if name is None else setting(env, name)
    if key is None:
        raise AgentError(
            f"endpoint {entry.endpoint.name}: the variable {name} is not set; put its key there",
            "auth",
        )
    return key


def _is_shell_script(program: str) -> bool:
    """Whether somebody put a script in the place of the CLI; only cursor-agent is one itself."""
    try:
        with open(program, "rb") as file:
            return _SHELL.match(file.read(128)) is not None
    except OSError:
        return False


def _first_file(entry: Entry, files: Iterable[str], env: Mapping[str, str | None]) -> str | None:
    home = setting(env, "HOME") or os.path.expanduser("~")
    moved = setting(env, entry.home_variable) if entry.home_variable else None
    known = {name: value for name in XDG.values() if (value := setting(env, name)) is not None}
    for file in files:
        if not file.startswith("~"):
            continue
        candidates = [os.path.join(moved, os.path.basename(file))] if moved else []
        for candidate in (*candidates, *user_paths(file, home, known)):
            if os.path.exists(candidate):
                return candidate
    return None


def _set(patterns: Iterable[str], env: Mapping[str, str | None]) -> Iterator[str]:
    """Names of the variables that match one of the patterns and are set."""
    for pattern in patterns:
        names = [pattern] if "*" not in pattern else sorted({*os.environ, *env})
        yield from (name for name in names if fnmatchcase(name, pattern) and setting(env, name))
