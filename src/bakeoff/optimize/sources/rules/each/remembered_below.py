"""Functions that the target reaches through others are remembered, for as long as the outer call lasts.

Copies of what is between stand inside the target, so that the results are kept for one call. What every call hands on
as it is becomes a variable of the target: it need not be a key.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bakeoff.optimize.names import bound_by
from bakeoff.optimize.sources.rules.each.steady_call import shareable
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import names_in, stored
from bakeoff.optimize.sources.rules.purity import shows_type, touched
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject
from bakeoff.optimize.target import locate

MOST = 12
"""Functions that are copied into one."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    node = subject.node
    if isinstance(node, ast.AsyncFunctionDef) or subject.shared:
        return
    below = _Below(subject)
    below.look()
    kept = {name for name in below.reached if below.may_be_kept(name)}
    needed = below.above(kept)
    below.keep_the_same(needed)
    inner = any(called in kept for name in needed for _, called in below.calls(below.reached[name]))
    if not kept or len(needed) > MOST or not (inner or any(name in kept for name, _ in below.fixed)):
        return  # what the target calls itself is another rule's
    below.names = {name: subject.fresh(f"{name.rpartition('.')[2].lstrip('_')}_once") for name in needed}
    texts = []
    for name in needed:
        text = below.nested(name, name in kept)
        if text is None:
            return
        texts.append(text)
    body = node.body
    doc = ast.get_docstring(node, clean=False) is not None
    rest = body[1:] if doc else body
    if not rest:
        return
    text = subject.statements(rest, below.in_target())
    yield rewrite((rest, "\n".join([*texts, text])), assumes=below.assumes(needed))


@dataclass(eq=False)
class _Below:
    """What a target reaches."""

    target: Subject
    reached: dict[str, Subject] = field(default_factory=dict)
    direct: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    fixed: dict[tuple[str, str], str] = field(default_factory=dict)

    def look(self) -> None:
        """Find all pure plain functions that it reaches through each other."""
        self.direct = {name for _, name in self.calls(self.target)}
        waiting = sorted(self.direct)
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
        """Calls of pure functions of the file, and of methods of the same object."""
        for node in ast.walk(subject.node):
            if isinstance(node, ast.Call):
                found = subject.pure_functions(node)
                usual = not node.keywords and not any(isinstance(each, ast.Starred) for each in node.args)
                if len(found) == 1 and usual and _own_class(self.target, found[0]):
                    yield node, found[0]

    def may_be_kept(self, name: str) -> bool:
        """Whether its arguments may be keys, its results may be shared, and it does more than a look-up."""
        subject = self.reached[name]
        work = (ast.Call, ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        if not any(isinstance(each, work) for each in ast.walk(subject.node)) or _given(subject) is None:
            return False
        needed = self.target.purity.reads(name)
        if needed and touched(self.target.changes(*self.target.node.body), needed):
            return False
        again = False
        for caller in (self.target, *self.reached.values()):
            for call, called in self.calls(caller):
                if called != name:
                    continue
                again = again or caller is not self.target or _repeated(caller, call)
                if not shareable(caller, call):
                    return False
                given = zip(_given(subject) or [], call.args, strict=False)
                keys = [each for parameter, each in given if (name, parameter) not in self.fixed]
                if any(base(caller.kind(each)) in UNHASHABLE for each in keys):
                    return False
        free = [each for each in _given(subject) or [] if (name, each) not in self.fixed]
        return again and not any(self._container(subject, each) for each in free)

    def above(self, kept: set[str]) -> list[str]:
        """Those that reach one of them, and these."""
        found = set(kept)
        while more := {
            name
            for name, subject in self.reached.items()
            if name not in found and any(called in found for _, called in self.calls(subject))
        }:
            found |= more
        return sorted(found, key=list(self.reached).index)

    def keep_the_same(self, among: Iterable[str]) -> None:
        """Find the parameters that are one variable of the target in every call."""
        names = set(among)
        self.fixed = {}
        possible: dict[tuple[str, str], str] = {}
        bad: set[tuple[str, str]] = set()
        for _ in range(len(names) + 2):
            before = dict(possible)
            for caller in (self.target, *(self.reached[name] for name in self.reached if name in names)):
                for call, called in self.calls(caller):
                    if called in names:
                        self._compare(caller, call, called, possible, bad)
            if possible == before:
                break
        # A parameter that was one variable at first may have proved to be several.
        self.fixed = {key: origin for key, origin in possible.items() if key not in bad}
        while wrong := {key for key in self.fixed if not self._holds(key, names)}:
            for key in wrong:
                del self.fixed[key]

    def _compare(
        self,
        caller: Subject,
        call: ast.Call,
        called: str,
        possible: dict[tuple[str, str], str],
        bad: set[tuple[str, str]],
    ) -> None:
        parameters = _given(self.reached[called]) or []
        for at, parameter in enumerate(parameters):
            key = (called, parameter)
            argument = call.args[at] if at < len(call.args) else None
            origin = self._origin(caller, argument, possible) if argument is not None else None
            if origin is None and isinstance(argument, ast.Name) and caller is not self.target:
                continue  # not known yet
            if origin is None or possible.setdefault(key, origin) != origin:
                bad.add(key)

    def _holds(self, key: tuple[str, str], names: set[str]) -> bool:
        called, parameter = key
        at = (_given(self.reached[called]) or []).index(parameter)
        if parameter in stored(*self.reached[called].node.body):
            return False
        for caller in (self.target, *(self.reached[name] for name in self.reached if name in names)):
            for call, name in self.calls(caller):
                if name == called:
                    argument = call.args[at] if at < len(call.args) else None
                    if argument is None or self._origin(caller, argument, self.fixed) != self.fixed[key]:
                        return False
        return True

    def _origin(self, caller: Subject, argument: ast.expr, known: Mapping[tuple[str, str], str]) -> str | None:
        if not isinstance(argument, ast.Name):
            return None
        if caller is not self.target:
            return known.get((caller.definition.qualname, argument.id))
        return argument.id if self._steady(caller, argument) else None

    def _steady(self, caller: Subject, argument: ast.expr) -> bool:
        """Whether a variable of the target is bound once, outside of loops, and what it holds stays as it is."""
        if not isinstance(argument, ast.Name) or caller is not self.target:
            return False
        name = argument.id
        changed = self.target.changes(*self.target.node.body)
        if changed is None or name in changed or name not in self.target.local:
            return False
        bindings = [
            each for each in ast.walk(self.target.node)
            if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
        ]  # fmt: skip
        if name in self.target.parameters:
            return not bindings
        return len(bindings) == 1 and any(
            isinstance(each, ast.Assign | ast.AnnAssign) and bindings[0] in ast.walk(each)
            for each in self.target.node.body
        )

    def _container(self, subject: Subject, parameter: str) -> bool:
        """Whether a parameter is used as what cannot be a key: a dict, or a list of such things."""
        if base(subject.kind(ast.Name(parameter, ast.Load()))) in UNHASHABLE:
            return True
        return subject.purity.is_container(subject.definition.qualname, parameter)

    def _clashes(self, subject: Subject) -> bool:
        """Whether a name of the module that it uses is another one in the target."""
        local = subject.local | {each.arg for each in ast.walk(subject.node) if isinstance(each, ast.arg)}
        return bool((names_in(*subject.node.body) - local - stored(subject.node)) & self.target.local)

    def nested(self, name: str, kept: bool) -> str | None:
        """Its text as a function inside the target, with its results in a dict; None where it cannot be one."""
        subject, given = self.reached[name], _given(self.reached[name])
        renamed = {
            parameter: self.fixed[name, parameter] for parameter in given or () if (name, parameter) in self.fixed
        }
        if given is None or any(old != new and new in subject.local for old, new in renamed.items()):
            return None
        node = copy.deepcopy(subject.node)
        replacing = _Replacing(self, renamed, {id(new): old for old, new in _pairs(subject, node)})
        body = [replacing.visit(each) for each in node.body]
        if ast.get_docstring(subject.node, clean=False) is not None:
            body = body[1:] or [ast.Pass()]
        defaults = dict(zip(reversed(given), reversed(subject.node.args.defaults), strict=False))
        if any(not isinstance(each, ast.Constant) for each in defaults.values()):
            return None
        left = [each for each in given if each not in renamed]
        head = ", ".join(f"{each}={ast.unparse(defaults[each])}" if each in defaults else each for each in left)
        taken = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        first = ""
        if kept:
            # A dict costs less than `functools.cache` where little is asked for.
            memo, key, result = f"{self.names[name]}_memo", _unused("key", taken), _unused("result", taken)
            plain = not any(shows_type(subject.node, each) for each in left)
            if len(left) == 1 and plain and left[0] not in stored(*body):
                key = left[0]
            body = [_Keeping(memo, key, result).visit(each) for each in body]
            first = f"    if {key} in {memo}:\n        return {memo}[{key}]\n"
            parts = [*left, *(f"type({each})" for each in left if shows_type(subject.node, each))]
            if key not in left:
                first = f"    {key} = ({', '.join(parts)})\n{first}"
        whole = "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in _flat(body))
        text = f"def {self.names[name]}({head}):\n{first}{self.target.indented(whole)}"
        return f"{memo} = {{}}\n{text}" if kept else text

    def in_target(self) -> dict[int, str]:
        """What changes in the target, by the nodes in whose place it stands."""
        changed: dict[int, str] = {}
        for call, called in self.calls(self.target):
            if called not in self.names:
                continue
            outermost: ast.AST = call
            for each in self.target.around(call):
                found = isinstance(each, ast.Call) and any(
                    each is one for one, name in self.calls(self.target) if name in self.names
                )
                if found or isinstance(each, ast.JoinedStr):
                    outermost = each
            if id(outermost) not in changed:
                new = copy.deepcopy(outermost)
                pairs = dict(zip(map(id, ast.walk(new)), ast.walk(outermost), strict=True))
                changed[id(outermost)] = ast.unparse(_Replacing(self, {}, pairs, self.target).visit(new))
        return changed

    def assumes(self, needed: list[str]) -> list[str]:
        """What cannot be seen."""
        methods = any("." in name and not name.rpartition(".")[2].startswith("_") for name in needed)
        return ["pure", "hashable", *(["not overridden"] if methods else [])]

    def new_call(self, call: ast.Call, called: str) -> None:
        """Change a call to one of the copy."""
        given = _given(self.reached[called]) or []
        left = [each for each, name in zip(call.args, given, strict=False) if (called, name) not in self.fixed]
        call.func, call.args = ast.Name(self.names[called], ast.Load()), left


class _Replacing(ast.NodeTransformer):
    """Calls of copies in place of those of the originals, and variables of the target in place of parameters."""

    def __init__(
        self, below: _Below, renamed: Mapping[str, str], originals: Mapping[int, ast.AST], caller: Subject | None = None
    ) -> None:
        self.below, self.renamed, self.originals = below, renamed, originals
        self.caller = caller

    def visit_Call(self, node: ast.Call) -> ast.AST:
        original = self.originals.get(id(node))
        self.generic_visit(node)
        subject = self.caller or self.below.target
        if isinstance(original, ast.Call):
            found = subject.purity.called(original, subject.home)
            usual = not original.keywords and not any(isinstance(each, ast.Starred) for each in original.args)
            own = not isinstance(original.func, ast.Attribute) or ast.unparse(original.func.value) == "self"
            if len(found) == 1 and found[0] in self.below.names and usual and own:
                self.below.new_call(node, found[0])
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.renamed.get(node.id, node.id)
        return node


class _Keeping(ast.NodeTransformer):
    """What is returned is kept in a dict."""

    def __init__(self, memo: str, key: str, result: str) -> None:
        self.memo, self.key, self.result = memo, key, result

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        place = ast.Subscript(ast.Name(self.memo, ast.Load()), ast.Name(self.key, ast.Load()), ast.Store())
        value = node.value or ast.Constant(None)
        if isinstance(value, ast.Constant):
            return [ast.Assign([place], value), ast.Return(value)]
        result = ast.Name(self.result, ast.Store())
        return [ast.Assign([result, place], value), ast.Return(ast.Name(self.result, ast.Load()))]


def _flat(body: list[ast.stmt | list[ast.stmt]]) -> Iterator[ast.stmt]:
    for each in body:
        yield from each if isinstance(each, list) else [each]


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _pairs(subject: Subject, new: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    yield from zip(ast.walk(subject.node), ast.walk(new), strict=True)


def _own_class(target: Subject, name: str) -> bool:
    owner = name.rpartition(".")[0]
    if not owner:
        return True
    last = name.rpartition(".")[2]
    others = [each for each in target.purity.methods.get(last, []) if each != name]
    return owner == target.home and not others and not last.startswith("__")


def _given(subject: Subject) -> list[str] | None:
    """Its parameters, its own object left out; None: they are more than a row of names."""
    arguments = subject.node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return None
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if subject.definition.is_method:
        return names[1:] if names[:1] == ["self"] and "self" not in bound_by(*subject.node.body) else None
    return names


def _repeated(subject: Subject, call: ast.AST) -> bool:
    loops = (ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    previous = call
    for each in subject.around(call):
        if isinstance(each, loops) or (isinstance(each, ast.For) and previous is not each.iter):
            return True
        previous = each
    return False


RULE = Rule(
    "remember-below",
    "What functions behind other functions gave for the same arguments is looked up in place of computed again.",
    find,
    gamble=True,
    last=True,
)
