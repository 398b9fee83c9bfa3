"""Folders in the temporary place: gone at the end, and gone with the next one where their process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bakeoff.system.temporary import LOCK, temporary_folder

HOLD = """
import sys
from bakeoff.system.temporary import temporary_folder
with temporary_folder("held", sys.argv[1]) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def _old(folder: Path) -> Path:
    os.utime(folder / LOCK, (0, 0))
    return folder


def test_what_a_killed_process_left_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLD, str(tmp_path)]
    holders = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    killed, young, held = (Path(holder.stdout.readline().strip()) for holder in holders if holder.stdout)
    for holder in holders[:2]:
        holder.kill()
        holder.wait()
    _old(killed)
    _old(held)
    users = tmp_path / "bakeoff-held-mine"
    users.mkdir()
    with temporary_folder("try", str(tmp_path)) as folder:
        assert {path.name for path in tmp_path.iterdir()} == {young.name, held.name, users.name, Path(folder).name}
    assert not os.path.exists(folder)
    for holder in holders:
        holder.communicate()
    assert {path.name for path in tmp_path.iterdir()} == {young.name, users.name}
