"""Rules for numpy and pandas, where the project has them. This file imports neither."""

from __future__ import annotations

from typing import Any

from . import wire
from .library import LISTED, Rule, imported, resolved, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .encoder import Encoder


def _described(dtype: Any) -> Any:
    return dtype.str if dtype.names is None else repr(dtype.descr)


def _dtype(described: str) -> Any:
    from ast import literal_eval

    return imported("numpy:dtype")(literal_eval(described) if described.startswith("[") else described)


SCALAR = Rule(
    "numpy:generic", lambda value: (_described(value.dtype), value.tobytes()),
    lambda cls, parts: imported("numpy:frombuffer")(parts[1], _dtype(parts[0]))[0], False,
)  # fmt: skip
DTYPE = Rule("numpy:dtype", _described, lambda cls, described: _dtype(described), False)


def _array_from(cls: Any, parts: Any) -> Any:
    described, shape, data, *more = parts
    if type(data) is bytes:
        made = imported("numpy:frombuffer")(data, _dtype(described)).reshape(shape).copy()
    else:
        made = imported("numpy:empty")(shape, _dtype(described))
        made[...] = imported("numpy:array")(data, _dtype(described)).reshape(shape) if 0 not in shape else made
    if more and not more[0]:
        made.setflags(write=False)
    return made


def _array(value: Any) -> Any:
    cls = resolved("numpy:ndarray")
    dtype, shape = cls.dtype.__get__(value), cls.shape.__get__(value)
    inside = dtype.hasobject or dtype.kind == "T"  # bytes of what are pointers say nothing
    return (_described(dtype), shape, cls.tolist(value) if inside else cls.tobytes(value))


class _ArrayRule(Rule):
    """Arrays say, too, that they cannot be written to, and which one before them lies in the same memory.

    The latter has no way back: what is decoded has memory of its own.
    """

    def __call__(self, encoder: Encoder, value: Any) -> None:
        """Write an array."""
        number = len(encoder.kept)
        if not encoder.begin(wire.LISTED_MUTABLE, value):
            return
        cls = resolved("numpy:ndarray")
        parts = self.take(value)
        shared = _before(encoder, number, cls, value)
        if shared is not None or not cls.flags.__get__(value).writeable:
            parts = (*parts, cls.flags.__get__(value).writeable, shared)
        encoder.text(self.name)
        encoder.deeper()
        encoder.put(parts)
        encoder.depth += 1


def _before(encoder: Encoder, number: int, cls: Any, value: Any) -> int | None:
    """The number of the first array whose memory overlaps with this one's."""
    owner = value
    while isinstance(cls.base.__get__(owner), cls):
        owner = cls.base.__get__(owner)
    overlap = imported("numpy:may_share_memory")
    known = encoder.owners.setdefault(id(owner), [])
    known[:] = [each for each in known if each < number]  # a later one was written for a trial
    for each in known:
        if overlap(encoder.kept[each], value):
            return each
    known.append(number)
    encoder.alive.append(owner)
    return None


LISTED["numpy:ndarray"] = _ArrayRule("numpy:ndarray", _array, _array_from, True)


def _column(array: Any) -> Any:
    """The values of a column or an index: as numpy has them, or as objects with what names their dtype."""
    dtype = array.dtype
    if type(dtype).__module__.partition(".")[0] == "numpy":
        return array.to_numpy(copy=True)  # in which memory a table has it does not count
    name = str(dtype)
    if name == "category":
        return (name, list(array.codes), _column(array.categories.array), array.ordered)
    return (name, list(array.to_numpy(dtype=object, na_value=None)), [bool(missing) for missing in array.isna()])


def _column_from(column: Any) -> Any:
    if type(column) is not tuple:
        return column
    if len(column) == 4:
        make = imported("pandas:Categorical").from_codes
        return make(column[1], imported("pandas:Index")(_column_from(column[2])), ordered=column[3])
    return imported("pandas:array")(column[1], dtype=column[0])


@rule("pandas:DataFrame", "pandas.core.frame:DataFrame", mutable=True, make=lambda cls, parts: _frame_from(parts))
def _frame(value: Any) -> Any:
    columns = [_column(value.iloc[:, place].array) for place in range(value.shape[1])]
    return (value.index, value.columns, columns, value.attrs)


def _frame_from(parts: Any) -> Any:
    index, names, columns, attributes = parts
    frame = imported("pandas:DataFrame")({place: _column_from(c) for place, c in enumerate(columns)}, index=index)
    frame.columns = names
    frame.attrs = attributes
    return frame


@rule("pandas:Series", "pandas.core.series:Series", mutable=True, make=lambda cls, parts: _series_from(parts))
def _series(value: Any) -> Any:
    return (value.index, value.name, _column(value.array), value.attrs)


def _series_from(parts: Any) -> Any:
    index, name, column, attributes = parts
    series = imported("pandas:Series")(_column_from(column), index=index, name=name)
    series.attrs = attributes
    return series


@rule(
    "pandas:Index", "pandas.core.indexes.base:Index", "pandas:CategoricalIndex", "pandas:DatetimeIndex",
    "pandas.core.indexes.datetimes:DatetimeIndex", "pandas.core.indexes.category:CategoricalIndex",
    make=lambda cls, parts: cls(_column_from(parts[1]), name=parts[0]),
)  # fmt: skip
def _index(value: Any) -> Any:
    return (value.name, _column(value.array))


@rule(
    "pandas:RangeIndex", "pandas.core.indexes.range:RangeIndex",
    make=lambda cls, parts: cls(*parts[1:], name=parts[0]),
)  # fmt: skip
def _range_index(value: Any) -> Any:
    return (value.name, value.start, value.stop, value.step)


@rule(
    "pandas:MultiIndex", "pandas.core.indexes.multi:MultiIndex",
    make=lambda cls, parts: cls.from_tuples(parts[1], names=parts[0]),
)  # fmt: skip
def _multi_index(value: Any) -> Any:
    return (list(value.names), list(value), [str(level.dtype) for level in value.levels])


@rule(
    "pandas:Timestamp", "pandas._libs.tslibs.timestamps:Timestamp",
    make=lambda cls, parts: cls(parts[0], tz=parts[1]).as_unit(parts[2]),
)  # fmt: skip
def _timestamp(value: Any) -> Any:
    return (value.isoformat(), None if value.tz is None else str(value.tz), value.unit, value.fold)


@rule(
    "pandas:Timedelta", "pandas._libs.tslibs.timedeltas:Timedelta",
    make=lambda cls, parts: cls(parts[0], unit="ns").as_unit(parts[1]),
)  # fmt: skip
def _timedelta(value: Any) -> Any:
    return (value.as_unit("ns").value, value.unit)


@rule(
    "pandas.api.typing:NaTType", "pandas._libs.tslibs.nattype:NaTType", make=lambda cls, nothing: imported("pandas:NaT")
)
def _no_time(value: Any) -> Any:
    return None


@rule("pandas.api.typing:NAType", "pandas._libs.missing:NAType", make=lambda cls, nothing: imported("pandas:NA"))
def _missing(value: Any) -> Any:
    return None
