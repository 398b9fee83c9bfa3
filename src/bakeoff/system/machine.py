"""Machine limits of this process: processors, memory, and whether a path lies on a network."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path("/")

NETWORK = re.compile(
    r"(fuse\.)?(nfs\d?|cifs|smb\w*|afs|ncpfs|9p|ceph|gluster\w*|lustre|beegfs|gpfs|orangefs|pvfs2|ocfs2?|gfs2?"
    r"|coda|davfs\d?|webdav|curlftpfs|sshfs|s3fs|goofys|rclone|gcsfuse|blobfuse2?|juicefs|moosefs|acfs|afpfs)"
)
"""Types of file systems whose files live on another machine, where locks and shared memory cannot be trusted."""


def boot_id(root: Path = ROOT) -> str:
    """Names this boot of the machine; empty where nothing tells. Arguments as for `cpu_allowance`."""
    return _read(root / "proc/sys/kernel/random/boot_id").strip()


def cpu_allowance(root: Path = ROOT) -> int:
    """Processors this process may keep busy, at least 1: affinity and the limits of its control groups.

    Args:
        root: where the system's files are; tests give another.
    """
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    for folder in _groups(root, "cpu"):
        share = _cpu_share(folder)
        if share is not None:
            count = min(count, int(share))
    return max(1, count)


LEAST_FILES = 128
"""Open files that a process of ours must be allowed: with fewer, work fails in ways that say nothing of the cause."""


def too_few_files() -> str | None:
    """Why so few files may be open at once that no run can be carried out; None where there may be enough."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY or limit >= LEAST_FILES:
        return None
    return f"only {limit} files may be open at once, and {LEAST_FILES} is the least: say `ulimit -n 1024` before"


def memory_available(root: Path = ROOT) -> int | None:
    """Bytes that can be used before the system or a control group runs short; None where nothing tells.

    Args:
        root: where the system's files are; tests give another.
    """
    amounts = []
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    if found:
        amounts.append(int(found[1]) * 1024)
    for folder in _groups(root, "memory"):
        limit = _number(folder / "memory.max", folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current", folder / "memory.usage_in_bytes")
        if limit is not None and used is not None:
            # The page cache counts as used but makes way.
            cache = re.search(r"^(?:total_)?inactive_file (\d+)", _read(folder / "memory.stat"), re.MULTILINE)
            amounts.append(max(0, limit - used + (int(cache[1]) if cache else 0)))
    return min(amounts, default=None)


def network_file_system(path: str | Path, root: Path = ROOT) -> str | None:
    """The type of the network file system that `path` lies on; None for a local one, or where nothing tells.

    Args:
        path: a file or directory; it need not exist yet.
        root: where the system's files are; tests give another.
    """
    place = os.path.realpath(path)
    best, kind = "", ""
    for point, type_ in _mounts(root):
        # The later of two mounts on one point hides the earlier.
        if len(point) >= len(best) and (place == point or place.startswith(point.rstrip("/") + "/")):
            best, kind = point, type_
    return kind if NETWORK.fullmatch(kind) else None


def _mounts(root: Path) -> list[tuple[str, str]]:
    """Mount points with their types, in the order they were mounted."""
    if sys.platform == "darwin":
        return _mounts_by_command()
    mounts = []
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        if after:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
            mounts.append((point.encode("latin-1", "replace").decode("utf-8", "replace"), after.split(" ")[0]))
    return mounts


def _mounts_by_command() -> list[tuple[str, str]]:
    """The same from `mount`, whose lines read `device on /point (type, options)`."""
    try:
        listing = subprocess.run(["mount"], capture_output=True, text=True, errors="replace", check=False).stdout
    except OSError:
        return []
    return re.findall(r"^.+? on (/.*) \((\w+)[,)]", listing, re.MULTILINE)


def _groups(root: Path, controller: str) -> list[Path]:
    """The folders of this process's control group for `controller` and of all above it, of either version."""
    folders: list[Path] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            bases = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            bases = [root / "sys/fs/cgroup" / controllers, root / "sys/fs/cgroup" / controller]
        else:
            continue
        for base in bases:
            inner = base / group.lstrip("/")
            # Inside a container the path may be the host's, and only the mounted top exists.
            folders += [folder for folder in (inner, *inner.parents) if base in (folder, *folder.parents)]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _cpu_share(folder: Path) -> float | None:
    """Processors that the control group allows; None for no limit."""
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    if not quota:
        quota = _read(folder / "cpu.cfs_quota_us").strip()
        period = _read(folder / "cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None


def _number(*files: Path) -> int | None:
    for file in files:
        text = _read(file).strip()
        if text.isdigit():
            return int(text)
    return None


def _read(file: Path) -> str:
    """The text of a system file; empty where there is none or it may not be read."""
    try:
        return file.read_text(encoding="latin-1")
    except OSError:
        return ""
