"""A census of words, without a single statement that changes anything."""

from functools import reduce
from typing import Callable, Dict, Iterable, Tuple, TypeVar

T = TypeVar("T")
Census = Dict[str, Tuple[int, ...]]


def compose(*functions: Callable) -> Callable:
    """Return the functions one after another, the first one innermost."""
    return reduce(lambda f, g: lambda x: g(f(x)), functions, lambda x: x)


def strip_marks(word: str) -> str:
    """Return the word without the punctuation around it."""
    return word.strip(".,;:!?\"'()")


normal = compose(str.strip, strip_marks, str.lower)


def words_of(line: str) -> Tuple[str, ...]:
    """Return the words of a line in their normal form."""
    return tuple(filter(None, map(normal, line.split())))


def add_place(census: Census, place: Tuple[int, str]) -> Census:
    """Return a census that knows one place more."""
    number, word = place
    return {**census, word: (*census.get(word, ()), number)}


def places(lines: Iterable[str]) -> Tuple[Tuple[int, str], ...]:
    """Return (line number, word) for all words of all lines."""
    return reduce(
        lambda acc, numbered: acc + tuple(map(lambda word: (numbered[0], word), words_of(numbered[1]))),
        enumerate(lines, 1),
        (),
    )


def census(lines: Iterable[str], least: int = 1) -> Census:
    """Return the lines in which each word stands, for words that stand there often enough."""
    everything = reduce(add_place, places(lines), {})
    return reduce(
        lambda acc, word: {**acc, word: everything[word]} if len(everything[word]) >= least else acc,
        sorted(everything),
        {},
    )
