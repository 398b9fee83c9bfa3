"""YAML document: plain data, with the line and column at which everything stands."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path as FilePath
from typing import Any, NoReturn

import yaml

from bakeoff.system.named_files import read_named
from bakeoff.workflow.problems import InvalidWorkflowError, Path, Problem, show_path

MAX_BYTES = 64 * 1024 * 1024
"""Size of the largest file that is read."""

MAX_NODES = 1_000_000
"""Values that a document may have, with every alias counted as often as it is used."""

MAX_DEPTH = 100
"""Most depth of nested lists and mappings."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"
_TEXT_TAGS = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"})
_SCALAR_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))


class Node:
    """A value of the document with its place.

    Attributes:
        items: the nodes under it: a dict by key for a mapping, a list for a list, else None.
        keys: for a mapping, where each key stands.
        size: values under it and itself, aliases expanded.
        height: how deep it nests.
    """

    __slots__ = ("column", "data", "height", "items", "keys", "line", "size")

    def __init__(self, line: int, column: int, data: Any, items: Any = None) -> None:
        self.line, self.column, self.data, self.items = line, column, data, items
        self.keys: dict[Any, tuple[int, int]] = {}
        self.size = self.height = 1


class Document:
    """A YAML document whose root is a mapping.

    Attributes:
        name: the file's name, as people know it.
        path: the file, absolute; None when the text came from elsewhere.
        root: the data with its places.
        problems: what reading noticed and lived with (duplicate keys).
    """

    def __init__(self, name: str, text: str, root: Node, problems: list[Problem], path: FilePath | None) -> None:
        self.name, self.text, self.root, self.problems, self.path = name, text, root, problems, path
        self.data: dict[Any, Any] = root.data

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value at `path`, or of its key; where it is missing, of what should hold it."""
        node = self.root
        place = (node.line, node.column)
        for depth, part in enumerate(path):
            if isinstance(node.items, dict) and part in node.items:
                if key and depth == len(path) - 1:
                    return node.keys[part]
                node = node.items[part]
            elif isinstance(node.items, list) and isinstance(part, int) and part < len(node.items):
                node = node.items[part]
            else:
                break
            place = (node.line, node.column)
        return place

    def position_in(self, path: Path, text: str, offset: int) -> tuple[int, int]:
        """Line and column of a character of the text at `path`; of its beginning where it is folded or escaped."""
        line, column = self.position(path)
        source = self._lines[line - 1][column - 1 :]
        start = text.rfind("\n", 0, offset) + 1
        if source.startswith("|"):
            line += 1 + text.count("\n", 0, offset)
            source, column = self._lines[line - 1] if line <= len(self._lines) else "", 1
        elif start:
            return line, column
        found = source.find(text[start:].partition("\n")[0])
        return (line, column + found + offset - start) if found >= 0 else self.position(path)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def problem(self, severity: str, path: Path, message: str, *, key: bool = False) -> Problem:
        """A problem at `path`, at its key if so asked."""
        return Problem(severity, message, *self.position(path, key=key), show_path(path))


def load_document(path: FilePath) -> Document:
    """Read a workflow file.

    Raises:
        InvalidWorkflowError: it cannot be read, is not UTF-8, is no YAML mapping, or is made to exhaust its reader.
    """
    name = str(path)
    try:
        raw = read_named(path, MAX_BYTES)
    except OSError as failure:
        why = f"cannot read the file: {failure.strerror}"
        if failure.errno == errno.EFBIG:
            why = f"the file is larger than {MAX_BYTES:,} bytes"
        raise InvalidWorkflowError(name, [Problem("error", why)]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = raw.count(b"\n", 0, failure.start) + 1
        column = failure.start - raw.rfind(b"\n", 0, failure.start)
        problem = Problem("error", "the file is not UTF-8 text here; save it as UTF-8", line, column)
        raise InvalidWorkflowError(name, [problem]) from None
    return parse_document(text, name, path.resolve())


def parse_document(text: str, name: str = "workflow", path: FilePath | None = None) -> Document:
    """Read a workflow from text.

    Refuses, as `InvalidWorkflowError`, what is no YAML mapping or is made to exhaust its reader.
    """
    builder = _Builder(name)
    try:
        root = builder.build(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        builder.refuse(_plain_words(failure, text, mark), mark)
    except yaml.reader.ReaderError as failure:
        before = text[: failure.position] if isinstance(failure.position, int) else ""
        builder.refuse_at(
            f"the character {failure.character!r} may not stand in YAML",
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
        )
    if root is None or not isinstance(root.data, dict):
        builder.refuse_at("a workflow file must be a mapping with `workflow:` and `steps:`", 1, 1)
    return Document(name, text, root, builder.problems, path)


def _plain_words(failure: yaml.MarkedYAMLError, text: str, mark: Any) -> str:
    words = " ".join(part for part in (failure.context, failure.problem) if part)
    hint = "; indent with spaces, not tabs" if mark and text[mark.index : mark.index + 1] == "\t" else ""
    return f"this is not YAML: {words}{hint}"


class _Builder:
    """Builds the tree from parser events: PyYAML's own composer recurses, and expands what it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}

    def refuse(self, message: str, mark: Any) -> NoReturn:
        self.refuse_at(message, *((mark.line + 1, mark.column + 1) if mark else (1, 1)))

    def refuse_at(self, message: str, line: int, column: int) -> NoReturn:
        raise InvalidWorkflowError(self.name, [*self.problems, Problem("error", message, line, column)])

    def build(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        opened: list[_Open] = []
        documents = 0
        for event in events:
            node = None
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node = self._scalar(event)
            elif kind is yaml.AliasEvent:
                node = self._alias(event, len(opened))
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                opened.append(self._open(event, len(opened)))
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                top = opened.pop()
                node = top.close(self)
                if top.anchor:
                    self.anchors[top.anchor] = node
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self.refuse("a second document starts here; a workflow file holds one", event.start_mark)
            if node is None:
                continue
            if opened:
                opened[-1].add(self, node)
            else:
                root = node
        return root

    def _open(self, event: Any, depth: int) -> _Open:
        if depth >= MAX_DEPTH:
            self.refuse(f"lists and mappings are nested more than {MAX_DEPTH} deep here", event.start_mark)
        tag = "map" if type(event) is yaml.MappingStartEvent else "seq"
        if event.tag not in {None, "!", f"tag:yaml.org,2002:{tag}"}:
            self.refuse(f"the tag `{event.tag}` is not supported", event.start_mark)
        if event.anchor:
            self.anchors[event.anchor] = None
        mark = event.start_mark
        node = Node(mark.line + 1, mark.column + 1, {} if tag == "map" else [], {} if tag == "map" else [])
        return _Open(node, event.anchor)

    def _scalar(self, event: Any) -> Node:
        mark, value = event.start_mark, event.value
        if event.tag is None and not event.implicit[0]:
            data = value
        else:
            try:
                data = _typed(value, event.tag, event.implicit)
            except (ValueError, yaml.YAMLError):
                shown = value if len(value) <= 40 else value[:37] + "..."
                self.refuse(f"`{shown}` cannot be read as {event.tag or 'a value'}", mark)
        node = Node(mark.line + 1, mark.column + 1, data)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> Node:
        if event.anchor not in self.anchors:
            self.refuse(f"the alias `*{event.anchor}` has no anchor before it", event.start_mark)
        node = self.anchors[event.anchor]
        if node is None:
            self.refuse(f"the alias `*{event.anchor}` stands inside what it stands for", event.start_mark)
        if depth + node.height > MAX_DEPTH:
            self.refuse(f"lists and mappings are nested more than {MAX_DEPTH} deep here", event.start_mark)
        return node


class _Merge:
    """The key `<<`."""


class _Open:
    """A list or mapping that is being read."""

    __slots__ = ("anchor", "key", "merged", "node")

    def __init__(self, node: Node, anchor: str | None) -> None:
        self.node, self.anchor = node, anchor
        self.key: Node | None = None
        self.merged: list[Node] = []

    def add(self, builder: _Builder, child: Node) -> None:
        node = self.node
        node.size += child.size
        if node.size > MAX_NODES:
            message = f"the file stands for more than {MAX_NODES:,} values once its aliases are expanded"
            builder.refuse_at(message, child.line, child.column)
        if child.height >= node.height:
            node.height = child.height + 1
        if type(node.data) is list:
            node.data.append(child.data)
            node.items.append(child)
        elif self.key is None:
            if child.items is not None:
                builder.refuse_at("a key must be plain text, not a list or a mapping", child.line, child.column)
            self.key = child
        else:
            self._pair(builder, self.key, child)
            self.key = None

    def _pair(self, builder: _Builder, key: Node, child: Node) -> None:
        node = self.node
        if key.data is _Merge:
            self.merged.append(child)
            return
        if key.data in node.data:
            first = node.keys[key.data]
            message = f"the key `{key.data}` stands here again (first in line {first[0]}); the last one counts"
            builder.problems.append(Problem("warning", message, key.line, key.column))
        node.data[key.data] = child.data
        node.items[key.data] = child
        node.keys[key.data] = (key.line, key.column)

    def close(self, builder: _Builder) -> Node:
        for child in self.merged:
            sources = child.items if isinstance(child.items, list) else [child]
            for source in sources:
                if not isinstance(source.items, dict):
                    builder.refuse_at("`<<` takes a mapping or a list of mappings", source.line, source.column)
                self._merge(source)
        return self.node

    def _merge(self, source: Node) -> None:
        for key, value in source.items.items():
            if key not in self.node.data:
                self.node.data[key] = value.data
                self.node.items[key] = value
                self.node.keys[key] = source.keys[key]


_resolver: Any = yaml.SafeLoader("")


@lru_cache(maxsize=8192)
def _typed(value: str, tag: str | None, implicit: tuple[bool, bool]) -> Any:
    if tag is None or tag == "!":
        tag = _resolver.resolve(yaml.ScalarNode, value, implicit if tag is None else (False, True))
    if tag in _TEXT_TAGS:
        # A date stays the text it was written as: it has no JSON form.
        return value
    if tag == _MERGE:
        return _Merge
    if tag not in _SCALAR_TAGS:
        raise yaml.YAMLError(tag)
    return _resolver.construct_object(yaml.ScalarNode(tag, value), deep=True)
