"""Functions that a target reaches, copied into it: what they keep then lasts for one call of the target.

What each call hands on as it is becomes a variable of the target, which need not be told apart: the object of a
method, too, where it is always the same.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.source_code.names import bound_by
from bakeoff.optimize.sources.rules.facts.purity import touched
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import USUAL_METHODS, names_in, stored, without_docstring
from bakeoff.optimize.sources.rules.helpers import above
from bakeoff.optimize.sources.rules.support import NODES

MOST = 12
"""Functions that are copied into one."""


@dataclass(eq=False)
class Below:
    """Functions that a target reaches: pure plain functions of its file, and methods of classes of its file."""

    target: Subject
    reached: dict[str, Subject] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    fixed: dict[tuple[str, str], str] = field(default_factory=dict)

    def look(self) -> None:
        """Find all that it reaches through each other."""
        waiting = sorted({name for _, name in self.calls(self.target)})
        while waiting:
            name = waiting.pop(0)
            if name in self.reached or name == self.target.definition.qualname:
                continue
            subject = Subject(locate(self.target.definition.file, name))
            if subject.node.decorator_list or subject.opaque or self._clashes(subject):
                continue
            self.reached[name] = subject
            waiting += sorted({called for _, called in self.calls(subject)})
        self.keep_the_same(self.reached)

    def calls(self, subject: Subject) -> Iterator[tuple[ast.Call, str]]:
        """Calls of pure functions of the file, and of methods that only one class of it has."""
        for node in ast.walk(subject.node):
            if isinstance(node, ast.Call) and (name := self.meant(subject, node)):
                yield node, name

    def meant(self, subject: Subject, call: ast.Call) -> str | None:
        """The pure function that a call can only mean."""
        usual = not call.keywords and not any(isinstance(each, ast.Starred) for each in call.args)
        found = subject.pure_functions(call) if usual else []
        if len(found) == 1 and self._only(found[0]):
            return found[0]
        match call.func:
            case ast.Attribute(value=owner, attr=attr) if usual and attr not in USUAL_METHODS:
                found = subject.purity.methods.get(attr, [])
                own = isinstance(owner, ast.Name) and owner.id in ("self", "cls", *subject.purity.classes)
                if len(found) == 1 and not own and found[0] in subject.purity.pure and self._only(found[0]):
                    return found[0]
        return None

    def _only(self, name: str) -> bool:
        """Whether it is a function of the module, or no other class has a method of its name."""
        owner, _, last = name.rpartition(".")
        if not owner:
            return name not in NODES
        others = [each for each in self.target.purity.methods.get(last, []) if each != name]
        return owner in self.target.purity.classes and not others and not last.startswith("__")

    def unchanged(self, name: str) -> bool:
        """Whether the target changes nothing that a function reads of objects."""
        changed = self.target.changes(*self.target.node.body)
        if changed is None:
            return False
        needed = self.target.purity.reads(name)
        mine = "." in name and self.fixed.get((name, "self"), "self") == "self"
        return not needed or (mine and not touched(changed, needed))

    def above(self, kept: Iterable[str]) -> list[str]:
        """Those that reach one of them, and these."""
        graph = {name: {called for _, called in self.calls(subject)} for name, subject in self.reached.items()}
        return sorted(above(set(kept), graph), key=list(self.reached).index)

    def keep_the_same(self, among: Iterable[str]) -> None:
        """Find the parameters that are one variable of the target in every call."""
        callers = {name: self.reached[name] for name in self.reached if name in set(among)}
        found: dict[tuple[str, str], str] = {}  # "": it is several, or no variable
        before = None
        while found != before:
            before = dict(found)
            for caller in (self.target, *callers.values()):
                for call, called in self.calls(caller):
                    if called in callers:
                        self._meet(found, caller, call, called)
        self.fixed = {key: origin for key, origin in found.items() if origin}

    def _meet(self, found: dict[tuple[str, str], str], caller: Subject, call: ast.Call, called: str) -> None:
        handed, subject = arguments(call, called), self.reached[called]
        for at, parameter in enumerate(given(subject) or []):
            origin = self._origin(found, caller, handed[at]) if at < len(handed) else ""
            origin = "" if parameter in stored(*subject.node.body) else origin
            if origin is not None and found.setdefault((called, parameter), origin) != origin:
                found[called, parameter] = ""

    def _origin(self, found: Mapping[tuple[str, str], str], caller: Subject, argument: ast.expr) -> str | None:
        """The variable of the target that an argument is; None: not known yet."""
        if not isinstance(argument, ast.Name):
            return ""
        if caller is self.target:
            return argument.id if self._steady(argument.id) else ""
        handed_on = argument.id in (given(caller) or [])
        return found.get((caller.definition.qualname, argument.id)) if handed_on else ""

    def _steady(self, name: str) -> bool:
        """Whether a variable of the target is bound once, outside of loops, and what it holds stays as it is."""
        changed = self.target.changes(*self.target.node.body)
        if changed is None or name in changed or name not in self.target.local:
            return False
        bindings = self.target.bindings(name)
        if name in self.target.parameters:
            return not bindings
        return len(bindings) == 1 and any(
            isinstance(each, ast.Assign | ast.AnnAssign) and bindings[0] in ast.walk(each)
            for each in self.target.node.body
        )

    def _clashes(self, subject: Subject) -> bool:
        """Whether a name of the module that it uses is another one in the target."""
        local = subject.local | {each.arg for each in ast.walk(subject.node) if isinstance(each, ast.arg)}
        return bool((names_in(*subject.node.body) - local - stored(subject.node)) & self.target.local)

    def renamed(self, name: str) -> dict[str, str] | None:
        """The variables of the target in place of fixed parameters; None where such a name is another's there."""
        subject = self.reached[name]
        found = {each: self.fixed[name, each] for each in given(subject) or () if (name, each) in self.fixed}
        return None if any(old != new and new in subject.local for old, new in found.items()) else found

    def copied(self, name: str) -> tuple[list[str], list[ast.stmt], str] | None:
        """The parameters that are left, the body and the head of a copy; None where there can be none."""
        subject, renamed = self.reached[name], self.renamed(name)
        parameters = given(subject)
        if parameters is None or renamed is None:
            return None
        node = copy.deepcopy(subject.node)
        originals = {id(new): old for old, new in zip(ast.walk(subject.node), ast.walk(node), strict=True)}
        replacing = Replacing(self, renamed, originals, subject)
        body = [replacing.visit(each) for each in without_docstring(node)] or [ast.Pass()]
        defaults = dict(zip(reversed(parameters), reversed(subject.node.args.defaults), strict=False))
        if any(not isinstance(each, ast.Constant) for each in defaults.values()):
            return None
        left = [each for each in parameters if each not in renamed]
        head = ", ".join(f"{each}={ast.unparse(defaults[each])}" if each in defaults else each for each in left)
        return left, body, head

    def in_target(self) -> dict[int, str]:
        """Changes in the target, by the nodes in whose place they stand."""
        changed: dict[int, str] = {}
        calls = [call for call, called in self.calls(self.target) if called in self.names]
        for call in calls:
            outermost: ast.AST = call
            for each in self.target.around(call):
                if isinstance(each, ast.JoinedStr) or any(each is one for one in calls):
                    outermost = each
            if id(outermost) not in changed:
                new = copy.deepcopy(outermost)
                pairs = dict(zip(map(id, ast.walk(new)), ast.walk(outermost), strict=True))
                changed[id(outermost)] = ast.unparse(Replacing(self, {}, pairs, self.target).visit(new))
        return changed

    def assumes(self, needed: Iterable[str]) -> list[str]:
        """Assumptions about what cannot be seen."""
        methods = any("." in name and not name.rpartition(".")[2].startswith("_") for name in needed)
        return ["pure", *(["not overridden"] if methods else [])]

    def new_call(self, call: ast.Call, called: str) -> None:
        """Change a call to one of the copy."""
        handed, parameters = arguments(call, called), given(self.reached[called]) or []
        left = [each for each, name in zip(handed, parameters, strict=False) if (called, name) not in self.fixed]
        call.func, call.args = ast.Name(self.names[called], ast.Load()), left


class Replacing(ast.NodeTransformer):
    """Calls of copies in place of those of the originals, and variables of the target in place of parameters."""

    def __init__(
        self, below: Below, renamed: Mapping[str, str], originals: Mapping[int, ast.AST], caller: Subject
    ) -> None:
        self.below, self.renamed, self.originals, self.caller = below, renamed, originals, caller

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call of the copy, where there is one."""
        original = self.originals.get(id(node))
        self.generic_visit(node)
        if isinstance(original, ast.Call):
            name = self.below.meant(self.caller, original)
            if name in self.below.names:
                self.below.new_call(node, name)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The variable of the target."""
        node.id = self.renamed.get(node.id, node.id)
        return node


def arguments(call: ast.Call, called: str) -> list[ast.expr]:
    """Arguments that a call hands on: of a method its object first."""
    if "." in called and isinstance(call.func, ast.Attribute):
        return [call.func.value, *call.args]
    return list(call.args)


def given(subject: Subject) -> list[str] | None:
    """Its parameters, its own object among them; None: they are more than a row of names."""
    found = subject.node.args
    if found.vararg or found.kwarg or found.kwonlyargs:
        return None
    names = [each.arg for each in (*found.posonlyargs, *found.args)]
    if subject.definition.is_method and (names[:1] != ["self"] or "self" in bound_by(*subject.node.body)):
        return None
    return names


def unused(name: str, taken: set[str]) -> str:
    """A name like this that is not taken."""
    while name in taken:
        name += "_"
    return name
