"""Series, DataFrames, indexes, arrays and scalars of pandas, and generators of numpy, as bytes."""

from __future__ import annotations

import datetime
import itertools
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.judge.codec import FOLDER, Incomparable, Malformed, decode, encode, explain

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")

WIDE = pandas.DataFrame({
    "int": [1, 2, 3], "text": ["x", None, "z"], "kind": pandas.Categorical(["u", "v", "u"]),
    "when": pandas.date_range("2020", periods=3, tz="Europe/Berlin"), "some": pandas.array([1, None, 3], dtype="Int64"),
    "float": [1.5, numpy.nan, 2], "any": [[1], {}, None], "between": pandas.interval_range(0, 3),
    "month": pandas.period_range("2020", periods=3, freq="M"), "took": pandas.to_timedelta([1, 2, 3], unit="s"),
    "bool": [True, False, True], "string": pandas.array(["a", None, "b"], dtype="string"),
    "sparse": pandas.arrays.SparseArray([0, 0, 1]), "maybe": pandas.array([True, None, False], dtype="boolean"),
    "object": numpy.array(["a", "b", "c"], dtype=object), "half": pandas.array([1.5, None, 2], dtype="Float32"),
})  # fmt: skip


def marked(table: Any) -> Any:
    table = table.copy()
    table.attrs["unit"] = "m"
    return table


TABLES: list[Any] = [
    WIDE, WIDE.T, WIDE.iloc[::2], WIDE.describe(), WIDE.dtypes, WIDE.iloc[1], WIDE.set_index(["int", "text"]), marked(WIDE),
    WIDE[["int"]], WIDE[["int"]].astype("int32"), WIDE[["int"]].rename(columns={"int": "a"}), pandas.DataFrame(),
    WIDE[["int"]].set_flags(allows_duplicate_labels=False), pandas.DataFrame(index=[1, 2]), pandas.DataFrame(columns=["a"]),
    pandas.DataFrame([[1, 2]], columns=["a", "a"], index=[1]), pandas.DataFrame({"a": [1, 2]}, index=[1, 1]),
    pandas.DataFrame({("a", "b"): [1]}), pandas.Series(dtype="float"), pandas.Series(["a"]), pandas.Series([1], name="a"),
    pandas.Series(["a"], dtype=object), pandas.Series([1], name=("a", 1)), pandas.Series([1]), marked(pandas.Series([1])),
    pandas.Series([1], name="a").set_flags(allows_duplicate_labels=False), pandas.Series([pandas.NA, 1]),
    pandas.Series([1, 2], dtype=">i4"), pandas.Series([1 + 2j]),
]  # fmt: skip
COLUMNS: list[Any] = [WIDE[name] for name in WIDE] + [WIDE[name].array for name in WIDE]
TYPES: list[Any] = [
    *{str(WIDE[name].dtype): WIDE[name].dtype for name in WIDE}.values(), pandas.CategoricalDtype(),
    pandas.CategoricalDtype(["a"], ordered=True), pandas.CategoricalDtype(["a"], ordered=False),
]  # fmt: skip
INDEXES: list[Any] = [
    pandas.Index([1, 2]), pandas.Index([1, 2], name="a"), pandas.Index([1.0, 2]), pandas.Index([True, False]),
    pandas.Index(["a", 1]), pandas.Index([1, 2], dtype=object), pandas.RangeIndex(1, 3), pandas.RangeIndex(1, 3, name="a"),
    pandas.CategoricalIndex(["a", "b"]), pandas.CategoricalIndex(["a", "b"], ordered=True), pandas.IntervalIndex.from_breaks([0, 1]),
    pandas.date_range("2020", periods=3), pandas.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-03"]),
    pandas.date_range("2020", periods=3, tz="UTC"), pandas.date_range("2020", periods=3, freq="MS"),
    pandas.timedelta_range("1s", periods=3), pandas.period_range("2020", periods=3, freq="Y"), pandas.Index([1, None], dtype="Int64"),
    pandas.MultiIndex.from_tuples([(1, "a"), (2, "b")]), pandas.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", None]),
    pandas.MultiIndex.from_tuples([], names=["a", "b"]), pandas.MultiIndex.from_arrays([[1.0, 2.0], ["a", "b"]]),
    pandas.MultiIndex.from_arrays([pandas.Categorical(["a", "b"]), pandas.date_range("2020", periods=2)]),
]  # fmt: skip
SCALARS: list[Any] = [
    pandas.Timestamp("2020"), pandas.Timestamp("2020", tz="UTC"), pandas.Timestamp("2020", tz="Europe/Berlin"),
    pandas.Timestamp(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), pandas.Timestamp(2020, 1, 1, fold=1),
    pandas.Timestamp("2020-01-01 00:00:00.000000001"), pandas.Timestamp("2020").as_unit("s"),
    pandas.Timestamp("2020-10-25 00:30", tz="UTC").tz_convert("Europe/Berlin"),
    pandas.Timestamp("2020-10-25 01:30", tz="UTC").tz_convert("Europe/Berlin"), pandas.Timestamp("9999").as_unit("s"),
    pandas.Timedelta(1, "s"), pandas.Timedelta(1, "s").as_unit("ms"), pandas.Timedelta("1ns"), pandas.Period("2020", "M"),
    pandas.Period("2020", "Y"), pandas.Interval(1, 2), pandas.Interval(1, 2, "both"), pandas.Interval(1.0, 2.0),
    pandas.NaT, pandas.NA, pandas.offsets.Day(2), pandas.offsets.Day(3), pandas.offsets.MonthEnd(), pandas.DateOffset(months=1),
    pandas.DateOffset(month=1), pandas.offsets.Week(weekday=2),
]  # fmt: skip
DRAWN = numpy.random.RandomState(2)
DRAWN.normal()
SOURCES: list[Any] = [
    numpy.random.default_rng(3), numpy.random.default_rng(4), numpy.random.PCG64(3), numpy.random.MT19937(3),
    numpy.random.Generator(numpy.random.Philox(3)), numpy.random.SFC64(3), numpy.random.RandomState(2), DRAWN,
    numpy.random.SeedSequence(4), numpy.add, numpy.sum, numpy.linalg.norm, numpy.add.reduce,
    numpy.ma.array([1, 2], mask=[0, 1]), numpy.rec.array([(1, 2)]), numpy.timedelta64(1, "s"), numpy.timedelta64(1, "ms"),
]  # fmt: skip
ALL = TABLES + COLUMNS + TYPES + INDEXES + SCALARS + SOURCES


@pytest.mark.parametrize("value", ALL, ids=lambda value: type(value).__name__)
def test_they_come_back(value: Any) -> None:
    data = encode(value, consume=False)
    back = decode(data)
    assert type(back) is type(value)
    assert encode(back) == data
    for kind, name in ((pandas.DataFrame, "frame"), (pandas.Series, "series"), (pandas.Index, "index")):
        if isinstance(value, kind):
            getattr(pandas.testing, f"assert_{name}_equal")(back, value)


def test_they_are_pairwise_distinct() -> None:
    messages = [encode(value) for value in ALL]
    for one, other in itertools.combinations(range(len(ALL)), 2):
        assert messages[one] != messages[other], (ALL[one], ALL[other])


def test_how_a_table_lies_in_memory_does_not_count() -> None:
    whole = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    parts = pandas.concat([pandas.Series([1, 2], name="a"), pandas.Series([3, 4], name="b")], axis=1)
    assert encode(whole) == encode(parts)
    assert encode([whole, whole["a"]]) == encode([whole, parts["a"].copy()])
    assert encode([whole, whole]) != encode([whole, parts])
    cut = pandas.MultiIndex.from_product([[1, 2], ["a"]])[:1]
    assert encode(cut) == encode(pandas.MultiIndex.from_tuples([(1, "a")]))
    assert encode(pandas.Series([0.0]) / 0) == encode(pandas.Series([numpy.nan]))
    assert encode(pandas.RangeIndex(5, 1)) == encode(pandas.RangeIndex(10, 5))
    hidden = pandas.array([7, 1])
    hidden[0] = None
    assert encode(hidden) == encode(pandas.array([None, 1]))


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"a": [1, 5]}), "[0][1]: 5 instead of 2"),
        (pandas.Series([1], name="a"), pandas.Series([1], name="b"), ".name: str 'b' instead of str 'a'"),
        (pandas.Series([1.5]), pandas.Series([2.5]), ".values[0]: 2.5 instead of 1.5"),
        (pandas.Series([1]), marked(pandas.Series([1])), ".attrs: 1 items instead of 0"),
        (pandas.Categorical(["a"]), pandas.Categorical(["b"]), ".dtype.categories.values[1][0]: str 'b' instead of str 'a'"),
        (numpy.arange(4, dtype=">i2"), numpy.arange(1, 5, dtype=">i2"), "[0]: 1 instead of 0"),
        (numpy.arange(4), numpy.arange(4.0), ".dtype: str '<f8' instead of str '<i8'"),
        (1, pandas.Interval(1, 2), "Interval(1, 2, 'right') instead of int 1"),
        (numpy.arange(4), numpy.arange(3), ".shape[0]: int 3 instead of int 4"),
    ],
)  # fmt: skip
def test_a_difference_is_put_in_words(one: Any, other: Any, said: str) -> None:
    assert explain(encode(one), encode(other)) == said
    assert explain(encode(one), encode(one)) == ""


CELLS = st.lists(st.none() | st.integers(-9, 9) | st.floats() | st.text(max_size=3) | st.booleans(), max_size=5)


@given(CELLS, CELLS)
def test_equal_bytes_are_equal_tables(one: list[Any], other: list[Any]) -> None:
    left, right = (pandas.DataFrame({"a": pandas.Series(cells), "b": range(len(cells))}) for cells in (one, other))
    pandas.testing.assert_frame_equal(decode(encode(left)), left)
    if encode(left) == encode(right):
        pandas.testing.assert_frame_equal(left, right)


def test_random_numbers_go_on() -> None:
    for make in (numpy.random.default_rng, numpy.random.RandomState):
        source = make(5)
        source.normal(size=3)
        back = decode(encode(source))
        assert back.normal(size=3).tolist() == source.normal(size=3).tolist()
        assert encode(back) == encode(source) != encode(make(5))
    source = numpy.random.default_rng(5)
    back = decode(encode(source))
    assert back.spawn(1)[0].random() == source.spawn(1)[0].random()


def test_a_table_without_content_cannot_be_read() -> None:
    with pytest.raises(Incomparable, match="DataFrame that cannot be read"):
        encode(object.__new__(pandas.DataFrame))


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (pandas.Categorical(["a"]), b"|i1", b"|i9"), (pandas.Index([1]), b"pandas:Index", b"pandas:Indes"),
        (pandas.CategoricalIndex(["a"]), b"pandas:CategoricalIndex", b"pandas:PeriodIndex\\0\\0\\0\\0\\0"),
        (pandas.offsets.Day(2), b"offsets\x03Day", b"offsets\x03Die"), (pandas.Timestamp("2020"), b"<M8[", b"<O8["),
        (pandas.Series([1]), b"pandas:RangeIndex", b"pandas:RangeIndey"), (pandas.Period("2020", "M"), b"s\x02ME", b"s\x02??"),
        (pandas.array(["a"]), b"s\x01a", b"i\x01\x01"), (numpy.random.default_rng(1), b"s\x05PCG64", b"s\x05PCG65"),
        (numpy.add, b"numpy:add", b"numpy:abs"[:9].replace(b"abs", b"pi_")), (pandas.DataFrame({"a": [1]}), b"<i8", b"<i4"),
        (pandas.MultiIndex.from_tuples([(1, 2)]), b"pandas:Index", b"pandas:Timed"),
    ],
)  # fmt: skip
def test_hostile_bytes_are_refused(value: Any, old: bytes, new: bytes) -> None:
    data = encode(value)
    assert old in data
    with pytest.raises(Malformed):
        decode(data.replace(old, new, 1))


@given(st.sampled_from(TABLES + INDEXES + SCALARS), st.data())
def test_changed_bytes_make_a_value_or_are_refused(value: Any, data: st.DataObject) -> None:
    message = bytearray(encode(value))
    place = data.draw(st.integers(1, len(message) - 1))
    message[place] ^= data.draw(st.integers(1, 255))
    try:
        decode(bytes(message))
    except Malformed:
        pass


def test_without_pandas_it_is_said() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1] + '/../../..'); sys.modules['pandas'] = None\n"
        "from bakeoff.judge.codec import decode, Malformed\n"
        "try: decode(bytes.fromhex(sys.argv[2]))\n"
        "except Malformed as failure: print(failure)\n"
    )
    message = encode(pandas.Timestamp("2020")).hex()
    done = subprocess.run(
        [sys.executable, "-c", program, FOLDER, message], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert "cannot be had here" in done.stdout


def test_zones_of_pytz_come_back_with_their_offset() -> None:
    pytz = pytest.importorskip("pytz")
    zone = pytz.timezone("Europe/Berlin")
    for value in (
        pytz.UTC,
        zone,
        zone.localize(datetime.datetime(2020, 7, 1)).tzinfo,
        pandas.Timestamp("2020", tz=zone),
    ):
        assert encode(decode(encode(value))) == encode(value)
    assert decode(encode(zone)) is zone
