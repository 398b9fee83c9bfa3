"""Load: processor time that others took while something was measured, and whether that spoils the samples."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
OWN_CPU, OTHERS, STEAL, DRIFT = 0.25, 0.5, 0.05, 0.05
"""Foreign load of the processor that is measured on; of all others together, in processors; what the hypervisor took;
change of frequency: more than these make a block worthless on an idle machine."""
IDLE = 0.3
"""Processors that others keep busy on a machine that counts as idle, at most."""
PATIENT = 3
"""Disturbances in a row, after which load counts as what the machine is like."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters of the system so far.

    Attributes:
        at: seconds.
        busy: seconds each processor worked, by number.
        steal: seconds that the hypervisor took, all processors together.
        frequency: hertz of the processor that is measured on; None where nothing tells.
    """

    at: float
    busy: Mapping[int, float]
    steal: float
    frequency: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """Load by others between two readings, each as a number of processors.

    Attributes:
        here: of the processor that is measured on.
        others: of all others.
        steal: by the hypervisor.
        drift: change of frequency, as a part of it.
    """

    here: float
    others: float
    steal: float
    drift: float

    @property
    def total(self) -> float:
        """Processors that others kept busy."""
        return self.here + self.others

    def too_much(self, usual: float) -> str | None:
        """Disturbance, in words; None where there was none.

        Args:
            usual: the load that this machine is known to be under all the time; 0 for an idle one.
        """
        room = 1.5 * usual
        if self.here > OWN_CPU + room:
            return f"others used {self.here:.0%} of the processor"
        if self.others > OTHERS + room:
            return f"others kept {self.others:.1f} further processors busy"
        if self.steal > STEAL + room:
            return f"the hypervisor took {self.steal:.0%} of a processor"
        if self.drift > DRIFT:
            return f"its frequency changed by {self.drift:.0%}"
        return None


class LoadWatch:
    """Reads the system's counters.

    Args:
        cpu: the processor that is measured on; None for any.
        root: where the system's files are; tests give another.
        clock: seconds.
    """

    def __init__(self, cpu: int | None, *, root: Path = ROOT, clock: Callable[[], float] = time.perf_counter) -> None:
        self.cpu = cpu
        self._root = root
        self._clock = clock
        self._tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

    def read(self) -> Reading:
        """Now."""
        busy, steal = {}, 0.0
        for line in _text(self._root / "proc/stat").splitlines():
            words = line.split()
            if len(words) > 8 and words[0].startswith("cpu") and words[0] != "cpu":
                user, nice, system, _, _, irq, soft, stolen = (int(word) / self._tick for word in words[1:9])
                busy[int(words[0][3:])] = user + nice + system + irq + soft
                steal += stolen
        speed = _text(self._root / f"sys/devices/system/cpu/cpu{self.cpu}/cpufreq/scaling_cur_freq").strip()
        return Reading(self._clock(), busy, steal, float(speed) * 1e3 if speed.isdigit() else None)

    def between(self, before: Reading, after: Reading, own_here: float, own_others: float) -> Load:
        """Load by others meanwhile.

        Args:
            before: the first reading.
            after: the second.
            own_here: seconds of processor time that was ours on the processor that is measured on.
            own_others: the same on all others.
        """
        seconds = max(after.at - before.at, 1e-3)
        spent = {number: after.busy[number] - before.busy.get(number, 0.0) for number in after.busy}
        here = spent.pop(self.cpu, 0.0) if self.cpu is not None else 0.0
        drift = 0.0
        if before.frequency and after.frequency:
            drift = abs(after.frequency / before.frequency - 1)
        return Load(
            max(0.0, here - own_here) / seconds,
            max(0.0, sum(spent.values()) - own_others) / seconds,
            max(0.0, after.steal - before.steal) / seconds,
            drift,
        )


Mark = tuple[Reading, float, float]
"""When measuring began: what the system had counted, and what this process and what it measures had used."""


class LoadGuard:
    """Tells samples that others disturbed from those that count.

    Attributes:
        used: seconds of processor time of what is measured, so far; whoever runs it adds to them.
        usual: processors that others are known to keep busy all the time.
        spoiled: how often samples did not count, by what disturbed them.
    """

    def __init__(self, cpu: int | None) -> None:
        """Watch the processor that is measured on; None for any."""
        self.used = 0.0
        self.usual = 0.0
        self.spoiled: Counter[str] = Counter()
        self._watch = LoadWatch(cpu)
        self._row = 0

    def begin(self) -> Mark:
        """Begin to measure."""
        return self._watch.read(), self.used, time.process_time()

    def since(self, mark: Mark) -> Load:
        """Load that others made since then."""
        before, used, own = mark
        here, beside = self.used - used, time.process_time() - own
        if self._watch.cpu is None:
            here, beside = 0.0, here + beside
        return self._watch.between(before, self._watch.read(), here, beside)

    def calibrate(self, load: float) -> bool:
        """Take the load while the machine was calibrated for the usual one; return whether it is idle."""
        if load >= IDLE:
            self.usual = load
        return load < IDLE

    def counts(self, load: Load) -> bool:
        """Whether samples count that were taken under this load."""
        disturbed = load.too_much(self.usual)
        if disturbed is None:
            self._row = 0
            return True
        self.spoiled[disturbed.split(" ", 1)[0] + " " + _kind(disturbed)] += 1
        self._row += 1
        if self._row >= PATIENT:
            # It does not stop: from here on it is what this machine is like, and pairs have to bear it.
            self.usual = max(self.usual, load.total, load.steal)
            self._row = 0
        return False


def _kind(text: str) -> str:
    return next(kind for word, kind in _KINDS.items() if word in text)


_KINDS = {
    "hypervisor": "hypervisor",
    "frequency": "frequency",
    "further": "other processors",
    "processor": "this processor",
}
"""Names of disturbances, by a word in what is said of them."""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="latin-1")
    except OSError:
        return ""
