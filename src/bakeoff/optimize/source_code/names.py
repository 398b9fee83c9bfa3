"""Names that a module binds and reads, as Python itself resolves them."""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def bound_by(*statements: ast.stmt) -> set[str]:
    """Names that statements bind in the scope in which they stand."""
    return {name for statement in statements for name in _bound(statement)}


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            parts: list[ast.expr] = [*node.decorator_list]
            if isinstance(node, ast.ClassDef):
                parts += [*node.bases, *(keyword.value for keyword in node.keywords)]
            else:
                parts += [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            for part in parts:
                yield from _bound(part)
            return
        case ast.Lambda():
            return
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            # Its own targets stay inside; a walrus binds outside.
            yield from (each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            return
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def table_of(text: str) -> symtable.SymbolTable:
    """Python's own symbol table of a module.

    Raises:
        SyntaxError: it has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return symtable.symtable(text, "<module>", "exec")
    except (ValueError, RecursionError, MemoryError) as failure:
        raise SyntaxError(str(failure) or type(failure).__name__) from None


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """The table and all inside it."""
    yield table
    for child in table.get_children():
        yield from tables(child)


def module_names(text: str) -> tuple[set[str], set[str]]:
    """Names that a module binds at its top level, also by `global`; names that any of its code looks up there.

    Passes on SyntaxError.
    """
    top = table_of(text)
    bound: set[str] = set()
    read: set[str] = set()
    for table in tables(top):
        for symbol in table.get_symbols():
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if binds and (table is top or symbol.is_declared_global()):
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                read.add(symbol.get_name())
    return bound, read
