"""numpy arrays, scalars and generators as bytes, where the project has numpy. This file does not import it."""

from __future__ import annotations

from typing import Any

from . import wire
from .classes import name_of
from .library import LISTED, Rule, imported, resolved, rule, type_of
from .wire import Incomparable, Malformed

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
    if cls is not imported("numpy:ndarray") and name_of(cls)[0].partition(".")[0] != "numpy":
        raise Malformed("an array of a class that is not numpy's")  # making one would run its code
    if type(data) is bytes:
        made = imported("numpy:frombuffer")(data, _dtype(described)).reshape(shape).copy()
    else:
        made = imported("numpy:empty")(shape, _dtype(described))
        made[...] = imported("numpy:array")(data, _dtype(described)).reshape(shape) if 0 not in shape else made
    if more and not more[0]:
        made.setflags(write=False)
    return made if type(made) is cls else made.view(cls)


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


@rule("numpy.random.bit_generator:SeedSequence", mutable=True, make=lambda cls, parts: _seeds_from(cls, *parts))
def _seeds(value: Any) -> Any:
    return (value.entropy, value.spawn_key, value.pool_size, value.n_children_spawned)


def _seeds_from(cls: Any, entropy: Any, key: Any, size: int, spawned: int) -> Any:
    return cls(entropy, spawn_key=key, pool_size=size, n_children_spawned=spawned)


@rule(
    "numpy.random._pcg64:PCG64", "numpy.random._pcg64:PCG64DXSM", "numpy.random._mt19937:MT19937",
    "numpy.random._philox:Philox", "numpy.random._sfc64:SFC64",
    mutable=True, make=lambda cls, parts: _bits_from(cls, *parts),
)  # fmt: skip
def _bits(value: Any) -> Any:
    return (value.seed_seq, value.state)


def _bits_from(cls: Any, seeds: Any, state: Any) -> Any:
    made = cls(0 if seeds is None else seeds)
    if seeds is None:
        made._legacy_seeding(0)  # as those of RandomState are: they remember no seeds
    made.state = state
    return made


@rule("numpy.random._generator:Generator", mutable=True, make=lambda cls, bits: cls(bits))
def _generator(value: Any) -> Any:
    return type_of("numpy.random._generator:Generator").bit_generator.__get__(value)


@rule("numpy.random.mtrand:RandomState", mutable=True, make=lambda cls, parts: _random_from(cls, *parts))
def _random_state(value: Any) -> Any:
    # The older one keeps half of a pair of normal numbers besides what its source of bits does.
    held = value.get_state(legacy=False)
    return (value._bit_generator, held["has_gauss"], held["gauss"])


def _random_from(cls: Any, bits: Any, kept: int, number: float) -> Any:
    made = cls(bits)
    made.set_state({**made.get_state(legacy=False), "has_gauss": kept, "gauss": number})
    return made


def _function(value: Any) -> Any:
    for module in ("numpy", "numpy.linalg", "numpy.fft", getattr(value, "__module__", None)):
        name = f"{module}:{value.__name__}"
        if type(module) is str and resolved(name) is value:
            return name
    raise Incomparable("function of numpy that has no name in it")


def _function_from(cls: Any, name: str) -> Any:
    found = imported(name)
    if not is_function(type(found)):
        raise Malformed("no function of numpy")
    return found


def is_function(cls: type) -> bool:
    """Whether its instances are functions of numpy."""
    return cls is resolved("numpy:ufunc") or cls is type(resolved("numpy:sum"))


FUNCTION = Rule("numpy:function", _function, _function_from, False)
