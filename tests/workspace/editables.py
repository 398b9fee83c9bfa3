"""Projects with real editable installs, built once for all tests of a session."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE", "GIT_"))}


@dataclass
class Installed:
    """A project and the environment it is installed in."""

    root: Path
    venv: Path

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")

    @property
    def site(self) -> Path:
        return next((self.venv / "lib").glob("python*/site-packages"))


def run(*argv: str | Path, cwd: Path | None = None, **env: str) -> str:
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, env={**CLEAN, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def new_environment(place: Path) -> Path:
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    return place


class Editables:
    """Makes them below one folder, with build tools that are installed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "tools"
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", self.tools)
        run(*pip, "setuptools", "hatchling", "editables")

    def make(self, name: str, files: dict[str, str], *, inside: bool = False, install: bool = True) -> Installed:
        root = self.folder / name
        for path, text in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (root / ".gitignore").write_text(".venv/\n*.egg-info/\nbuild/\n__pycache__/\n")
        place = new_environment(root / ".venv" if inside else self.folder / f"{name}-venv")
        made = Installed(root, place)
        run("git", "init", "-q", cwd=root)
        run("git", "add", "-A", cwd=root)
        run("git", "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "first", cwd=root)
        if install:
            pip = (sys.executable, "-m", "pip", "--python", made.python, "install", "-q", "--no-deps")
            run(*pip, "--no-build-isolation", "-e", root, PYTHONPATH=str(self.tools))
        return made


SETUPTOOLS = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "NAME"\nversion = "1"\n'
HATCHLING = SETUPTOOLS.replace('["setuptools"]', '["hatchling"]').replace("setuptools.build_meta", "hatchling.build")


def pth(editables: Editables) -> Installed:
    files = {"src/alpha/__init__.py": "", "src/alpha/mod.py": "VALUE = 'main'\n", "src/single.py": "VALUE = 'main'\n"}
    return editables.make("pth", files | {"pyproject.toml": SETUPTOOLS.replace("NAME", "alpha")})


def finder(editables: Editables) -> Installed:
    mapping = '[tool.setuptools]\npackages = ["alpha", "alpha.sub"]\n[tool.setuptools.package-dir]\nalpha = "lib/code"\n"alpha.sub" = "lib/other"\n'
    files = {"lib/code/__init__.py": "", "lib/code/mod.py": "VALUE = 'main'\n", "lib/other/__init__.py": ""}
    return editables.make("finder", files | {"pyproject.toml": SETUPTOOLS.replace("NAME", "alpha") + mapping})


def hatchling(editables: Editables) -> Installed:
    config = '[tool.hatch.build.targets.wheel]\npackages = ["src/alpha"]\n'
    files = {"src/alpha/__init__.py": "", "src/alpha/mod.py": "VALUE = 'main'\n"}
    made = {"pyproject.toml": HATCHLING.replace("NAME", "alpha") + config}
    return editables.make("hatchling", files | made, inside=True)


def namespace(editables: Editables) -> Installed:
    files = {"src/space/part/__init__.py": "", "src/space/part/mod.py": "VALUE = 'main'\n"}
    return editables.make("namespace", files | {"pyproject.toml": SETUPTOOLS.replace("NAME", "space-part")})


FIRST = """
import importlib.util, os, sys
KNOWN = {"alpha": %r}
class First:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top not in KNOWN:
            return None
        place = os.path.join(KNOWN[top], *rest.split(".")) if rest else KNOWN[top]
        if os.path.isdir(place):
            return importlib.util.spec_from_file_location(name, place + "/__init__.py", submodule_search_locations=[place])
        return importlib.util.spec_from_file_location(name, place + ".py")
sys.meta_path.insert(0, First)
"""


def first_finder(editables: Editables) -> Installed:
    """As meson-python and scikit-build-core do it: a finder before all others."""
    files = {"src/alpha/__init__.py": "", "src/alpha/mod.py": "VALUE = 'main'\n"}
    made = editables.make("first", files, install=False)
    (made.site / "_alpha_editable.py").write_text(FIRST % str(made.root / "src/alpha"))
    (made.site / "_alpha_editable.pth").write_text("import _alpha_editable\n")
    return made


def hidden_finder(editables: Editables) -> Installed:
    """One whose paths nobody can replace: they are not there as text."""
    files = {"src/alpha/__init__.py": "", "src/alpha/mod.py": "VALUE = 'main'\n"}
    made = editables.make("hidden", files, install=False)
    text = (FIRST % "").replace("''", f"bytes.fromhex({os.fsencode(made.root / 'src/alpha').hex()!r}).decode()")
    (made.site / "_alpha_editable.py").write_text(text)
    (made.site / "zz_alpha.pth").write_text("import _alpha_editable\n")
    return made


KINDS = {
    "pth": pth,
    "finder": finder,
    "hatchling": hatchling,
    "namespace": namespace,
    "first": first_finder,
    "hidden": hidden_finder,
}
