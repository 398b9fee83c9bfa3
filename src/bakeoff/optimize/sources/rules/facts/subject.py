"""The function that rules look at: its text and tree, its names, and what can be known of its values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bakeoff.optimize.source_code.definitions import Definition, Function, blocks
from bakeoff.optimize.source_code.fingerprint import SEES_FRAMES, SEES_ITS_LOCALS
from bakeoff.optimize.source_code.indentation import lines_in_strings, reindented
from bakeoff.optimize.source_code.names import bound_by, module_names, table_of, tables
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.sources.rules.facts.aliases import Aliases
from bakeoff.optimize.sources.rules.facts.kinds import annotated, base, kind_of
from bakeoff.optimize.sources.rules.facts.purity import Purity, purity_of, touched
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, bound_inside, calls, has, names_in, same, stored

UNCHANGEABLE = {"int", "float", "bool", "complex", "str", "bytes"}


@dataclass
class Subject:
    """One function as rules see it.

    Attributes:
        definition: where it stands.
        text: its own text, not indented.
        types: types that were seen for its parameters.
        believes: whether these are heeded when kinds are told, and annotations.
    """

    definition: Definition
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    believes: bool = True

    @cached_property
    def text(self) -> str:
        """Its text, not indented, with plain newlines and one at the end."""
        place = self.definition
        whole = PythonFile(place.file.text.replace("\r\n", "\n").replace("\r", "\n"))
        inside = lines_in_strings(whole.text)
        text = place.text.replace("\r\n", "\n").replace("\r", "\n")
        return reindented(text, place.indentation, "", inside, place.line) + "\n"

    @cached_property
    def file(self) -> PythonFile:
        """The same with offsets."""
        return PythonFile(self.text)

    @cached_property
    def tree(self) -> ast.Module:
        """A module that holds the function alone."""
        return self.file.tree

    @cached_property
    def node(self) -> Function:
        """The function."""
        found = self.tree.body[0]
        assert isinstance(found, Function)
        return found

    @cached_property
    def opaque(self) -> bool:
        """Whether it looks at its own frame, so that nothing in it can be changed unseen."""
        used = {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}
        used |= {node.attr for node in ast.walk(self.node) if isinstance(node, ast.Attribute)}
        return bool(used & (SEES_ITS_LOCALS | SEES_FRAMES | {"super"}))

    @cached_property
    def _names(self) -> tuple[set[str], set[str]]:
        return module_names(self.definition.file.text)

    @cached_property
    def shared(self) -> set[str]:
        """Names of the function that others see, too: of inner functions, `global` and `nonlocal` ones."""
        return self._seen_in_others()

    @cached_property
    def rebound(self) -> set[str]:
        """Those of them that others may bind or change: what a lambda reads stays as it is."""
        return self._seen_in_others("lambda")

    def _seen_in_others(self, *besides: str) -> set[str]:
        found: set[str] = set()
        comprehensions = ("listcomp", "setcomp", "dictcomp", "genexpr")
        for table in tables(table_of(self.text)):
            if table.get_type() != "function" or table.get_name() in (*comprehensions, *besides):
                continue
            for symbol in table.get_symbols():
                if symbol.is_declared_global() or symbol.is_nonlocal() or symbol.is_free():
                    found.add(symbol.get_name())
        return found

    @cached_property
    def local(self) -> set[str]:
        """Names that it binds itself, parameters included."""
        return bound_by(*self.node.body) | set(self.parameters)

    @cached_property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        arguments = self.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return [each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each]

    def builtin(self, *names: str) -> bool:
        """Whether these names mean Python's own functions here."""
        bound = self._names[0] | self.local
        return all(hasattr(builtins, name) and name not in bound for name in names)

    def taken(self, function: ast.FunctionDef) -> bool:
        """Whether the name of a function means something else here."""
        name = function.name
        mine = [each for each in self.definition.file.tree.body if isinstance(each, Function) and each.name == name]
        there = bool(mine) and all(same(each, function) for each in mine)
        return name in self.local or (name in self._names[0] | self._names[1] and not there)

    def imported(self, module: str, attribute: str) -> tuple[str, str]:
        """An import, and the text to use what it gives, where the plain name is taken."""
        taken = self._names[0] | self._names[1] | self.local
        if attribute not in taken or self._imports(module, attribute):
            return f"from {module} import {attribute}", attribute
        return f"from {module} import {attribute} as _{attribute}", f"_{attribute}"

    def _imports(self, module: str, attribute: str) -> bool:
        return attribute not in self.local and any(
            isinstance(each, ast.ImportFrom)
            and each.module == module
            and any(alias.name == attribute and not alias.asname for alias in each.names)
            for each in self.definition.file.tree.body
        )

    def fresh(self, name: str) -> str:
        """A name that nothing here uses, like `name`."""
        taken = self._names[0] | self._names[1] | {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        taken |= self.local | set(dir(builtins))
        number, found = 1, name
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        return found

    def code(self, node: ast.expr) -> str:
        """The text of an expression, on one line if it was written on several."""
        start, end = self.file.span(node)
        text = self.text[start:end]
        if "\n" not in text:
            try:
                if ast.dump(ast.parse(text, mode="eval").body) == ast.dump(node):
                    return text
            except SyntaxError:
                pass
        return ast.unparse(node)

    def part(self, node: ast.expr) -> str:
        """The text of an expression such that it can stand in any other."""
        simple = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant | ast.List | ast.Dict | ast.Set
        text = self.code(node)
        negative = isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
        if isinstance(node, simple | ast.ListComp | ast.SetComp | ast.DictComp | ast.JoinedStr) and not negative:
            return text
        return text if text.isalnum() else f"({text})"

    def statements(self, nodes: Sequence[ast.stmt], changed: Mapping[int, str] | None = None) -> str:
        """The text of statements that follow each other, with expressions and statements in them replaced by id.

        A new text may have several lines; an empty one takes away a statement, which must not be alone in its block.
        """
        start, end = self.file.span(nodes[0])[0], self.file.span(nodes[-1])[1]
        text = self.text[start:end]
        edits = [
            self._edit(node, changed[id(node)])
            for top in nodes
            for node in ast.walk(top)
            if changed and id(node) in changed and isinstance(node, ast.expr | ast.stmt)
        ]
        edits = [each for each in edits if not any(_within(each, other) for other in edits)]
        for one, two, new in sorted(edits, reverse=True):
            text = text[: one - start] + new + text[two - start :]
        line = self.file.lines[self.file.line_of(start) - 1]
        indentation = line[: len(line) - len(line.lstrip(" \t\f"))]
        inside = lines_in_strings(f"if 1:\n{indentation or ' '}{text}\n")
        return reindented(text, indentation, "", {each - 1 for each in inside})

    def _edit(self, node: ast.expr | ast.stmt, new: str) -> tuple[int, int, str]:
        start, end = self.file.span(node)
        if isinstance(node, ast.stmt):
            begin = self.file.line_start(node.lineno)
            alone = not self.text[begin:start].strip(" \t\f")
            if not new and alone and not self.text[end:].partition("\n")[0].strip():
                return begin - 1, end, ""
            new = new.replace("\n", "\n" + self.text[begin:start]) if alone else new.replace("\n", "; ")
        return start, end, new or ("pass" if isinstance(node, ast.stmt) else "")

    def indented(self, text: str, by: str = "    ") -> str:
        """A text of several lines, moved to the right."""
        inside = lines_in_strings(f"def f():\n {text}\n")
        return by + reindented(text, "", by, {each - 1 for each in inside})

    @property
    def home(self) -> str:
        """The class around it, by its qualified name; empty for a function of the module."""
        return self.definition.qualname.rpartition(".")[0]

    @cached_property
    def purity(self) -> Purity:
        """Purity of the functions of its file, as far as it is known."""
        return purity_of(self.definition.file.text)

    def pure_functions(self, call: ast.Call) -> list[str]:
        """Functions of the file that a call may mean, where all of them change nothing; of methods its own object's."""
        match call.func:
            case ast.Name(id=name) if name not in self.local:
                pass
            case ast.Attribute(value=ast.Name(id=root)) if self.home and self.parameters[:1] == [root] == ["self"]:
                pass
            case _:
                return []
        found = self.purity.called(call, self.home)
        return found if all(each in self.purity.pure for each in found) else []

    def changes(self, *nodes: ast.AST) -> set[str] | None:
        """Names whose contents a piece of it changes; None: it may do anything."""
        return self.purity.changes(nodes, self.node, self.home)

    @cached_property
    def _aliases(self) -> Aliases:
        arguments = [each for each in ast.walk(self.node.args) if isinstance(each, ast.arg) and each.arg != "self"]
        given = [each.arg for each in arguments if annotated(each.annotation) not in UNCHANGEABLE]
        return Aliases(self.node, given, self.calm_call, lambda node: self.sure(node) in UNCHANGEABLE)

    def calm_call(self, call: ast.Call) -> bool:
        """Whether what is called changes nothing."""
        return self.purity.calm_call(call, self.home, self.local | self._stored)

    @cached_property
    def _stored(self) -> set[str]:
        return stored(self.node)

    def changed(self, name: str, *nodes: ast.AST) -> bool:
        """Whether a piece may bind a name again, or change what it holds: by any name, or by handing it on."""
        if name in stored(*nodes) or has(nodes, *SUSPENDS) or self._aliases.changed([name], *nodes):
            return True
        unknown = [each for node in nodes for each in calls(node) if not self.calm_call(each)]
        handed = [part for call in unknown for each in (*call.args, *call.keywords) for part in _parts(each)]
        return any(isinstance(each, ast.Name) and each.id == name for each in handed)

    def alone(self, name: str) -> bool:
        """Whether nothing else holds what a local of its own holds, at any time."""
        return name not in self.parameters and name not in self.shared and self._aliases.alone(name)

    def leaves(self, piece: ast.AST, needed: set[str]) -> bool:
        """Whether a piece surely changes nothing of what is needed (see `needs`), nor in it, by whatever name."""
        changed, own = self.changes(piece), self.purity.own(self.node)
        if changed is None or touched(changed, needed):
            return False
        names = [each for each in needed if not each.startswith("self.")]
        foreign = any(each not in own and not each.startswith("self.") for each in changed)
        return not foreign and not self._aliases.changed(names, piece, deep=True)

    def needs(self, node: ast.expr) -> set[str]:
        """Dependencies of an expression: names, and `self.x` of its own object."""
        bound = bound_inside(node) | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and id(each) not in called}
        return (names | self.purity.reads_of([node], self.home)) - bound - {"self"}

    def kind(self, node: ast.expr) -> str | None:
        """Kind that an expression certainly gives: `int`, `str`, `list[int]`, ...; None: unknown."""
        return kind_of(node, self)

    def certain(self, node: ast.expr) -> str | None:
        """The same without types that were seen or are said: other callers give others, `True` where `int` is said."""
        believed, self.believes = self.believes, False
        try:
            return kind_of(node, self)
        finally:
            self.believes = believed

    def sure(self, node: ast.expr) -> str | None:
        """The certain kind without what is in it: `list` of `list[int]`."""
        return base(self.certain(node))

    @cached_property
    def loads(self) -> dict[str, list[ast.Name]]:
        """Where each name is read."""
        found: dict[str, list[ast.Name]] = {}
        for node in ast.walk(self.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    def bindings(self, name: str) -> list[ast.Name]:
        """Where a name is bound or deleted."""
        every = (each for each in ast.walk(self.node) if isinstance(each, ast.Name) and each.id == name)
        return [each for each in every if not isinstance(each.ctx, ast.Load)]

    @cached_property
    def parents(self) -> dict[int, ast.AST]:
        """The node around each node, by id."""
        return {id(child): node for node in ast.walk(self.node) for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        while id(node) in self.parents:
            node = self.parents[id(node)]
            yield node

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every block of its own frame, innermost first."""
        yield from _blocks(self.node.body)

    def read_outside(self, names: Iterable[str], nodes: Sequence[ast.AST]) -> bool:
        """Whether any of the names is read elsewhere than in `nodes`, before something else binds it there."""
        inside = {id(each) for node in nodes for each in ast.walk(node)}
        for name in names:
            if name in self.shared:
                return True
            for load in self.loads.get(name, []):
                if id(load) not in inside and not self._rebound(load, nodes):
                    return True
        return False

    def caught(self, loop: ast.AST, name: str) -> bool:
        """Whether `name` is read after an error broke the loop off: it must hold then what it held before."""
        previous: ast.AST = loop
        for node in self.around(loop):
            loud = isinstance(node, ast.With) and not any("suppress" in ast.unparse(each) for each in node.items)
            if isinstance(node, ast.Try | ast.TryStar | ast.With) and not loud and previous in node.body:
                inside = {id(each) for statement in node.body for each in ast.walk(statement)}
                if any(id(load) not in inside for load in self.loads.get(name, [])):
                    return True
            previous = node
        return False

    def _set_before(self, load: ast.Name, node: ast.AST, statement: ast.stmt, nodes: Sequence[ast.AST]) -> bool:
        """Whether an assignment in the block of a statement binds the name before it, with none of `nodes` between."""
        for block in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and any(each is statement for each in block):
                ahead = block[: next(at for at, each in enumerate(block) if each is statement)]
                last = max((each.lineno for each in ahead if _sets(each, load.id)), default=0)
                between = any(last <= getattr(each, "lineno", 0) <= load.lineno for each in nodes)
                return last > 0 and not between
        return False

    def _rebound(self, load: ast.Name, nodes: Sequence[ast.AST]) -> bool:
        """Whether a loop or comprehension that binds the name itself stands around a read of it."""
        previous: ast.AST = load
        for node in self.around(load):
            if any(each is node for each in nodes):
                return False
            if isinstance(previous, ast.stmt) and self._set_before(load, node, previous, nodes):
                return True
            looped = isinstance(node, ast.For) and previous in node.body
            if looped and load.id in stored(node.target):  # type: ignore[attr-defined]
                return True
            comprehension = isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp)
            if comprehension and any(load.id in names_in(each.target) for each in node.generators):  # type: ignore[attr-defined]
                return True
            previous = node
        return False


def _within(edit: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Whether an edit is part of what another one replaces."""
    return other[0] <= edit[0] and edit[1] <= other[1] and other[:2] != edit[:2]


def _parts(handed: ast.AST) -> Iterator[ast.AST]:
    """What a call is handed: a value, or those in a list that is written out."""
    match handed:
        case ast.keyword(value=value) | ast.Starred(value=value):
            yield from _parts(value)
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.Dict(values=elts):
            for each in elts:
                yield from _parts(each)
        case _:
            yield handed


def _sets(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]):
            return name in stored(target)
    return False


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    for statement in body:
        if not isinstance(statement, Function | ast.ClassDef):
            for block in blocks(statement):
                yield from _blocks(block)
    yield body
