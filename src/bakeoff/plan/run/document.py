"""`plan.yml`: a plan as a person reads and edits it, and back, with messages that name line and key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.errors import BakeoffError
from bakeoff.options.kinds import Check, Kind, Number, Text, Texts, Whole
from bakeoff.options.option import default_of, options_of
from bakeoff.plan.errors import PlanError, ScheduleError
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.plan.run.plan import NAME, Group, Plan, Subplan
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.system.named_files import read_named

if TYPE_CHECKING:
    from yaml.nodes import Node

HEAD = """\
# A plan of bakeoff. Edit it, then carry it out with: bakeoff plan run {file}
#
# subplans are in plan order: of two that do not go together the earlier one lands.
#   files   what a subplan is about            writes  globs of what it may write; its files if left out
#   after   subplans or groups to wait for     prompt  what the agent is told, word for word
#   uses    files whose interface it is told   subplans  makes a group of it
"""


class PlanFileError(BakeoffError):
    """A plan file is wrong; the message names file, line and key."""


# Reading.


@dataclass(frozen=True, slots=True)
class _Reader:
    source: str

    def wrong(self, node: Node, text: str) -> NoReturn:
        """Refuse the file because of a node.

        Raises:
            PlanFileError: always.
        """
        raise PlanFileError(f"{self.source}, line {node.start_mark.line + 1}: {text}")

    def mapping(self, node: Node, what: str, known: Mapping[str, Any]) -> dict[str, tuple[Node, Node]]:
        """The keys of a mapping, each with its own node and its value's."""
        import yaml

        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"{what} must be a mapping of keys to values")
        found: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; did you mean `{near[0]}`?" if near else f"; it may have: {', '.join(known)}"
                self.wrong(key, f"{what} has no `{name}`{hint}")
            if name in found:
                self.wrong(key, f"`{name}` is there twice")
            found[name] = (key, value)
        return found

    def text(self, node: Node, key: str) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null" or not str(node.value).strip():
            self.wrong(node, f"`{key}` must be a text")
        return str(node.value)

    def texts(self, node: Node, key: str) -> tuple[str, ...]:
        import yaml

        if isinstance(node, yaml.ScalarNode):
            return (self.text(node, key),)
        if not isinstance(node, yaml.SequenceNode):
            self.wrong(node, f"`{key}` must be a text or a list of texts")
        return tuple(self.text(one, key) for one in node.value)

    def paths(self, node: Node, key: str) -> tuple[str, ...]:
        """Paths from the top of the project, or globs."""
        found = self.texts(node, key)
        for path in found:
            if ".." in path.split("/") or (path.startswith("/") and key != "writes"):
                self.wrong(
                    node, f"`{key}`: {path!r} must be a path from the top of the project, and not lead out of it"
                )
        return found

    def scalar(self, node: Node, key: str) -> Any:
        """A value of YAML's own kinds."""
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            self.wrong(node, f"`{key}` must be a single value")
        return yaml.SafeLoader("").construct_object(node)

    def whole(self, node: Node, key: str) -> int:
        value = self.scalar(node, key)
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong(node, f"`{key}` must be a whole number, not {node.value!r}")
        return value

    def number(self, node: Node, key: str, kind: Number) -> float:
        value = self.scalar(node, key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
            self.wrong(node, f"`{key}` must be a number from 0, not {node.value!r}")
        if not value and kind.above is not None:
            self.wrong(node, f"`{key}` must be more than 0")
        return float(value)

    def option(self, node: Node, key: str, kind: Kind | Check) -> Any:
        """A value of an option; its range is checked with the plan."""
        match kind:
            case Text():
                return self.text(node, key)
            case Texts():
                return self.texts(node, key)
            case Whole():
                return self.whole(node, key)
            case Number():
                return self.number(node, key, kind)
            case _:
                return self.checked(node, key, kind)

    def checked(self, node: Node, key: str, kind: Kind | Check) -> Any:
        """One of the values that are allowed."""
        try:
            return kind(self.scalar(node, key))
        except ValueError as failure:
            self.wrong(node, f"`{key}` must be {failure}, not {node.value!r}")

    def options(self, found: Mapping[str, tuple[Node, Node]], of: type) -> dict[str, Any]:
        """The values of the options of a dataclass that are there and not null."""
        declared = options_of(of)
        return {
            name: self.option(node, name, declared[name].kind)
            for name, (_, node) in found.items()
            if name in declared and not _is_null(node)
        }


def read_plan(text: str, source: str) -> Plan:
    """The plan that a file has.

    Raises:
        PlanFileError: something is wrong; file, line and key are named.
    """
    import yaml

    reader = _Reader(source)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as failure:
        at = "" if failure.problem_mark is None else f", line {failure.problem_mark.line + 1}"
        raise PlanFileError(f"{source}{at}: this is no YAML: {failure.problem}") from failure
    except yaml.YAMLError as failure:
        raise PlanFileError(f"{source}: this is no YAML: {failure}") from failure
    except RecursionError:
        raise PlanFileError(f"{source}: it is nested too deeply") from None
    if root is None:
        raise PlanFileError(f"{source} is empty: it must have `goal` and `subplans`")
    return _whole(reader, root)


ATTEMPT = (
    *("agent", "model", "endpoint", "base", "checks", "may_edit", "protect", "attempts", "repair", "retries"),
    *("timeout", "check_timeout", "max_cost", "max_tokens", "max_calls", "preflight", "require_red"),
    *("sandbox", "agent_sandbox"),
)
"""The options at the top of a file, in their order there: how each subplan is attempted."""
CONFIG = tuple(options_of(SubplanConfig))


def _whole(reader: _Reader, root: Node) -> Plan:
    """The plan of a whole document.

    Raises:
        PlanFileError: something is wrong.
    """
    found = reader.mapping(root, "a plan", dict.fromkeys(("goal", *ATTEMPT, "config", "subplans")))
    for name in ("goal", "subplans"):
        if name not in found:
            reader.wrong(root, f"`{name}` is missing")
    goal = reader.text(found["goal"][1], "goal")
    given = reader.options(found, AttemptOptions)
    inner = reader.mapping(found["config"][1], "`config`", dict.fromkeys(CONFIG)) if "config" in found else {}
    wanted = reader.options(inner, SubplanConfig)
    parts = _Parts(reader)
    parts.read(found["subplans"][1], None)
    try:
        plan = Plan(
            goal,
            tuple(parts.subplans),
            AttemptOptions(task=goal, **given),
            SubplanConfig(**wanted),
            tuple(parts.groups),
        )
        plan.graph()
    except (PlanError, ScheduleError) as failure:
        lines = {
            name: key.start_mark.line + 1 for name, (key, _) in inner.items() if str(failure).startswith(f"{name} ")
        }
        lines |= {name: line for name, line in parts.lines.items() if repr(name) in str(failure)}
        line = next(iter(lines.values()), None)
        at = "" if line is None else f", line {line}"
        raise PlanFileError(f"{reader.source}{at}: {failure}") from failure
    except BakeoffError as failure:  # options speak as of a command line
        asked, meant = "give a --check, as in --check 'pytest -q'", "give `checks`, as in checks: pytest -q"
        said = re.sub(
            r"--([a-z][a-z-]*)", lambda option: f"`{option[1].replace('-', '_')}`", str(failure).replace(asked, meant)
        )
        raise PlanFileError(f"{reader.source}: {said}") from failure
    return plan


def _is_null(node: Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


class _Parts:
    """Subplans and groups, as they come."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.subplans: list[Subplan] = []
        self.groups: list[Group] = []
        self.lines: dict[str, int] = {}

    def read(self, node: Node, parent: str | None) -> None:
        import yaml

        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.reader.wrong(node, "`subplans` must be a list with at least one subplan")
        for one in node.value:
            self._part(one, parent)

    def _part(self, node: Node, parent: str | None) -> None:
        reader = self.reader
        lists = ("files", "writes", "after", "uses")
        found = reader.mapping(node, "a subplan", dict.fromkeys(("name", "goal", "prompt", *lists, "subplans")))
        if "name" not in found:
            reader.wrong(node, "a subplan without `name`")
        key, value = found["name"]
        name = reader.text(value, "name")
        if not NAME.fullmatch(name):
            reader.wrong(value, f"`name`: take letters, digits, `.`, `_` and `-`, at most 80, not {name!r}")
        if name in self.lines:
            reader.wrong(key, f"there are two subplans called {name!r}; the other is in line {self.lines[name]}")
        self.lines[name] = key.start_mark.line + 1
        texts: dict[str, Any] = {
            n: reader.text(found[n][1], n) for n in ("goal", "prompt") if n in found and not _is_null(found[n][1])
        }
        if "subplans" in found:
            wrong = next((n for n in ("prompt", "files", "writes", "after", "uses") if n in found), None)
            if wrong is not None:
                reader.wrong(found[wrong][0], f"`{wrong}` is of no use here: {name!r} is a group, which does no work")
            self.groups.append(Group(name, texts.get("goal", ""), parent))
            self.read(found["subplans"][1], name)
            return
        values: dict[str, Any] = {
            n: (reader.texts if n == "after" else reader.paths)(found[n][1], n)
            for n in lists
            if n in found and not _is_null(found[n][1])
        }
        self.subplans.append(Subplan(name, **texts, **values, parent=parent))


# Writing.


def write_text(plan: Plan, file: str = "plan.yml") -> str:
    """The plan as a file, which `read_plan` takes."""
    import yaml

    options = plan.attempt
    document: dict[str, Any] = {"goal": plan.goal}
    for name in ATTEMPT:
        value = getattr(options, name)
        if value not in (None, ()) and (value != default_of(AttemptOptions, name) or name in ("attempts", "repair")):
            document[name] = list(value) if isinstance(value, tuple) else value
    document["config"] = {name: getattr(plan.config, name) for name in CONFIG}
    document["subplans"] = list(_written(plan, None))
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return HEAD.format(file=file) + text


def _written(plan: Plan, parent: str | None) -> Iterator[dict[str, Any]]:
    """Members directly below a group, in plan order."""
    groups = {group.name: group for group in plan.groups}
    done: set[str] = set()
    for subplan in plan.subplans:
        below, above = None, subplan.parent
        while above != parent and above is not None:
            below, above = above, groups[above].parent
        if above != parent or below in done:
            continue
        if below is not None:
            done.add(below)
            goal = {"goal": groups[below].goal} if groups[below].goal else {}
            yield {"name": below, **goal, "subplans": list(_written(plan, below))}
            continue
        part: dict[str, Any] = {"name": subplan.name}
        for name in ("goal", "prompt", "files", "writes", "after", "uses"):
            value = getattr(subplan, name)
            if value:
                part[name] = list(value) if isinstance(value, tuple) else value
        yield part


def read_file(file: Path) -> Plan:
    """The plan in a file. Passes on PlanFileError: as for `read_plan`.

    Raises:
        PlanFileError: the file cannot be read.
    """
    try:
        text = read_named(file, once=True).decode()
    except (OSError, UnicodeDecodeError) as failure:
        raise PlanFileError(f"{file} cannot be read: {getattr(failure, 'strerror', failure)}") from failure
    return read_plan(text, str(file))
