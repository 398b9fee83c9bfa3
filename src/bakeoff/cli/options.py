"""Options of commands, made from what jobs declare; and those that are the same for commands of all jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import click

from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.options.kinds import USD, Check, Choice, Flag, Kind, Number, Texts, Whole
from bakeoff.options.option import Option, default_of, options_of

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

PARALLEL = click.option("--max-parallel", type=click.IntRange(min=1), help="Leaves that run at once, over all nesting.")
WITH_TESTS = click.option("--with-tests", is_flag=True, help="With the attempt's own changes to tests.")
UNTRACKED = click.option("--untracked", is_flag=True, help="Take files that git neither tracks nor ignores, too.")
BRANCH = click.option("--branch", metavar="NAME", help="As a new branch on top of HEAD; your files stay as they are.")
RUN_ID = click.option("--run-id", help="The run's id; made up if left out.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
QUIET_STEPS = click.option(
    "-q", "--quiet", is_flag=True, help="Say only what needs you: errors, and a gate that waits."
)


@dataclass(frozen=True, slots=True)
class SessionFlags:
    """Flags of a command that carries a session out.

    Attributes:
        as_json: print one JSON object.
        quiet: say nothing but errors and the result.
        run_id: of a new run; made up if left out.
    """

    as_json: bool
    quiet: bool
    run_id: str | None = None


def session_flags(*options: Decorator) -> Decorator:
    """Flags of a session, those that are given or all, which the command takes as `flags`."""
    return _as_one("flags", SessionFlags, options or (RUN_ID, JSON, QUIET))


def landing_options(text: str, *more: Decorator, branch: Decorator = BRANCH) -> Decorator:
    """Options of what is done with the result, which the command takes as `landing`.

    Args:
        text: help of `--apply`.
        more: further options of `LandingOptions`.
        branch: the option `--branch`.
    """

    def landing(apply: bool, branch: str | None, **given: Any) -> LandingOptions:
        if apply and branch is not None:
            raise click.UsageError("--apply or --branch, not both")
        return LandingOptions(apply, branch, **given)

    return _as_one(
        "landing", landing, (click.option("--apply", is_flag=True, help=text), branch, *more), LandingOptions
    )


def _as_one(name: str, make: Callable[..., Any], options: Iterable[Decorator], of: type | None = None) -> Decorator:
    """Options whose values a command takes as one argument, a dataclass that `make` makes of them."""
    names = [field.name for field in fields(of or make)]  # type: ignore[arg-type]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def called(**given: Any) -> Any:
            values = {field: given.pop(field) for field in names if field in given}
            return command(**given, **{name: make(**values)})

        found: Callable[..., Any] = called
        for option in reversed(tuple(options)):
            found = option(found)
        return found

    return decorate


def job_options(
    of: type,
    names: Iterable[str] = (),
    *,
    without: Iterable[str] = (),
    defaults: Mapping[str, Any] | None = None,
    flags: Mapping[str, str] | None = None,
    settings: bool = False,
) -> Callable[[Command], Command]:
    """Options of a command, from those that a dataclass declares.

    Args:
        of: the dataclass.
        names: which of them, in the order of `--help`; all if left out.
        without: which of them not.
        defaults: where they are others than the declared ones.
        flags: what some are called here, where that is something else than declared.
        settings: the declared defaults are those of a table of settings: help shows them, None is handed over.
    """
    declared, left, made = options_of(of), set(without), []
    for name in names or declared:
        if name not in left:
            default = (defaults or {}).get(name, default_of(of, name))
            flag = (flags or {}).get(name) or declared[name].flag_of(name)
            one = replace(declared[name], help=_with_flags(declared[name].help, declared))
            made.append(_click_option(name, flag, one, default, settings))

    def decorate(command: Command) -> Command:
        for each in reversed(made):
            command = each(command)
        return command

    return decorate


def _with_flags(text: str, declared: Mapping[str, Option]) -> str:
    """A sentence of help in which other options are called as on a command line."""

    def called(match: re.Match[str]) -> str:
        other = declared.get(match[1])
        return match[0] if other is None else other.flag_of(match[1])

    return re.sub(r"`(\w+)`", called, text)


def _click_option(name: str, flag: str, declared: Option, default: Any, settings: bool) -> Callable[[Command], Command]:
    kind, text = declared.kind, declared.help
    if isinstance(kind, Flag) and (default or settings):
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    if isinstance(kind, Texts):
        return click.option(
            flag,
            name,
            multiple=True,
            metavar=declared.metavar,
            help=f"{text.removesuffix('.')}; may be repeated.",
        )
    return click.option(
        flag,
        name,
        type=_click_type(kind),
        is_flag=isinstance(kind, Flag),
        default=None if settings else default,
        show_default=_shown(kind, default, settings),
        metavar=declared.metavar,
        help=text,
    )


def _shown(kind: Kind | Check, default: Any, settings: bool) -> bool | str:
    """Default as `--help` shows it."""
    if default is None or (default is False and not settings):
        return False
    if not settings:
        return True
    return ("on" if default else "off") if isinstance(kind, Flag) else str(default)


def _click_type(kind: Kind | Check) -> Any:
    match kind:
        case Whole(least):
            return int if least is None else click.IntRange(min=least)
        case Number(least, above, unit):
            ranged = Money if unit == USD.unit else click.FloatRange
            return ranged(min=least if above is None else above, min_open=above is not None)
        case Choice(values):
            return click.Choice(values)
        case Flag():
            return bool
    return str


class Money(click.FloatRange):
    """An amount of money above nothing."""

    name = "usd"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount."""
        amount = float(super().convert(value, param, ctx))
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount of money", param, ctx)
        return amount
