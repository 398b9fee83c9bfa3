"""Functions that the target reaches through others are remembered, for as long as the outer call lasts.

Copies of what is between stand inside the target, so that the results are kept for one call. What every call hands on
as it is becomes a variable of the target: it need not be a key. So are methods of other objects remembered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.below import MOST, Below, arguments, given, unused
from bakeoff.optimize.sources.rules.editing_expressions import repeated
from bakeoff.optimize.sources.rules.facts.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import without_docstring
from bakeoff.optimize.sources.rules.guards import plain
from bakeoff.optimize.sources.rules.hoisting import shareable
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    node = subject.node
    if isinstance(node, ast.AsyncFunctionDef) or subject.rebound:
        return
    below = Below(subject)
    below.look()
    kept = {name for name in below.reached if _may_be_kept(below, name)}
    needed = below.above(kept)
    below.keep_the_same(needed)
    inner = any(called in kept for name in needed for _, called in below.calls(below.reached[name]))
    behind = inner or any(name in kept for name, _ in below.fixed) or any(_foreign(below, name) for name in kept)
    if not kept or len(needed) > MOST or not behind:
        return  # what the target calls itself is another rule's
    below.names = {name: subject.fresh(f"{name.rpartition('.')[2].lstrip('_')}_once") for name in needed}
    texts = []
    for name in needed:
        text = _nested(below, name, name in kept)
        if text is None:
            return
        texts.append(text)
    if rest := without_docstring(node):
        text = subject.statements(rest, below.in_target())
        yield Rewrite([(rest, "\n".join([*texts, text]))], assumes=below.assumes(needed))


def _foreign(below: Below, name: str) -> bool:
    return "." in name and (name, "self") not in below.fixed


def _may_be_kept(below: Below, name: str) -> bool:
    """Whether its arguments may be keys, its results may be shared, and it does more than a look-up."""
    subject = below.reached[name]
    if not subject.purity.works(name) or given(subject) is None:
        return False
    if not below.unchanged(name):
        return False
    again = False
    for caller in (below.target, *below.reached.values()):
        for call, called in below.calls(caller):
            if called != name:
                continue
            again = again or caller is not below.target or repeated(caller, call)
            if not shareable(caller, call):
                return False
            handed = zip(given(subject) or [], arguments(call, name), strict=False)
            keys = [each for parameter, each in handed if (name, parameter) not in below.fixed]
            if any(base(caller.kind(each)) in UNHASHABLE for each in keys):
                return False
    return again


def _nested(below: Below, name: str, kept: bool) -> str | None:
    """Its text as a function inside the target, with its results in a dict; None where it cannot be one."""
    subject, found = below.reached[name], below.copied(name)
    if found is None:
        return None
    left, body, head = found
    taken = {each.id for each in ast.walk(subject.node) if isinstance(each, ast.Name)}
    first = _other(below, name) if "self" in left and subject.definition.is_method else ""
    if kept:
        # A dict costs less than `functools.cache` where little is asked for.
        memo, key, result = f"{below.names[name]}_memo", unused("key", taken), unused("result", taken)
        parts = [_key(subject, each) for each in left]
        alive = "self" if parts != left and "self" in left and parts[left.index("self")] != "self" else None
        body = [_Keeping(memo, key, result, alive).visit(each) for each in body]
        lookup = f"{memo}[{key}][0]" if alive else f"{memo}[{key}]"
        whole = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        others = {each: [ast.Name(each, ast.Load())] for each in left if each != "self"}
        condition = plain(subject, others)
        # What is no plain value is kept under a key that never comes again.
        whole = f"{whole} if {condition} else object()" if condition else whole
        first += f"    {key} = {whole}\n    if {key} in {memo}:\n        return {lookup}\n"
    whole = "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in _flat(body))
    text = f"def {below.names[name]}({head}):\n{first}{below.target.indented(whole)}"
    return f"{memo} = {{}}\n{text}" if kept else text


def _other(below: Below, name: str) -> str:
    """Lines that hand on what is no object of the method's own class: it may have another such method."""
    subject, renamed = below.reached[name], below.renamed(name) or {}
    others = ", ".join(renamed.get(each, each) for each in (given(subject) or [])[1:])
    owner, _, method = name.rpartition(".")
    return f"    if type(self) is not {owner}:\n        return self.{method}({others})\n"


def _key(subject: Subject, parameter: str) -> str:
    """Key that stands for a parameter: an object whose class compares what it holds by its identity."""
    if parameter != "self" or not subject.definition.is_method:
        return parameter
    owner = subject.definition.classes[-1]
    methods = {each.name for each in owner.body if isinstance(each, ast.FunctionDef)}
    return "self" if not owner.decorator_list and not owner.bases and "__eq__" not in methods else "id(self)"


class _Keeping(ast.NodeTransformer):
    """Returns rewritten: each value is kept in a dict, where need be with the object whose identity is the key."""

    def __init__(self, memo: str, key: str, result: str, alive: str | None) -> None:
        self.memo, self.key, self.result, self.alive = memo, key, result, alive

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        place = ast.Subscript(ast.Name(self.memo, ast.Load()), ast.Name(self.key, ast.Load()), ast.Store())
        value = node.value or ast.Constant(None)
        if isinstance(value, ast.Constant):
            return [ast.Assign([place], self._with(value)), ast.Return(value)]
        result = ast.Name(self.result, ast.Store())
        loaded = ast.Name(self.result, ast.Load())
        if self.alive is None:
            return [ast.Assign([result, place], value), ast.Return(loaded)]
        return [ast.Assign([result], value), ast.Assign([place], self._with(loaded)), ast.Return(loaded)]

    def _with(self, value: ast.expr) -> ast.expr:
        return value if self.alive is None else ast.Tuple([value, ast.Name(self.alive, ast.Load())], ast.Load())


def _flat(body: list[ast.stmt] | list[ast.stmt | list[ast.stmt]]) -> Iterator[ast.stmt]:
    for each in body:
        yield from each if isinstance(each, list) else [each]


RULE = Rule(
    "remember-below",
    "What functions behind other functions gave for the same arguments is looked up in place of computed again.",
    find,
    gamble=True,
    last=True,
)
