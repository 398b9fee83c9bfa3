"""Functions of C, type hints, matches, trees, hash objects, weak references: they come back as what they are."""

from __future__ import annotations

import ast
import collections.abc
import functools
import hashlib
import hmac
import itertools
import operator
import os
import re
import time
import typing
import weakref
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.judge.codec import Incomparable, Malformed, decode, encode, explain

T = typing.TypeVar("T")
KEPT = {1}


@functools.lru_cache
def remembering(value: int) -> int:
    return value


def wrapped(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


@wrapped
def decorated(value: int) -> int:
    return value


def found(pattern: str, text: str) -> list[Any]:
    return list(re.compile(pattern).finditer(text))


FUNCTIONS: list[Any] = [
    str.lower, str.upper, bytes.lower, dict.get, int.bit_length, str.__add__, "a".__add__, "b".__add__, (1).__add__,
    dict.__dict__["fromkeys"], dict.fromkeys, int.real, len, "abc".join, {1: 2}.get, operator.itemgetter(1),
    operator.attrgetter("a"), operator.methodcaller("m", 1), functools.partial(str.lower), functools.partial(str.upper),
    remembering, decorated,
]  # fmt: skip
HINTS: list[Any] = [
    int | str, str | int, int | None, list[int] | None, None | list[int], list[int], list[str], tuple[int, ...],
    *tuple[int], dict[str, list[int]], typing.Optional[int], typing.Union[int, str], typing.Any, typing.List,  # noqa: UP006, UP007, UP045
    typing.List[int], typing.Callable[[int], str], collections.abc.Callable[[int], str], typing.Literal[1, "a"],  # noqa: UP006
    typing.Annotated[int, 1], T, list[T],
]  # fmt: skip
OTHERS: list[Any] = [
    *found(r"(?P<a>\w)(\d)?", "a1 b c3"), re.compile("A", re.I).match("a"), re.fullmatch("a|ab", "ab"),
    re.compile(b"b").search(b"abc", 1, 3), re.compile("b").search("abc"), re.compile("b").search("abc", 1),
    time.gmtime(0), time.strptime("2020", "%Y"), time.struct_time((2020, 1, 1, 0, 0, 0, 2, 1, 0)), os.stat(__file__),
    os.terminal_size((1, 2)), (1, 2), ast.parse("1", mode="eval"), ast.parse("x = 1"), ast.parse("x = 1.0"),
    ast.parse(" \nx = 1"), ast.Load(), ast.Store(), ElementTree.fromstring("<a x='1'>t<b/>u<c/></a>"),
    ElementTree.fromstring("<a x='1'>t<b/>u</a>"), ElementTree.Element("a"), ElementTree.Comment("a"),
    ElementTree.ElementTree(ElementTree.Element("a")), weakref.ref(KEPT), ElementTree.fromstring("<a><b/></a>"),
]  # fmt: skip
ALL = FUNCTIONS + HINTS + OTHERS


@pytest.mark.parametrize("value", ALL, ids=lambda value: type(value).__name__)
def test_they_come_back(value: Any) -> None:
    data = encode(value)
    back = decode(data)
    assert type(back) is type(value)
    assert encode(back) == data
    assert explain(data, encode(back)) == ""


def test_they_are_pairwise_distinct() -> None:
    for one, other in itertools.combinations(ALL, 2):
        assert encode(one) != encode(other), (one, other)
        assert explain(encode([one]), encode([other]))


def test_functions_are_the_very_same() -> None:
    for function in (str.lower, dict.get, int.real, remembering, decorated, typing.Any, T):
        assert decode(encode(function)) is function
    assert sorted(["b", "A"], key=decode(encode(str.lower))) == ["A", "b"]
    assert decode(encode("a".__add__))("b") == "ab"
    assert decode(encode(list[int] | None)) == list[int] | None


def test_what_has_a_cache_and_no_name_cannot_be_told() -> None:
    with pytest.raises(Incomparable, match="function with a cache"):
        encode(functools.lru_cache(lambda value: value))
    with pytest.raises(Incomparable, match="without a name in its module"):
        encode(typing.TypeVar("Other"))  # type: ignore[misc]


@given(
    st.text("ab \n", max_size=12), st.sampled_from(["a", "a*", "(a)|(b)", r"(?m)^\w*", "(?P<x>a)?b", r"\b", "(?<=a)b"])
)
def test_every_match_of_a_pattern_comes_back(text: str, pattern: str) -> None:
    for match in found(pattern, text):
        back = decode(encode(match))
        assert (back.span(), back.groups(), back.pos, back.lastgroup) == (
            match.span(), match.groups(), match.pos, match.lastgroup,
        )  # fmt: skip
        assert back.re == match.re


def test_a_match_that_nobody_finds_is_refused() -> None:
    data = encode(re.compile("b").search("abc"))
    with pytest.raises(Malformed, match="does not find"):
        decode(data.replace(b"s\x03abc", b"s\x03cab"))
    with pytest.raises(Malformed):
        decode(data.replace(b"s\x03abc", b"s\x03xxx"))


def test_nodes_that_hold_nothing_are_one_as_good_as_another() -> None:
    one, other = ast.parse("x + y", mode="eval"), ast.parse("x + y", mode="eval")
    other.body.left.ctx = ast.Load()  # type: ignore[attr-defined]
    assert encode(one) == encode(other)
    other.body.left.id = "z"  # type: ignore[attr-defined]
    assert explain(encode(one), encode(other)) == ".body.left.id: str 'z' instead of str 'x'"
    assert ast.unparse(decode(encode(other))) == "z + y"


def test_trees_of_xml_are_whole_again() -> None:
    tree = ElementTree.fromstring("<a x='1'>t<b/>u<c><d y='2'/></c></a>")
    back = decode(encode(tree))
    assert ElementTree.tostring(back) == ElementTree.tostring(tree)
    tree[1][0].set("y", "3")
    assert "'3'" in explain(encode(back), encode(tree))
    both = decode(encode([tree, tree[1], tree.attrib]))
    assert both[1] is both[0][1]
    assert both[2] is both[0].attrib


def test_hash_objects_come_back_as_what_they_said() -> None:
    for made in (hashlib.sha256(b"a"), hashlib.blake2b(b"a", digest_size=5), hashlib.md5(b"a")):
        assert encode(made) == encode(made.copy())
        back = decode(encode(made))
        assert (back.name, back.digest(), back.hexdigest()) == (made.name, made.digest(), made.hexdigest())
        assert back.copy().digest_size == made.digest_size
        with pytest.raises(TypeError, match="no more data"):
            back.update(b"b")
        with pytest.raises(Incomparable, match="from another process"):
            encode(back)
    assert encode(hashlib.sha256(b"a")) != encode(hashlib.sha256(b"b"))
    assert encode(hashlib.sha1(b"a")) != encode(hashlib.sha256(b"a"))
    back = decode(encode(hashlib.shake_128(b"a")))
    assert back.hexdigest(8) == hashlib.shake_128(b"a").hexdigest(8)
    for length in (None, 65):
        with pytest.raises(TypeError, match="no digest"):
            back.digest(length)
    keyed = hmac.new(b"key", b"text", "sha256")
    assert decode(encode(keyed)).hexdigest() == keyed.hexdigest()


def test_weak_references_are_by_what_they_refer_to() -> None:
    one, other = {1}, {1}
    assert encode(weakref.ref(one)) == encode(weakref.ref(other))
    assert encode([one, weakref.ref(one)]) != encode([one, weakref.ref(other)])
    back = decode(encode([one, weakref.ref(one)]))
    assert back[1]() is back[0]
    assert decode(encode(weakref.ref(other)))() == {1}
    dead = weakref.ref(set())
    assert decode(encode(dead))() is None


def test_ranges_that_give_the_same_are_the_same() -> None:
    assert encode(range(5, 1)) == encode(range(10, 5)) == encode(range(0))
    assert encode(range(0, 5, 2)) == encode(range(0, 6, 2)) != encode(range(0, 7, 2))
    assert encode(range(3, 4)) == encode(range(3, 100, 200))
    assert encode(range(10**30)) != encode(range(10**30 + 1))


@given(*[st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool))] * 2)
def test_ranges_are_as_equal_as_python_has_them(one: range, other: range) -> None:
    assert (encode(one) == encode(other)) is (one == other)
    assert decode(encode(one)) == one


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (str.lower, b"lower", b"lowly"), (str.lower, b"lower", b"title"[:4] + b"_"), (int | str, b"int", b"len"),
        (str.lower, b"\x03str", b"\x03len"), (list[int], b"types:G", b"types:g"), ("a".__add__, b"s\x01a", b"i\x01\x01"),
        (time.gmtime(0), b"struct_time", b"struct_tame"), (time.gmtime(0), b"\x04time\x0bstruct_time", b"\x08builtins\x03int"),
        (os.terminal_size((1, 2)), b"i\x01\x02", b""), (ElementTree.Element("a"), b"d\x00*\x00*", b"N"),
        (ast.parse("1"), b"Module", b"module"), (weakref.ref(KEPT), b"S\x01*i\x01\x01", b"i\x01\x01"),
        (typing.Union, b"typing:Union", b"typing:Onion"), (T, b":T", b":t"), (remembering, b"remembering", b"wrapped"),
        (hashlib.sha256(), b"_hashlib:HASH", b"_hashlib:HUSH"), (re.match("a", "a"), b"re:Pattern", b"re:Puttern"),
    ],
)  # fmt: skip
def test_hostile_bytes_are_refused(value: Any, old: bytes, new: bytes) -> None:
    data = encode(value)
    assert old in data
    with pytest.raises(Malformed):
        decode(data.replace(old, new, 1))


@given(st.sampled_from(ALL), st.data())
def test_changed_bytes_make_a_value_or_are_refused(value: Any, data: st.DataObject) -> None:
    message = bytearray(encode(value))
    place = data.draw(st.integers(1, len(message) - 1))
    message[place] ^= data.draw(st.integers(1, 255))
    try:
        explain(encode(value), bytes(message))
    except Malformed:
        with pytest.raises(Malformed):
            decode(bytes(message))


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (str.lower, str.upper, ".__name__: str 'upper' instead of str 'lower'"),
        (list[int], list[str], ".__args__[0]: class builtins.str instead of class builtins.int"),
        (re.match("a", "a"), re.match("a", "ab"), ".string: str 'ab' instead of str 'a'"),
        (ElementTree.Element("a"), ElementTree.Element("b"), ".tag: str 'b' instead of str 'a'"),
        (time.gmtime(0), time.gmtime(1), "[5]: int 1 instead of int 0"),
        (int | str, int | None, "[1]: class builtins.NoneType instead of class builtins.str"),
    ],
)  # fmt: skip
def test_a_difference_is_put_in_words(one: Any, other: Any, said: str) -> None:
    assert explain(encode(one), encode(other)) == said
