"""Runs seeds and says how to replay one that fails: `python tests/simulate.py --first SEED --count 1`."""

from __future__ import annotations

import signal
from types import ModuleType

from simulation import fan, leasing, racing, sessions, spending
from simulation.world import Chance, Trace, run_seeded

PROGRAMS: tuple[ModuleType, ...] = (fan, sessions, racing, fan, sessions, leasing, fan, sessions, spending)
"""What a seed simulates, by its remainder; those with the most ways to go wrong come up most."""


REAL_TIME = 30
"""Seconds after which a program that never waits counts as hung; most take a thousandth of one."""


class SeedFailure(AssertionError):
    """A seed whose program broke a promise."""


def simulate(seed: int) -> Trace:
    """Run the program of `seed`; what happened.

    Raises:
        SeedFailure: a promise was broken; the message tells how to see it again.
    """
    program = PROGRAMS[seed % len(PROGRAMS)]
    chance, trace = Chance(seed), Trace()

    async def main() -> None:
        await program.simulate(chance, trace)

    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(REAL_TIME)
    try:
        run_seeded(seed, main)
    except BaseException as failure:
        if isinstance(failure, KeyboardInterrupt):
            raise
        name = program.__name__.rpartition(".")[2]
        raise SeedFailure(
            f"seed {seed} ({name}): {_causes(failure)}\nreplay: python tests/simulate.py --first {seed} --count 1"
        ) from failure
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return trace


def _too_long(*_: object) -> None:
    raise AssertionError(f"goes round in circles: {REAL_TIME} real seconds, and virtual time stands still")


def _causes(failure: BaseException) -> str:
    if isinstance(failure, BaseExceptionGroup):
        return "; ".join(_causes(inner) for inner in failure.exceptions)
    return f"{type(failure).__name__}: {failure}"
