"""pandas Series, DataFrame, indexes, extension arrays and scalars as bytes: what they show, wherever they keep it.

Written are values, dtypes, labels, names, attrs and flags. Not written is how a table lies in memory: its blocks, who
shares an index, levels of a MultiIndex that no row has. This file imports pandas only to make what was written; rules
are found by the public name, as pandas moves its classes about between versions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import wire
from .classes import mro_of, name_of
from .library import LISTED, Rule, imported, resolved
from .wire import Incomparable, Malformed

_NAMES: list[str] = []


def _rule(
    *names: str, make: Callable[[Any, Any], Any], mutable: bool = False
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter what is decorated, `take`, for the classes with these public names."""

    def enter(take: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name in names:
            LISTED[name] = Rule(name, _taken(take), make, mutable)
            _NAMES.append(name)
        return take

    return enter


def _taken(take: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`take` for objects that may have been made without what belongs to them."""

    def taken(value: Any) -> Any:
        try:
            return take(value)
        except (AttributeError, TypeError, ValueError, LookupError, RecursionError) as failure:
            raise Incomparable(f"{type(value).__name__} that cannot be read: {failure}") from None

    return taken


def pandas_rule(cls: type) -> Rule | None:
    """The rule of a class of pandas; None where it has none, or pandas is not loaded."""
    if "pandas" not in sys.modules or name_of(cls)[0].partition(".")[0] != "pandas":
        return None
    for name in _NAMES:
        if resolved(name) is cls:
            return LISTED[name]
    base = resolved("pandas.tseries.offsets:BaseOffset") or resolved("pandas._libs.tslibs.offsets:BaseOffset")
    return OFFSET if any(each is base for each in mro_of(cls)) else None


def _pandas(name: str) -> Any:
    return imported(f"pandas:{name}")


def _checked(made: Any, cls: Any) -> Any:
    if type(made) is not cls:
        raise Malformed(f"it makes no {cls.__name__}")
    return made


# Moments, spans and what is missing


def _moment_from(cls: Any, parts: Any) -> Any:
    moment, zone, fold = parts
    made = cls(moment)
    if zone is not None:
        made = made.tz_localize("UTC").tz_convert(zone)
    return made if made.fold == fold else made.replace(fold=fold)


@_rule("pandas:Timestamp", make=_moment_from)
def _moment(value: Any) -> Any:
    return (value.asm8, value.tz, value.fold)


@_rule("pandas:Timedelta", make=lambda cls, length: cls(length))
def _length(value: Any) -> Any:
    return value.asm8


@_rule("pandas:Period", make=lambda cls, parts: cls(ordinal=parts[0], freq=_frequency_from(parts[1])))
def _period(value: Any) -> Any:
    return (value.ordinal, _frequency(value.freq))


@_rule("pandas:Interval", make=lambda cls, parts: cls(*parts))
def _interval(value: Any) -> Any:
    return (value.left, value.right, value.closed)


@_rule("pandas.api.typing:NaTType", make=lambda cls, nothing: _pandas("NaT"))
def _no_time(value: Any) -> Any:
    return None


@_rule("pandas.api.typing:NAType", make=lambda cls, nothing: _pandas("NA"))
def _missing(value: Any) -> Any:
    return None


def _offset(value: Any) -> Any:
    names = [name for name in type(value)._attributes if hasattr(value, name)]
    return (type(value), {name: getattr(value, name) for name in names})


def _offset_from(cls: Any, parts: Any) -> Any:
    kind, held = parts
    base = imported("pandas.tseries.offsets:BaseOffset")
    if not any(each is base for each in mro_of(kind)) or name_of(kind)[0].partition(".")[0] != "pandas":
        raise Malformed("no offset of pandas")
    return kind(**held)


OFFSET = Rule("pandas:offset", _taken(_offset), _offset_from, False)
"""Distances between dates (`Day`, `MonthEnd`, `DateOffset`), of which there are many classes."""


def _frequency(freq: Any) -> Any:
    """A frequency by its name, where that is all there is to it."""
    if freq is None:
        return None
    name = freq.freqstr
    try:
        plain = imported("pandas.tseries.frequencies:to_offset")(name) == freq
    except ValueError:
        plain = False
    return name if plain else freq


def _frequency_from(written: Any) -> Any:
    return imported("pandas.tseries.frequencies:to_offset")(written) if type(written) is str else written


def _zone(value: Any) -> Any:
    return (
        value.zone,
        getattr(value, "_utcoffset", None),
        getattr(value, "_dst", None),
        getattr(value, "_tzname", None),
    )


def _zone_from(cls: Any, parts: Any) -> Any:
    name, *kind = parts
    found = imported("pytz:timezone")(name)
    kinds = getattr(found, "_tzinfos", None)
    return found if kinds is None else kinds[tuple(kind)]


ZONE = Rule("pytz:timezone", _taken(_zone), _zone_from, False)
"""Time zones of pytz, which pandas before 3 has: a class for each place, an instance for each of its offsets."""


def zone_rule(cls: type) -> Rule | None:
    """The rule of a class of pytz; None for all others."""
    if "pytz" not in sys.modules:
        return None
    base = resolved("pytz.tzinfo:BaseTzInfo")
    return ZONE if any(each is base for each in mro_of(cls)) else None


# Types of columns


@_rule(
    *(f"pandas:{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)), "pandas:Float32Dtype",
    "pandas:Float64Dtype", "pandas:BooleanDtype", make=lambda cls, nothing: cls(),
)  # fmt: skip
def _masked_type(value: Any) -> Any:
    return None


def _text_type_from(cls: Any, parts: Any) -> Any:
    return cls(parts[0]) if parts[1] is _pandas("NA") else cls(parts[0], na_value=parts[1])


@_rule("pandas:StringDtype", make=_text_type_from)
def _text_type(value: Any) -> Any:
    return (value.storage, value.na_value)


@_rule("pandas:CategoricalDtype", make=lambda cls, parts: cls(*parts))
def _category_type(value: Any) -> Any:
    return (value.categories, value.ordered)


@_rule("pandas:DatetimeTZDtype", make=lambda cls, parts: cls(*parts))
def _zoned_type(value: Any) -> Any:
    return (value.unit, value.tz)


@_rule("pandas:PeriodDtype", make=lambda cls, freq: cls(_frequency_from(freq)))
def _period_type(value: Any) -> Any:
    return _frequency(value.freq)


@_rule("pandas:IntervalDtype", make=lambda cls, parts: cls(*parts))
def _interval_type(value: Any) -> Any:
    return (value.subtype, value.closed)


@_rule("pandas:SparseDtype", make=lambda cls, parts: cls(*parts))
def _sparse_type(value: Any) -> Any:
    return (value.subtype, value.fill_value)


# Arrays


def _masked_from(cls: Any, parts: Any) -> Any:
    return cls(*parts)


@_rule(
    "pandas.arrays:IntegerArray", "pandas.arrays:FloatingArray", "pandas.arrays:BooleanArray", mutable=True,
    make=_masked_from,
)  # fmt: skip
def _masked(value: Any) -> Any:
    mask = value._mask.copy()
    data = value._data.copy()
    data[mask] = 0  # nobody sees what stands there
    return (data, mask)


def _texts_from(cls: Any, parts: Any) -> Any:
    kind, texts = parts
    if any(type(text) not in (str, type(None)) for text in texts):
        raise Malformed("texts that are none")
    return _checked(_pandas("array")(texts, dtype=kind), cls)


@_rule("pandas.arrays:StringArray", "pandas.arrays:ArrowStringArray", mutable=True, make=_texts_from)
def _texts(value: Any) -> Any:
    return (value.dtype, value.to_numpy(dtype=object, na_value=None).tolist())


@_rule("pandas:Categorical", mutable=True, make=lambda cls, parts: cls.from_codes(parts[1], dtype=parts[0]))
def _categorical(value: Any) -> Any:
    return (value.dtype, value.codes.copy())


def _times_from(cls: Any, parts: Any) -> Any:
    times, zone = parts
    index = _pandas("Index")(times, dtype=times.dtype)
    if zone is not None:
        index = index.tz_localize("UTC").tz_convert(zone)
    return _checked(index.array, cls)


@_rule("pandas.arrays:DatetimeArray", "pandas.arrays:TimedeltaArray", mutable=True, make=_times_from)
def _times(value: Any) -> Any:
    kind = "m8" if type(value).__name__ == "TimedeltaArray" else "M8"
    return (value.asi8.view(f"{kind}[{value.unit}]").copy(), getattr(value, "tz", None))


@_rule("pandas.arrays:PeriodArray", mutable=True, make=lambda cls, parts: cls(parts[1], dtype=parts[0]))
def _periods(value: Any) -> Any:
    return (value.dtype, value.asi8.copy())


@_rule("pandas.arrays:IntervalArray", mutable=True, make=lambda cls, parts: cls.from_arrays(*parts))
def _intervals(value: Any) -> Any:
    return (value.left, value.right, value.closed)


def _sparse_from(cls: Any, parts: Any) -> Any:
    values, fill, kind, count = parts
    made = cls(values, fill_value=fill, kind=kind)
    if made.npoints != count:
        raise Malformed("sparse values of other places")
    return made


@_rule("pandas.arrays:SparseArray", mutable=True, make=_sparse_from)
def _sparse(value: Any) -> Any:
    return (value.to_dense().copy(), value.fill_value, value.kind, value.npoints)


@_rule("pandas.arrays:NumpyExtensionArray", mutable=True, make=lambda cls, array: cls(array))
def _plain(value: Any) -> Any:
    return value.to_numpy(copy=True)


def _column(array: Any) -> Any:
    """The values of a column or an index, a copy: as numpy has them, or an array of pandas. One NaN is like another.

    Raises:
        Incomparable: it is an array of another library.
    """
    if type(array).__name__ in _PLAIN:
        values = array.to_numpy(copy=True)
        if values.dtype.kind == "f":
            values[values != values] = float("nan")
        return values
    if pandas_rule(type(array)) is None:
        raise Incomparable("column of type {}.{}".format(*name_of(type(array))))
    return array.copy()


_PLAIN = ("NumpyExtensionArray", "PandasArray")


# Indexes


def _span(value: Any) -> tuple[int, int, int]:
    shown = range(value.start, value.stop, value.step)
    return wire.shown_of(shown)


@_rule("pandas:RangeIndex", make=lambda cls, parts: cls(*parts[1:], name=parts[0]))
def _range_index(value: Any) -> Any:
    return (value.name, *_span(value))


def _levels_from(cls: Any, parts: Any) -> Any:
    names, levels, count = parts
    if not levels or any(len(level) != count for level in levels):
        raise Malformed("levels of different lengths")
    return cls.from_arrays(levels, names=names)


@_rule("pandas:MultiIndex", make=_levels_from)
def _levels(value: Any) -> Any:
    shown = [value.get_level_values(place).rename(None) for place in range(value.nlevels)]
    return (list(value.names), shown, len(value))


def _index_from(cls: Any, parts: Any) -> Any:
    name, column, freq = parts
    made = _checked(_pandas("Index")(column, dtype=column.dtype, name=name, copy=False), cls)
    if freq is not None:
        made.freq = _frequency_from(freq)
    return made


@_rule(
    "pandas:Index", "pandas:CategoricalIndex", "pandas:DatetimeIndex", "pandas:TimedeltaIndex", "pandas:PeriodIndex",
    "pandas:IntervalIndex", make=_index_from,
)  # fmt: skip
def _index(value: Any) -> Any:
    even = type(value).__name__ in ("DatetimeIndex", "TimedeltaIndex")
    return (value.name, _column(value.array), _frequency(value.freq) if even else None)


# Tables


def _flagged(made: Any, attributes: Any, duplicates: Any) -> Any:
    made.attrs = attributes
    if not duplicates:
        made.flags.allows_duplicate_labels = False
    return made


def _series_from(cls: Any, parts: Any) -> Any:
    index, name, column, attributes, duplicates = parts
    return _flagged(_one(column, index, name), attributes, duplicates)


def _one(column: Any, index: Any, name: Any = None) -> Any:
    return _pandas("Series")(column, index=index, name=name, dtype=column.dtype)


@_rule("pandas:Series", mutable=True, make=_series_from)
def _series(value: Any) -> Any:
    return (value.index, value.name, _column(value.array), value.attrs, value.flags.allows_duplicate_labels)


def _frame_from(cls: Any, parts: Any) -> Any:
    index, names, columns, attributes, duplicates = parts
    made = cls({place: _one(column, index) for place, column in enumerate(columns)}, index=index)
    made.columns = names
    return _flagged(made, attributes, duplicates)


@_rule("pandas:DataFrame", mutable=True, make=_frame_from)
def _frame(value: Any) -> Any:
    columns = [_column(value.iloc[:, place].array) for place in range(value.shape[1])]
    return (value.index, value.columns, columns, value.attrs, value.flags.allows_duplicate_labels)
