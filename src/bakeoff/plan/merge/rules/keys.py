"""JSON, TOML and YAML by key: what they changed is written into our text, of which nothing else changes by a byte."""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules.guards import check_words
from bakeoff.plan.merge.rules.node import UndecidedError
from bakeoff.plan.merge.rules.trees import merge_tree

Path = tuple[Any, ...]
_NOTHING: Any = object()


class _CannotTellError(Exception):
    """The rule does not apply."""


def merge_data(form: str, texts: Texts) -> bytes | None:
    """The merged file of the form `json`, `toml` or `yaml`: by its lines, where that says the same, else by its keys.

    None where neither can tell, or where a word of either side, as in a comment, would be lost.
    """
    wanted = _wanted(form, texts)
    if wanted is None:
        return None
    lined, keyed = merge_tree("lines", texts), merge_keys(form, texts)
    try:
        if lined is not None and _same(_READERS[form](lined.content.decode()), wanted):
            return lined.content
        if keyed is not None:
            check_words([text.decode() for text in (texts.base, texts.ours, texts.theirs)], keyed.decode())
    except (_CannotTellError, UndecidedError, ValueError, RecursionError):
        return None
    return keyed


def merge_keys(form: str, texts: Texts) -> bytes | None:
    """The merged file of the form `json`, `toml` or `yaml`.

    None where both changed the same key, where it is no mapping, or where our text could not be written back as it is.
    """
    read, edit = _READERS[form], _EDITORS[form]
    try:
        ours, theirs = texts.ours.decode(), texts.theirs.decode()
        wanted, changes = _by_key(form, texts)
        merged = edit(ours, theirs, changes)
        return merged.encode() if _same(read(merged), wanted) else None
    except (_CannotTellError, ValueError, RecursionError):
        return None


def _wanted(form: str, texts: Texts) -> Any:
    """The value that comes of merging the three by key; None where that cannot be told."""
    try:
        return _by_key(form, texts)[0]
    except (_CannotTellError, ValueError, RecursionError):
        return None


def _by_key(form: str, texts: Texts) -> tuple[Any, list[Path]]:
    """The merged value, and the keys of it that are theirs.

    Raises:
        _CannotTellError: both changed the same key, or one of the three is no mapping.
    """
    read = _READERS[form]
    base, ours, theirs = (text.decode() for text in (texts.base, texts.ours, texts.theirs))
    values = read(base) if base.strip() else {}, read(ours), read(theirs)
    if not all(isinstance(value, Mapping) for value in values):
        raise _CannotTellError
    changes = list(_changes(*values))
    wanted = read(ours)
    _apply(wanted, values[2], changes)
    return wanted, changes


def _changes(
    base: Mapping[Any, Any], ours: Mapping[Any, Any], theirs: Mapping[Any, Any], at: Path = ()
) -> Iterator[Path]:
    """The keys whose values are to be taken from them, deleted ones included.

    Raises:
        _CannotTellError: both changed a key.
    """
    for key in {**theirs, **base}:
        old, our, their = (side.get(key, _NOTHING) for side in (base, ours, theirs))
        if _same(their, old) or _same(our, their):
            continue
        if _same(our, old):
            yield (*at, key)
        elif isinstance(our, Mapping) and isinstance(their, Mapping) and (old is _NOTHING or isinstance(old, Mapping)):
            yield from _changes({} if old is _NOTHING else old, our, their, (*at, key))
        else:
            raise _CannotTellError


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: `1` is neither `true` nor `1.0`."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _apply(ours: MutableMapping[Any, Any], theirs: Mapping[Any, Any], changes: list[Path]) -> None:
    """Take the values at those paths from `theirs`, in whatever kind of mapping."""
    for *above, key in changes:
        to: Any = ours
        source: Any = theirs
        for part in above:
            to, source = to[part], source[part]
        if key in source:
            to[key] = source[key]
        else:
            del to[key]


def _read_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _CannotTellError  # a key that is there twice
    return found


def _edit_json(ours: str, theirs: str, changes: list[Path]) -> str:
    value = _read_json(ours)
    write = _json_writer(ours, value)
    _apply(value, _read_json(theirs), changes)
    return write(value)


def _json_writer(text: str, value: Any) -> Callable[[Any], str]:
    """Writer of `value` just as it stands in `text`.

    Raises:
        _CannotTellError: none of the usual ways does.
    """
    ending = text[len(text.rstrip("\n")) :]
    spread: list[tuple[int | str | None, tuple[str, str]]] = [(indent, (",", ": ")) for indent in (2, 4, "\t", 1, 3, 8)]
    for indent, separators in (*spread, (None, (", ", ": ")), (None, (",", ":"))):
        for escapes in (False, True):
            write = partial(json.dumps, indent=indent, separators=separators, ensure_ascii=escapes)
            if write(value) + ending == text:
                return lambda value: write(value) + ending
    raise _CannotTellError


def _read_toml(text: str) -> Any:
    return tomllib.loads(text)


def _edit_toml(ours: str, theirs: str, changes: list[Path]) -> str:
    """The same for TOML, with its comments.

    Raises:
        _CannotTellError: the library cannot edit it.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(ours)
        _apply(document, tomlkit.parse(theirs), changes)
        return tomlkit.dumps(document)
    except TOMLKitError:
        raise _CannotTellError from None


def _read_yaml(text: str) -> Any:
    """Its value.

    Raises:
        _CannotTellError: there is none, or it has aliases: a change in one place would be one in others, and a few
            lines of them can stand for more than memory holds.
    """
    if _ALIAS.search(text):
        raise _CannotTellError
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        raise _CannotTellError from None


_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[\w-]", re.MULTILINE)


def _edit_yaml(ours: str, theirs: str, changes: list[Path]) -> str:
    """The same for YAML, with its comments.

    Raises:
        _CannotTellError: our text is not indented in one of the usual ways.
    """
    from ruamel.yaml import YAML

    for mapping, sequence, offset in ((2, 2, 0), (2, 4, 2), (4, 4, 2), (4, 4, 0), (4, 6, 4)):
        yaml = YAML()
        yaml.preserve_quotes = True
        yaml.width = 1 << 20
        yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
        yaml.explicit_start = ours.startswith("---")
        document = yaml.load(ours)
        if _dumped(yaml, document) == ours:
            _apply(document, yaml.load(theirs), changes)
            return _dumped(yaml, document)
    raise _CannotTellError


def _dumped(yaml: Any, document: Any) -> str:
    text = io.StringIO()
    yaml.dump(document, text)
    return text.getvalue()


_READERS: dict[str, Callable[[str], Any]] = {"json": _read_json, "toml": _read_toml, "yaml": _read_yaml}
_EDITORS = {"json": _edit_json, "toml": _edit_toml, "yaml": _edit_yaml}
