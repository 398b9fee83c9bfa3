"""Entry of a coding-agent CLI: what bakeoff knows of it, as data: how to find, ask, read and get it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from bakeoff.agent.endpoint import Aim, Endpoint
from bakeoff.errors import BakeoffError

Template: TypeAlias = tuple["str | tuple[str, ...]", ...]
"""Arguments with placeholders. A tuple inside it is left out whole when one of its placeholders has no value."""

PLACEHOLDERS = ("prompt", "model", "session", "max_usd", "command", "artifact", "extra")
"""`extra`, alone in an argument, stands for the caller's further arguments; the others are single values."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

QUIET = {"TERM": "dumb", "NO_COLOR": "1", "BROWSER": "true"}
"""Environment that keeps every CLI from drawing on a terminal it does not have, and from opening a browser.

Its tools inherit it, so: no CI."""


class AgentError(BakeoffError):
    """An agent cannot be asked for what was asked; `kind` goes on the record."""

    def __init__(self, message: str, kind: str = "agent") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Entry:
    """One coding-agent CLI.

    Attributes:
        name: what workflows call it (`integration:`).
        executables: program names to look for, best first; a path is taken as it is.
        install: how a person gets it, one command or sentence.
        argv: arguments after the program; see `Template` and `PLACEHOLDERS`. A built-in CLI has `{prompt}` and
            `{extra}` once, and a group with `{model}`.
        slash: how a command is asked for inside the prompt, with `{command}` for its name.
        joint: what stands between the parts of a command's name in the slash form.
        env: variables to set (None removes one) on top of the user's own.
        login_files: where its login lies. Seen to exist, never read, never copied.
        own: further files and folders of its state and configuration; with the folders of its login files, these are
            what it writes besides its work tree.
        leftovers: name patterns of files and folders that it leaves at the top of its work tree, for itself alone;
            those that were not there before are removed when it has ended.
        login_variables: variables any of which is a login, or names an endpoint that may need none; globs.
        config_files: configuration in which a login or an endpoint may stand, at the top of a project or below `~`.
        config_variables: variables in which the same may stand, but which are none by themselves; globs.
        names_providers: whether a model is named as PROVIDER/MODEL, some of which want no login.
        home_variable: the CLI's own variable that moves its state, for callers that separate sessions.
        events: name of the format of its output: its own name where its file in `clis/` has a FORMAT, that of a CLI
            whose format it shares, or `text`.
        reports_usage: whether it tells how many tokens it used.
        reports_cost: whether it tells what it cost, in USD.
        version: arguments that make it print its version.
        inside: arguments that are replaced inside bakeoff's sandbox, where the CLI cannot make its own.
        artifact: name of a result file it is told to write, which the reader gets too.
        model: the model asked for where the caller names none.
        aim: sets it up for an endpoint of the user's; None for one that cannot be.
        aimed_model: what it calls a model of such an endpoint, with `{model}` for the name there.
        endpoint: what it is to be set up for; None for its own way to a model.
        known: whether its program is one that bakeoff knows, and not one that the user wrote an argv for.
        needs_login: whether it calls no model without a login or an endpoint; others may have one that needs none.
        configured: whether the user's settings give it arguments or variables of their own.
        prices: USD for a million tokens of input and of output, where the user named them.
    """

    name: str
    executables: tuple[str, ...]
    install: str
    argv: Template
    slash: str = "/speckit.{command}"
    joint: str = "."
    env: Mapping[str, str | None] = field(default_factory=dict)
    login_files: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    login_variables: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()
    config_variables: tuple[str, ...] = ()
    names_providers: bool = False
    home_variable: str | None = None
    events: str = "text"
    reports_usage: bool = False
    reports_cost: bool = False
    version: tuple[str, ...] = ("--version",)
    inside: Mapping[str, str] = field(default_factory=dict)
    artifact: str | None = None
    model: str | None = None
    aim: Aim | None = None
    aimed_model: str = "{model}"
    endpoint: Endpoint | None = None
    known: bool = True
    needs_login: bool = False
    configured: bool = False
    prices: tuple[float | None, float | None] = (None, None)

    def named(self, model: str | None) -> str | None:
        """The CLI's own name for `model`, or the model that it is asked for where that is None."""
        name = model or self.model
        if name is None or self.endpoint is None:
            return name
        return self.aimed_model.replace("{model}", name)

    def with_arguments(self, arguments: tuple[str, ...]) -> Template:
        """Its argv with further arguments, where the caller's own come."""
        place = self.argv.index("{extra}") + 1 if "{extra}" in self.argv else len(self.argv)
        return (*self.argv[:place], *arguments, *self.argv[place:])

    def takes(self, placeholder: str) -> bool:
        """Whether the arguments have a place for `placeholder`."""
        return f"{{{placeholder}}}" in " ".join(_flat(self.argv))

    @property
    def can_resume(self) -> bool:
        """Whether a session can be continued by its id."""
        return self.takes("session")

    @property
    def can_cap_cost(self) -> bool:
        """Whether the CLI itself stops at a ceiling of money."""
        return self.takes("max_usd")

    def slash_text(self, command: str, args: str) -> str:
        """The prompt that asks for `command`; a name that begins with `/` or `$` is sent as it is written."""
        if command[:1] in ("/", "$"):
            return f"{command} {args}".rstrip()
        return f"{self.slash.replace('{command}', self.command_stem(command))} {args}".rstrip()

    def command_stem(self, command: str) -> str:
        """The name of `command` without the `speckit` prefix, its parts joined in this CLI's way."""
        return re.sub(r"^speckit[.-]", "", command).replace(".", self.joint)

    def arguments(self, values: Mapping[str, str | None], extra: tuple[str, ...] = ()) -> list[str]:
        """The arguments after the program, placeholders filled once with `values`, `extra` where it belongs.

        Raises:
            AgentError: an argument outside a group needs a value that is not there.
        """  # noqa: DOC502 - it comes out of _fill
        arguments: list[str] = []
        placed = False
        for part in self.argv:
            if part == "{extra}":
                arguments += extra
                placed = True
            elif isinstance(part, str):
                arguments.append(_fill(part, values, self.name))
            elif all(values.get(name) for text in part for name in _PLACEHOLDER.findall(text) if name in PLACEHOLDERS):
                arguments += [_fill(text, values, self.name) for text in part]
        return arguments if placed else [*arguments, *extra]


def _flat(template: Template) -> list[str]:
    return [text for part in template for text in ((part,) if isinstance(part, str) else part)]


def _fill(text: str, values: Mapping[str, str | None], agent: str) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in PLACEHOLDERS:
            return match[0]
        found = values.get(name)
        if found is None:
            raise AgentError(
                f"agent {agent}: its argument {text!r} needs a {name}, and none was given; "
                f"name one, or make it optional with a group: [..., [{text!r}], ...]"
            )
        return found

    return _PLACEHOLDER.sub(value, text)
