"""Which files of a work tree are split, and what is read of them, and when."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from bakeoff.plan.decompose import sources
from bakeoff.plan.decompose.graph.cache import ScanCache
from bakeoff.plan.decompose.sources import ProjectFiles, imports_of, is_binary, project_files
from bakeoff.plan.errors import DecomposeError
from plan.decompose.conftest import Checkout


def paths(found: ProjectFiles) -> list[str]:
    return sorted(file.path for file in found.files)


def test_tracked_text_files_and_their_tokens(checkout: Checkout):
    checkout.write("a.py", "x" * 320)
    checkout.write("docs/b.md", "x" * 420)
    checkout.write("c.json", "x" * 360)
    checkout.write("empty.py", "")
    checkout.write("LICENSE", "words")
    checkout.write("picture.png", "no picture")
    checkout.write("program", b"\x7fELF\0\0")
    checkout.write("untracked.py")
    checkout.write("ignored.log")
    checkout.write(".gitignore", "*.log\n")
    (checkout.root / "link.py").symlink_to("a.py")
    (checkout.root / "loop").symlink_to("loop")
    checkout.git("add", "-A", ":!untracked.py")
    found = project_files(checkout.project)
    assert {file.path: file.tokens for file in found.files} == {
        ".gitignore": 2, "LICENSE": 2, "a.py": 100, "c.json": 100, "docs/b.md": 100, "empty.py": 1,
    }  # fmt: skip
    assert found.skipped == {"binary": 2, "symbolic link": 2}
    more = project_files(checkout.project, untracked=True)
    assert set(paths(more)) - set(paths(found)) == {"untracked.py"}


def test_marks_and_exclusions_are_honoured(checkout: Checkout):
    for path in ("src/a.py", "src/gen/b.py", "third/c.py", "lab/d.py", "data/e.csv", "docs/old/f.md", "docs/g.md"):
        checkout.write(path)
    checkout.write(
        ".gitattributes",
        "src/gen/** linguist-generated\nthird/** linguist-vendored=true\nlab/** gitlab-generated\n"
        "data/** binary\nsrc/a.py linguist-generated=false\n",
    )
    checkout.commit()
    checkout.write("docs/old/h.md")
    found = project_files(checkout.project, untracked=True, exclude=["docs/old/", ".gitattributes"])
    assert paths(found) == ["docs/g.md", "src/a.py"]
    assert found.skipped == {"binary": 1, "excluded": 2, "generated": 2, "vendored": 1}


def test_paths_narrow_it_down(checkout: Checkout):
    for path in ("a/x.py", "a/[b]/y.py", "ab/z.py", "*.py"):
        checkout.write(path)
    checkout.commit()
    assert paths(project_files(checkout.project, ["a/"])) == ["a/[b]/y.py", "a/x.py"]
    assert paths(project_files(checkout.project, ["a/[b]", "*.py"])) == ["*.py", "a/[b]/y.py"]
    assert len(paths(project_files(checkout.project, ["."]))) == 4
    with pytest.raises(DecomposeError, match="no file at nothing"):
        project_files(checkout.project, ["a", "nothing"])


def test_what_is_not_in_the_work_tree_is_left_out(checkout: Checkout):
    for path in ("a.py", "gone.py", "folder.py", "pipe.py", "new\nline ü.py"):
        checkout.write(path)
    checkout.commit()
    for path in ("gone.py", "folder.py", "pipe.py"):
        (checkout.root / path).unlink()
    (checkout.root / "folder.py").mkdir()
    os.mkfifo(checkout.root / "pipe.py")
    inner = Checkout(checkout.root / "inner")
    inner.root.mkdir()
    inner.git("init", "-q")
    inner.write("x.py")
    inner.commit()
    checkout.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    found = project_files(checkout.project)
    assert paths(found) == ["a.py", "new\nline ü.py"]
    assert found.skipped == {"no file": 2, "not there": 1, "submodule": 1}


def test_imports_are_read_once_for_each_content(checkout: Checkout, monkeypatch: pytest.MonkeyPatch):
    checkout.write("pkg/__init__.py", "")
    checkout.write("pkg/a.py", "from . import b\n")
    checkout.write("pkg/b.py", "import os\n")
    checkout.commit()
    checkout.write("pkg/c.py", "from pkg import a\n")
    read: list[str] = []
    real = sources._read

    def reading(root: Path, path: str, *more: int) -> bytes | None:
        read.append(path)
        return real(root, path, *more)

    monkeypatch.setattr(sources, "_read", reading)

    def imports() -> dict[str, list[str]]:
        read.clear()
        return imports_of(checkout.project, project_files(checkout.project, untracked=True))

    expected = {"pkg/a.py": ["pkg/b.py"], "pkg/c.py": ["pkg/a.py"]}
    assert imports() == expected
    assert read == ["pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/c.py"]
    assert imports() == expected
    assert read == ["pkg/c.py"]  # git has no blob of it
    checkout.write("pkg/b.py", "from .c import x\n")
    assert imports() == {**expected, "pkg/b.py": ["pkg/c.py"]}
    checkout.commit()
    assert imports() == {**expected, "pkg/b.py": ["pkg/c.py"]}
    assert read == []  # what was seen before it was committed is known
    monkeypatch.setattr(sources, "LARGEST", 3)
    checkout.write("pkg/d.py", "from . import a\n")
    assert "pkg/d.py" not in imports()


def test_a_cache_that_cannot_be_used_is_made_again(tmp_path: Path):
    file = tmp_path / "imports.db"
    file.write_bytes(b"no database at all, and long enough to be looked at " * 100)
    cache = ScanCache(file)
    assert cache.get(["a"]) == {}
    cache.add({"a": ["x", "y"], "b": []}, 2)
    assert cache.get(["a", "b", "c"]) == {"a": ["x", "y"], "b": []}
    file.write_bytes(b"no database at all, and long enough to be looked at " * 100)
    cache.add({"a": ["x"]}, 1)
    assert cache.get(["a"]) == {}


def test_a_cache_does_not_grow_for_ever(tmp_path: Path):
    cache = ScanCache(tmp_path / "imports.db")
    for number in range(6):
        cache.add({f"{number}.{n}": ["x"] for n in range(1000)}, 1000)
    with sqlite3.connect(tmp_path / "imports.db") as database:
        (count,) = database.execute("SELECT count(*) FROM scanned").fetchone()
    assert count <= 4000
    assert len(cache.get(f"5.{n}" for n in range(1000))) == 1000


def test_what_has_control_characters_and_is_no_utf8_is_binary():
    pdf = b"%PDF-1.5\r%\xe2\xe3\xcf\xd3\r\n1 0 obj <</Filter/FlateDecode>>stream\r\n" + bytes(range(1, 256)) * 20
    assert is_binary(pdf)
    assert is_binary(b"a\0b")
    for text in (
        "naïve café\n".encode("latin-1"),
        "привет, мир\n".encode("koi8-r") * 99,
        "日本"[:2].encode()[:-1],
        b"\x1b[1m",
    ):
        assert not is_binary(text), text
