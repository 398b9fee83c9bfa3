"""Real projects to measure on: packages of PyPI and npm at exact versions, unpacked once into the ignored `.tools/`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import REPOSITORY

HOME = REPOSITORY / ".tools" / "packages"


class UnavailableError(Exception):
    """A package cannot be had: the network is away, or what fetches packages is missing."""


def wheel(name: str, version: str) -> Path:
    """The folder with what the wheel installs.

    Raises:
        UnavailableError: it cannot be fetched.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    asked = [*pip, "--only-binary", ":all:", "--retries", "1", "--timeout", "20", f"{name}=={version}"]

    def unpack(file: Path, target: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(target)

    return _unpacked(f"{name}-{version}", asked, "*.whl", unpack)


def npm_package(name: str, version: str) -> Path:
    """The folder of the package.

    Raises:
        UnavailableError: it cannot be fetched, or there is no npm.
    """

    def unpack(file: Path, target: Path) -> None:
        with tarfile.open(file) as archive:
            archive.extractall(target, filter="data")

    asked = ["npm", "pack", "--silent", f"{name}@{version}"]
    return _unpacked(f"npm-{name}-{version}", asked, "*.tgz", unpack) / "package"


def _unpacked(folder: str, asked: list[str], pattern: str, unpack: Callable[[Path, Path], None]) -> Path:
    """The folder that holds the package; it appears whole, or not at all."""
    place = HOME / folder
    if place.is_dir():
        return place
    HOME.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder}-", dir=HOME))
    try:
        done = subprocess.run(asked, cwd=draft, capture_output=True, text=True, timeout=300, check=False)
        found = list(draft.glob(pattern))
        if done.returncode or len(found) != 1:
            raise UnavailableError(f"{folder} cannot be fetched: {done.stderr.strip()[-300:] or 'nothing came'}")
        unpack(found[0], draft / "unpacked")
        os.replace(draft / "unpacked", place)
    except (OSError, subprocess.TimeoutExpired) as failure:
        if not place.is_dir():  # somebody else may have been faster
            raise UnavailableError(f"{folder} cannot be fetched: {failure}") from failure
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return place
