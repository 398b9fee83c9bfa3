"""The check for circles of imports between files."""

import os
import subprocess
import sys
from pathlib import Path

CHECK = Path(__file__).parents[1] / ".ci" / "circles.py"


def checked(folder: Path, files: dict[str, str]) -> tuple[int, str]:
    """The exit status and output of the check for a package of these files."""
    for name, text in {"__init__": "", **files}.items():
        file = folder / "house" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text)
    ran = subprocess.run(
        [sys.executable, CHECK, "house"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ran.stderr
    return ran.returncode, ran.stdout


def test_a_circle_is_found_that_an_import_inside_of_a_function_closes(tmp_path: Path) -> None:
    status, said = checked(
        tmp_path,
        {
            "top": "import house.floor.one",
            "floor/one": "import os\nfrom house.floor import two",
            "floor/two": "from house.floor.three import value",
            "floor/three": "value = 1\n\n\ndef late():\n    from .one import two\n    return two",
        },
    )
    assert status == 1
    assert said.splitlines() == [
        "circle 1, 3 files:",
        "  house.floor.one",
        "    2: from house.floor import two",
        "  house.floor.three",
        "    5: from .one import two",
        "  house.floor.two",
        "    1: from house.floor.three import value",
        "circles: 6 files, 4 imports, 1 circles",
    ]


def test_an_import_for_type_checking_closes_none(tmp_path: Path) -> None:
    one = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from house.two import Two"
    files = {"one": one, "two": "import house.one"}
    assert checked(tmp_path, files) == (0, "circles: 3 files, 1 imports, 0 circles\n")


def test_packages_whose_files_import_each_other_in_no_circle_are_none(tmp_path: Path) -> None:
    files = {"a/one": "import house.b.one", "b/one": "", "b/two": "import house.a.two", "a/two": ""}
    assert checked(tmp_path, files) == (0, "circles: 7 files, 2 imports, 0 circles\n")


def test_the_file_of_a_package_counts_where_a_name_of_its_own_is_imported(tmp_path: Path) -> None:
    files = {"a/__init__": "from house.a.one import value\n\nname = 1", "a/one": "value = 1"}
    assert checked(tmp_path, files)[0] == 0
    status, said = checked(tmp_path, files | {"a/one": "from house.a import name\n\nvalue = 1"})
    assert status == 1
    assert "  house.a\n    1: from house.a.one import value\n  house.a.one\n    1: from house.a import name\n" in said
