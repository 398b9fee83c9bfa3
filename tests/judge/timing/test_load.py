from __future__ import annotations

from pathlib import Path

from bakeoff.judge.timing.load import PATIENT, Load, LoadGuard, LoadWatch


def system(root: Path, cpus: list[tuple[int, int]], hertz: int | None = None) -> None:
    """A /proc/stat with (busy, stolen) ticks of each processor."""
    (root / "proc").mkdir(exist_ok=True)
    lines = ["cpu  1 1 1 1 1 1 1 1 0 0"]
    lines += [f"cpu{number} {busy} 0 0 9 0 0 0 {stolen} 0 0" for number, (busy, stolen) in enumerate(cpus)]
    (root / "proc/stat").write_text("\n".join([*lines, "intr 5"]))
    if hertz:
        folder = root / "sys/devices/system/cpu/cpu1/cpufreq"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scaling_cur_freq").write_text(f"{hertz}\n")


def test_what_others_did_meanwhile(tmp_path: Path) -> None:
    now = [0.0]
    watch = LoadWatch(1, root=tmp_path, clock=lambda: now[0])
    system(tmp_path, [(0, 0), (0, 0)], 2_000_000)
    before = watch.read()
    now[0] = 10.0
    system(tmp_path, [(600, 0), (900, 100)], 1_000_000)
    load = watch.between(before, watch.read(), own_here=4.0, own_others=1.0)
    assert (load.here, load.others, load.steal, load.drift, load.total) == (0.5, 0.5, 0.1, 0.5, 1.0)
    assert LoadWatch(None, root=tmp_path).between(before, watch.read(), 0, 0).here == 0.0


def test_where_nothing_tells(tmp_path: Path) -> None:
    watch = LoadWatch(0, root=tmp_path)
    load = watch.between(watch.read(), watch.read(), 1.0, 1.0)
    assert load == Load(0.0, 0.0, 0.0, 0.0)
    assert load.too_much(0.0) is None


def test_what_is_too_much() -> None:
    for load, word in (
        (Load(0.5, 0, 0, 0), "of the processor"), (Load(0, 2, 0, 0), "further"), (Load(0, 0, 0.2, 0), "hypervisor"),
        (Load(0, 0, 0, 0.2), "frequency"),
    ):  # fmt: skip
        assert word in (load.too_much(0.0) or "")
    assert Load(0.5, 1.2, 0.2, 0).too_much(1.0) is None


def test_own_work_is_no_load_wherever_it_ran(tmp_path: Path) -> None:
    now = [0.0]
    for cpu, here, others in ((None, 0.0, 0.1), (1, 0.1, 0.0)):
        guard = LoadGuard(cpu)
        guard._watch = LoadWatch(cpu, root=tmp_path, clock=lambda: now[0])
        system(tmp_path, [(0, 0), (0, 0)])
        reading, used, own = guard.begin()
        now[0] += 10.0
        system(tmp_path, [(200, 0), (400, 0)])
        guard.used += 3.0  # what is measured
        load = guard.since((reading, used, own - 2.0))  # and this process
        assert (round(load.here, 2), round(load.others, 2)) == (here, others)


def test_what_does_not_stop_is_what_the_machine_is_like() -> None:
    guard = LoadGuard(None)
    assert guard.calibrate(0.2)
    assert guard.usual == 0.0
    busy, quiet = Load(0.3, 1.7, 0.0, 0.0), Load(0.0, 0.1, 0.0, 0.0)
    for load in [busy] * (PATIENT - 1) + [quiet] + [busy] * PATIENT:
        assert guard.usual == 0.0
        assert guard.counts(load) is (load is quiet)
    assert guard.usual == busy.total
    assert guard.counts(busy)
    for load in (Load(0, 9, 0, 0), Load(0, 0, 9, 0), Load(0, 0, 0, 9), Load(9, 0, 0, 0)):
        assert not guard.counts(load)
    assert guard.spoiled == {
        "others this processor": PATIENT * 2,
        "others other processors": 1,
        "the hypervisor": 1,
        "its frequency": 1,
    }
    assert not guard.calibrate(0.4)
    assert guard.usual == 0.4
