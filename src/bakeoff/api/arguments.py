"""Argument checks of the Python API: what it was called with is checked before anything is made."""

from __future__ import annotations

import inspect
import math
import os
import pickle
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.api.codec import JSON, Codec
from bakeoff.engine.budget import KINDS
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError, text_of


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options of a fan-out; see `DurableRun.fan_out`."""

    max_concurrency: int = 8
    name: str | None = None
    version: str = ""
    on_halt: str = "finish"
    min_success: int | None = None
    timeout: float | None = None
    retry: Retry = ONCE
    lanes: Iterable[str] = ()
    isolate: bool = False
    codec: Codec = JSON
    reserve: Mapping[str, float] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], *more: str) -> CallOptions:
        """The options a caller named; `more` are those that the caller's function has besides.

        Raises:
            TypeError: there is no such option.
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"fan_out has no option {name!r}; there are {', '.join((*known, *more))}")
        return cls(**options)

    def check(
        self, function: object, items: object, *, durable: bool, lanes: Collection[str], ceilings: Collection[str]
    ) -> None:
        """See to it that a fan-out can be made of this.

        Args:
            function: what is called.
            items: with what.
            durable: whether the run has a journal.
            lanes: that the run has.
            ceilings: kinds that the run's budget limits.

        Raises:
            ValueError: a value is out of its range.
            TypeError: something is of the wrong kind.

        Passes on BakeoffError: there is no such lane.
        """
        if not callable(function):
            raise TypeError(f"fan_out calls a function, and {function!r} is none")
        if not isinstance(items, Iterable):
            raise TypeError(f"fan_out goes over items, and {type(items).__name__} is not iterable")
        whole("max_concurrency", self.max_concurrency, 1)
        if self.on_halt not in ("finish", "cancel"):
            raise ValueError(f"on_halt is finish or cancel, not {self.on_halt!r}")
        if self.min_success is not None:
            whole("min_success", self.min_success, 0)
            if isinstance(items, Collection) and self.min_success > len(items):
                raise ValueError(f"min_success is {self.min_success}, and there are {len(items)} items")
        if self.timeout is not None and not number("timeout", self.timeout) > 0:
            raise ValueError(f"timeout is a number of seconds above 0, not {self.timeout!r}")
        check_retry(self.retry)
        self._check_lanes(lanes)
        if not (hasattr(self.codec, "encode") and hasattr(self.codec, "decode")):
            raise TypeError(f"a codec has `encode` and `decode`; {self.codec!r} has not")
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"name is a text, not {self.name!r}")
        unnamed = isinstance(function, partial) or _title(function).endswith("<lambda>")
        if durable and self.name is None and unnamed:
            raise ValueError("results of a durable run are found by the function's name, and this one has none: "
                             "give `name=`")  # fmt: skip
        self._check_reserve(ceilings)
        if self.isolate:
            check_isolated(function)

    def _check_lanes(self, known: Collection[str]) -> None:
        if isinstance(self.lanes, (str, Mapping)) or not all(isinstance(name, str) for name in self.lanes):
            raise TypeError(f"lanes is a list of names, not {self.lanes!r}; `durable` takes their sizes")
        for name in self.lanes:
            if name not in known:
                raise BakeoffError(f"there is no lane {name!r}; lanes here: {', '.join(sorted(known))}; "
                                   "`durable(lanes=...)` makes them")  # fmt: skip

    def _check_reserve(self, ceilings: Collection[str]) -> None:
        amounts("reserve", self.reserve)
        for kind in ceilings:
            if kind != "calls" and kind not in (self.reserve or {}):
                raise ValueError(f"the run has a ceiling on {kind}: say how much one call may use, "
                                 f"reserve={{{kind!r}: ...}}")  # fmt: skip

    def title(self, function: object) -> str:
        """The name results are found under."""
        return self.name or _title(function)

    def amounts(self, ceilings: Collection[str]) -> dict[str, float]:
        """Amounts that one call reserves: it is one call, if nothing else is said."""
        return {**({"calls": 1} if "calls" in ceilings else {}), **(self.reserve or {})}


def _title(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def whole(name: str, value: object, least: int) -> None:
    """See to it that `value` is a whole number of at least `least`.

    Raises:
        ValueError: it is less.
        TypeError: it is no whole number.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


def number(name: str, value: object) -> float:
    """`value`, which is a number.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    return value


def amounts(name: str, given: Mapping[str, float] | None) -> None:
    """See to it that amounts by kind are some.

    Raises:
        ValueError: a kind is unknown, or its amount no finite number of at least 0.
        TypeError: it is no mapping.
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{name} is a mapping of amounts by kind, not {given!r}")
    for kind, amount in (given or {}).items():
        if kind not in KINDS:
            raise ValueError(f"{name}: there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
        good = isinstance(amount, (int, float)) and not isinstance(amount, bool)
        if not good or not math.isfinite(amount) or amount < 0:
            raise ValueError(f"{name}: {kind} must be a finite number of at least 0, not {amount!r}")


def check_retry(retry: object) -> None:
    """See to it that `retry` is a policy that can be followed.

    Raises:
        TypeError: it is no `Retry`.
        ValueError: one of its numbers is out of range.
    """
    if not isinstance(retry, Retry):
        raise TypeError(f"retry is a bakeoff.Retry, not {retry!r}; bakeoff.Retry(attempts=3) tries three times")
    whole("retry: attempts", retry.attempts, 1)
    for name in ("delay", "backoff", "max_delay", "jitter"):
        if not 0 <= number(f"retry: {name}", getattr(retry, name)) <= (1 if name == "jitter" else math.inf):
            raise ValueError(f"retry: {name} is out of range: {getattr(retry, name)!r}")
    if isinstance(retry.on, str):
        raise TypeError(f"retry: on is a tuple of kinds, not the text {retry.on!r}")


def check_isolated(function: object) -> None:
    """See to it that a worker process can find the function.

    Raises:
        ValueError: it cannot.
        BakeoffError: this is a worker that runs the main module once more, without anything that holds it back.
    """
    if "__main__" not in sys.modules:
        raise BakeoffError(
            "a worker process imports the main module, and that one starts a fan-out as it is imported: "
            'put what it does under `if __name__ == "__main__":`'
        )
    if inspect.iscoroutinefunction(function):
        raise ValueError("isolate is for plain functions; this one is async")
    try:
        pickle.dumps(function)
    except Exception as failure:
        raise ValueError(
            f"isolate: a worker process must be able to import the function, so it stands at the top of a module: "
            f"{text_of(failure)}"
        ) from failure
    main = getattr(sys.modules["__main__"], "__file__", None)
    if getattr(function, "__module__", None) == "__main__" and not (main and os.path.isfile(main)):
        raise ValueError("isolate: a worker process cannot import what was typed in; put the function in a file")


def project_folder(project: Path | str | None) -> Path:
    """The project's folder.

    Raises:
        BakeoffError: there is none.
    """
    folder = Path(project or ".").absolute()
    if not folder.is_dir():
        raise BakeoffError(f"project {folder}: there is no such folder")
    return folder


def check_name(run: object) -> None:
    """See to it that a run's name is a text.

    Raises:
        TypeError: it is not.
    """
    if run is not None and not isinstance(run, str):
        raise TypeError(f"run is the name of a run, not {run!r}")
