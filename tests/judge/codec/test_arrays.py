from __future__ import annotations

import itertools
from typing import Any

import pytest

from bakeoff.judge.codec import decode, encode, explain

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")

ARRAYS: list[Any] = [
    numpy.arange(6), numpy.arange(6).reshape(2, 3), numpy.arange(6.0), numpy.arange(6, dtype=">i8"), numpy.array(6),
    numpy.array([], dtype=int), numpy.array(["a", "bc"]), numpy.array(["a", None], dtype=object),
    numpy.array([[]], dtype=object), numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    numpy.array(["2020-01-01"], dtype="datetime64[D]"), numpy.int64(1), numpy.int32(1), numpy.float64(1), numpy.bool_(1),
    numpy.str_("a"), numpy.datetime64("2020-01-01"), numpy.dtype("i4"), numpy.dtype([("a", "i4")]), 1, 1.0, True, [1],
    numpy.array([1, 2], dtype="i4")[0:1],
]  # fmt: skip
TABLES: list[Any] = [
    pandas.DataFrame({"a": [1, 2], "b": ["x", None]}), pandas.DataFrame({"a": [1.0, 2]}), pandas.DataFrame({"a": [1, 2]}),
    pandas.DataFrame({"a": [1, 2]}, index=["p", "q"]), pandas.DataFrame([[1, 2]], columns=["a", "a"]),
    pandas.DataFrame(), pandas.Series([1, 2], name="a"), pandas.Series([1, 2]), pandas.Series([1, None], dtype="Int64"),
    pandas.Series(["a", "b", "a"], dtype="category"), pandas.Series(["a", "b"], dtype="string"), pandas.Index([1, 2]),
    pandas.RangeIndex(3), pandas.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", "t"]),
    pandas.date_range("2020", periods=3), pandas.Timestamp("2020-01-01"), pandas.Timestamp("2020-01-01", tz="UTC"),
    pandas.Timedelta(1, "s"), pandas.NaT, pandas.NA,
]  # fmt: skip


@pytest.mark.parametrize("value", ARRAYS + TABLES, ids=lambda value: type(value).__name__)
def test_arrays_and_tables_come_back(value: Any) -> None:
    data = encode(value)
    back = decode(data)
    assert type(back) is type(value)
    assert encode(back) == data


def test_they_are_pairwise_distinct() -> None:
    for one, other in itertools.combinations(ARRAYS + TABLES, 2):
        assert encode(one) != encode(other), (one, other)


def test_an_array_is_mutable_and_a_scalar_is_not() -> None:
    array = numpy.arange(3)
    assert encode([array, array]) != encode([array, array.copy()])
    assert encode([numpy.int64(1)] * 2) == encode([numpy.int64(1), numpy.int64(1)])
    assert "generic" in explain(encode(1), encode(numpy.int64(1)))


def test_whether_an_array_lies_in_the_memory_of_another_one_is_told() -> None:
    array = numpy.arange(6)
    assert encode([array, array[:]]) != encode([array, array.copy()])
    assert encode([array, array[2:5]]) != encode([array, array[2:5].copy()])
    assert encode([array[:3], array[3:]]) == encode([array[:3].copy(), array[3:].copy()])
    assert encode([array[2:5]]) == encode([array[2:5].copy()])
    assert encode({"a": array.reshape(2, 3), "b": array}) != encode({"a": array.reshape(2, 3).copy(), "b": array})
    table = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert encode([table, table]) == encode(decode(encode([table, table])))


def test_an_array_that_cannot_be_written_to_is_another_one() -> None:
    array = numpy.arange(6)
    array.flags.writeable = False
    assert encode(array) != encode(array.copy())
    back = decode(encode(array))
    assert not back.flags.writeable
    assert encode(back) == encode(array)
