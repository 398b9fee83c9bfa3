"""The peers: each in an environment of its own under `.tools/peers`, made when it is first asked for."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.measure import REPOSITORY, Spent, spend

HERE = Path(__file__).parent
HOME = REPOSITORY / ".tools" / "peers"
REQUIREMENTS = {
    "spec-kit": ("specify-cli==1.2.3",),
    "langgraph": ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2"),
    "dbos": ("dbos==3.4.0",),
    "mellea": ("mellea==0.8.0",),
    "codeflash": ("codeflash==0.20.6", "pytest==8.4.2", "pytest-timeout==2.4.0"),
}


class PeerMissingError(Exception):
    """A peer cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer that is installed. `title` has its version."""

    title: str
    programs: Path

    def spend(self, program: str, *arguments: str | Path, cwd: Path) -> Spent:
        """Run one of its programs."""
        return spend([self.programs / program, *arguments], cwd)

    def script(self, name: str, *arguments: str, cwd: Path) -> Spent:
        """Run one of the scripts beside this file with its interpreter."""
        return self.spend("python", HERE / name, *arguments, cwd=cwd)


@cache
def peer(name: str) -> Peer:
    """The peer, installed now if it is not there. Raises PeerMissingError, again every time it is asked for."""
    wanted = REQUIREMENTS[name]
    folder = HOME / name
    ready = folder / "ready.txt"
    found = Peer(wanted[0].replace("==", " "), folder / "bin")
    if ready.exists() and ready.read_text() == "\n".join(wanted):
        return found
    print(f"installing {', '.join(wanted)} into {folder.relative_to(REPOSITORY)} ...", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, capture_output=True)
        install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        subprocess.run(install, check=True, capture_output=True, timeout=600)
    except subprocess.CalledProcessError as failure:
        lines = failure.stderr.decode(errors="replace").strip().splitlines() or ["no word why"]
        raise PeerMissingError(lines[-1]) from failure
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise PeerMissingError(str(failure)) from failure
    ready.write_text("\n".join(wanted))
    return found
