"""A definition turned into an edit of its file: what is outside the edited spans stays the same bytes."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bakeoff.optimize.errors import InvalidCandidateError, TargetError
from bakeoff.optimize.source_code.conditions import holds
from bakeoff.optimize.source_code.definitions import Definition, Function, blocks, locate, statement_start
from bakeoff.optimize.source_code.imports import Binding, bindings, import_place, import_text
from bakeoff.optimize.source_code.indentation import dedented, lines_in_strings, reindented
from bakeoff.optimize.source_code.names import bound_by, module_names
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.source_code.signature import check_signature

Edit = tuple[int, int, str]


def apply_definition(source: bytes, qualname: str, text: str) -> bytes:
    """The file with the definition `qualname` replaced by the one in `text`.

    The text is a piece of Python: the function, or the method alone or inside its classes, and perhaps imports,
    helpers and constants beside it. Further definitions that the file has already are replaced in the same manner
    where they differ; new ones, and other statements, are put whole before the target (those that stand behind it in
    the text: after it); new imports go behind the file's first imports. Decorators stay where the text gives none.

    Args:
        source: the file.
        qualname: as in a `Target`.
        text: see above; no fences, no prose.

    Raises:
        InvalidCandidateError: says why the text cannot be applied: it is no Python, does not define the target, has
            another signature, or binds a name that the file uses otherwise.

    Passes on TargetError: the file has no such definition.
    """
    target = locate(source, qualname)
    new = _read(text)
    try:
        edits = [*_Transplant(target, new).edits()]
        file = target.file.edited(edits)
        result = file.encoded()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(file.text, "<candidate>", "exec", dont_inherit=True)
    except UnicodeEncodeError as failure:
        raise InvalidCandidateError(
            f"the file is {target.file.encoding}, which has no {failure.object[failure.start]!r}"
        ) from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        raise InvalidCandidateError(f"the file with the candidate in it is no Python: {failure}") from None
    return result


def _read(text: str) -> PythonFile:
    try:
        file = PythonFile(dedented(text))
        file.text.encode()
        return file
    except (SyntaxError, UnicodeError) as failure:
        raise InvalidCandidateError(f"the candidate is no Python: {failure}") from None


@dataclass
class _Transplant:
    """One text on its way into one file."""

    target: Definition
    new: PythonFile
    inside: set[int] = field(init=False)
    replaced: dict[tuple[int, int], Edit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inside = lines_in_strings(self.new.text)

    def edits(self) -> Iterator[Edit]:
        """Replacements in the file's text, in no order.

        Raises:
            InvalidCandidateError: the text cannot be applied.
        """
        qualname = self.target.qualname
        own = _find(self.new, qualname) or _find(self.new, self.target.name)
        if own is None:
            raise InvalidCandidateError(f"the candidate does not define {qualname}")
        self._replace(self.target, own)
        home = _top_level(self.target.file.tree, self.target.node)
        mine = _top_level(self.new.tree, own.node)
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        wanted: list[Binding] = []
        for statement in self.new.tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                wanted += self._missing(statement, home)
            elif statement is mine:
                if isinstance(mine, ast.ClassDef):
                    yield from self._members(mine, self.target.classes, own.node)
                elif not isinstance(mine, Function):
                    raise InvalidCandidateError(f"{qualname} stands inside another statement of the candidate")
            elif self._is_new(statement):
                (after if statement.lineno > mine.lineno else before).append(statement)
        self._check_names(wanted, before + after)
        file = self.target.file
        ahead: dict[int, str] = {}  # by place: imports before what may need them
        if wanted:
            place, lead = import_place(file)
            ahead[place] = lead + "".join(f"{import_text(each)}\n" for each in wanted)
        if before:
            place = file.line_start(_first_line(file, home))
            ahead[place] = ahead.get(place, "") + "".join(f"{self._text(each)}\n\n\n" for each in before)
        yield from ((place, place, self._ends(text)) for place, text in ahead.items())
        if after:
            assert home.end_lineno is not None
            place = file.line_start(home.end_lineno + 1)
            lead = "" if file.text[:place].endswith(("\n", "\r")) else "\n"
            yield place, place, self._ends(lead + "".join(f"\n\n{self._text(each)}\n" for each in after))
        yield from self.replaced.values()

    def _replace(self, old: Definition, new: Definition) -> None:
        check_signature(old.node, new.node)
        start, end = old.text_span
        if new.node.decorator_list:
            _check_decorators(old.node, new.node)
        else:
            start = old.file.span(old.node)[0]
        text = self._text(new.node, new.indentation, old.indentation)
        self.replaced[start, end] = (start, end, self._ends(text))

    def _members(self, wrapper: ast.ClassDef, classes: tuple[ast.ClassDef, ...], own: Function) -> Iterator[Edit]:
        theirs = classes[0]
        for statement in wrapper.body:
            if statement is own or isinstance(statement, ast.Pass) or _is_text(statement):
                continue
            if len(classes) > 1 and isinstance(statement, ast.ClassDef) and statement.name == classes[1].name:
                yield from self._members(statement, classes[1:], own)
            elif not self._is_new(statement, theirs.body, self.target.classes[: -len(classes) or None]):
                continue
            elif bound_by(statement) & bound_by(*theirs.body):
                raise InvalidCandidateError(
                    f"class {theirs.name} has {_list(bound_by(statement) & bound_by(*theirs.body))} already, otherwise"
                )
            else:
                file, node = self.target.file, self.target.node if len(classes) == 1 else classes[1]
                place = file.line_start(_first_line(file, _member_around(theirs, node)))
                indentation = _indentation(file, theirs.body[0])
                text = self._text(statement, _indentation(self.new, statement), indentation)
                yield place, place, self._ends(f"{indentation}{text}\n\n")

    def _is_new(
        self, statement: ast.stmt, body: list[ast.stmt] | None = None, classes: tuple[ast.ClassDef, ...] | None = None
    ) -> bool:
        """Whether the file lacks a statement of the text; a function that it has, but otherwise, is replaced."""
        if _is_text(statement) or isinstance(statement, ast.Pass) or _is_main(statement):
            return False
        same = ast.dump(statement)
        there = self.target.file.tree.body if body is None else body
        if any(ast.dump(each) == same for each in there):
            return False
        if not isinstance(statement, Function) or statement.name not in bound_by(*there):
            return True
        prefix = () if body is None else self._class_names(body)
        qualname = ".".join([*prefix, statement.name])
        old, new = _find(self.target.file, qualname), _find(self.new, qualname)
        if old is None or new is None or new.node is not statement:
            return True  # which _check_names refuses
        if ast.dump(old.node) != same:
            self._replace(old, new)
        return False

    def _class_names(self, body: list[ast.stmt]) -> tuple[str, ...]:
        names: list[str] = []
        for each in self.target.classes:
            names.append(each.name)
            if each.body is body:
                break
        return tuple(names)

    def _missing(self, statement: ast.Import | ast.ImportFrom, home: ast.stmt) -> Iterator[Binding]:
        # What is imported below the target may be missing when it is defined.
        there = {
            binding
            for each in _live(self.target.file.tree.body)
            if isinstance(each, ast.Import | ast.ImportFrom) and each.lineno < home.lineno
            for binding in bindings(each)
        }
        for binding in bindings(statement):
            if binding in there:
                continue
            if binding.module == "__future__":
                raise InvalidCandidateError(f"the file does not import {binding.attribute} from __future__")
            if binding.name == "*":
                raise InvalidCandidateError(f"the candidate imports * from {binding.module}: name what it needs")
            yield binding

    def _check_names(self, wanted: Iterable[Binding], statements: list[ast.stmt]) -> None:
        bound, read = module_names(self.target.file.text)
        import_only = {
            (binding.name, binding)
            for each in self.target.file.tree.body
            if isinstance(each, ast.Import | ast.ImportFrom)
            for binding in bindings(each)
        }
        taken: set[str] = set()
        for binding in wanted:
            # Imported too late, or for type checkers alone: the same import once more does no harm.
            if (binding.name, binding) not in import_only:
                taken |= {binding.name} & self._clashing(bound, read, binding)
        taken |= bound_by(*statements) & (bound | read)
        if taken:
            raise InvalidCandidateError(f"the candidate defines {_list(taken)}, which the file uses otherwise")

    def _clashing(self, bound: set[str], read: set[str], binding: Binding) -> set[str]:
        never_live = bound - bound_by(*_live(self.target.file.tree.body))
        if binding.name in never_live:  # bound under TYPE_CHECKING alone
            return set()
        if binding.path and binding.name in bound:  # `import a.b` beside `import a`
            roots = {
                each.module.partition(".")[0]
                for statement in self.target.file.tree.body
                if isinstance(statement, ast.Import)
                for each in bindings(statement)
                if each.path and each.name == binding.name
            }
            if roots == {binding.name}:
                return set()
        return bound | read

    def _text(self, statement: ast.stmt, old: str = "", new: str = "") -> str:
        """A statement of the text, moved from one indentation to another."""
        start = statement_start(self.new, statement)
        text = self.new.text[start : self.new.span(statement)[1]]
        return reindented(text, old, new, self.inside, self.new.line_of(start))

    def _ends(self, text: str) -> str:
        newline = self.target.file.newline
        return text if newline == "\n" else text.replace("\n", newline)


def _find(file: PythonFile, qualname: str) -> Definition | None:
    try:
        return locate(file, qualname)
    except TargetError:
        return None


def _check_decorators(old: Function, new: Function) -> None:
    left = iter([ast.dump(each) for each in new.decorator_list])
    for decorator in old.decorator_list:
        if ast.dump(decorator) not in left:
            raise InvalidCandidateError(f"the candidate drops the decorator @{ast.unparse(decorator)}, or moves it")


def _top_level(tree: ast.Module, node: ast.stmt) -> ast.stmt:
    return next(each for each in tree.body if any(inner is node for inner in ast.walk(each)))


def _member_around(owner: ast.ClassDef, node: ast.stmt) -> ast.stmt:
    return next(each for each in owner.body if any(inner is node for inner in ast.walk(each)))


def _first_line(file: PythonFile, statement: ast.stmt) -> int:
    """The first line of a statement with its decorators and the comments right above it."""
    line = above = file.line_of(statement_start(file, statement))
    while above > 1 and file.lines[above - 2].lstrip(" \t\f").startswith("#"):
        above -= 1
    return above if above > 1 else line  # what stands at the very top belongs to the file


def _indentation(file: PythonFile, statement: ast.stmt) -> str:
    start = file.line_start(statement.lineno)
    return file.text[start : file.offset(statement.lineno, statement.col_offset)]


def _live(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those in branches, but for branches that never run."""
    for statement in body:
        if isinstance(statement, ast.If) and holds(statement.test) is False:
            yield from _live(statement.orelse)
            continue
        yield statement
        if not isinstance(statement, Function | ast.ClassDef):
            for part in blocks(statement):
                yield from _live(part)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
