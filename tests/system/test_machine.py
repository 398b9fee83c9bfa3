"""What the machine allows, read from made-up system files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bakeoff.system import machine
from bakeoff.system.machine import cpu_allowance, memory_available, network_file_system

GIB = 1 << 30


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    put(tmp_path, "proc/meminfo", f"MemTotal: 1 kB\nMemAvailable:   {16 * GIB // 1024} kB\n")
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_this_machine_tells() -> None:
    assert 1 <= cpu_allowance() <= (os.cpu_count() or 1)
    assert (memory_available() or 1) > 0
    assert network_file_system("/proc") is None


def test_affinity_bounds(root: Path) -> None:
    assert cpu_allowance(root) == 8
    assert memory_available(root) == 16 * GIB


def test_without_affinity_all_processors_count(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert cpu_allowance(root) == 5


@pytest.mark.parametrize(
    ("text", "count"), [("max 100000", 8), ("250000 100000", 2), ("20000 100000", 1), ("1600000 100000", 8), ("bad", 8)]
)
def test_version_2_limits(root: Path, text: str, count: int) -> None:
    put(root, "proc/self/cgroup", "0::/outer/inner\n")
    put(root, "sys/fs/cgroup/outer/inner/cpu.max", text)
    assert cpu_allowance(root) == count


def test_the_narrowest_of_all_groups_above_counts(root: Path) -> None:
    put(root, "proc/self/cgroup", "0::/outer/inner\n")
    put(root, "sys/fs/cgroup/outer/inner/cpu.max", "max 100000")
    put(root, "sys/fs/cgroup/outer/cpu.max", "300000 100000")
    put(root, "sys/fs/cgroup/outer/memory.max", f"{4 * GIB}\n")
    put(root, "sys/fs/cgroup/outer/memory.current", f"{3 * GIB}\n")
    put(root, "sys/fs/cgroup/outer/memory.stat", f"anon 1\ninactive_file {GIB // 2}\n")
    put(root, "sys/fs/cgroup/outer/inner/memory.max", "max\n")
    put(root, "sys/fs/cgroup/outer/inner/memory.current", "5\n")
    assert cpu_allowance(root) == 3
    assert memory_available(root) == 3 * GIB // 2


def test_version_1_limits_also_where_the_path_is_the_hosts(root: Path) -> None:
    put(root, "proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:pids:/x\n")
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n")
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", str(2 * GIB))
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", str(3 * GIB))
    assert cpu_allowance(root) == 4
    assert memory_available(root) == 0


def test_version_1_without_a_limit(root: Path) -> None:
    put(root, "proc/self/cgroup", "3:cpu:/\n")
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert cpu_allowance(root) == 8


def test_where_nothing_tells(tmp_path: Path) -> None:
    assert memory_available(tmp_path) is None
    assert network_file_system("/", tmp_path) is None


MOUNTS = """27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:50 / /home rw shared:1 - nfs4 server:/home rw
31 27 0:51 / /home/local rw - xfs /dev/vdb rw
32 27 0:52 / /mnt/my\\040disk rw - fuse.sshfs host: rw
33 27 0:53 / /twice rw - cifs //host/share rw
34 27 0:54 / /twice rw - tmpfs tmpfs rw
35 27 0:55 / /nfsd rw - nfsd nfsd rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/project", "nfs4"),
        ("/home", "nfs4"),
        ("/homer", None),
        ("/home/local/x", None),
        ("/mnt/my disk/a", "fuse.sshfs"),
        ("/twice/a", None),
        ("/nfsd/a", None),
        ("/", None),
    ],
)
def test_network_file_systems_by_the_mount_table(root: Path, path: str, kind: str | None) -> None:
    put(root, "proc/self/mountinfo", MOUNTS)
    assert network_file_system(path, root) == kind


def test_the_mount_command_where_there_is_no_table(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    listing = "/dev/disk1 on / (apfs, local)\n//me@host/share on /Volumes/the share (smbfs, nodev)\n"
    answer = subprocess.CompletedProcess([], 0, stdout=listing)
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    assert network_file_system("/Volumes/the share/x") == "smbfs"
    assert network_file_system("/Users") is None

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    assert network_file_system("/Volumes/the share/x") is None
