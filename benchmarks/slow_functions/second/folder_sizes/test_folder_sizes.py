import pytest
from folder_sizes import human, subfolders, total_size, tree

FILES = {"readme": 10, "src/a.py": 100, "src/lib/b.py": 2000, "src/lib/deep/c.py": 1, "doc/index": 2048}


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0B"), (1023, "1023B"), (1536, "1.5K"), (5 * 1024**2, "5.0M"), (1024**3, "1.0G")]
)
def test_human(size, text):
    assert human(size) == text


def test_subfolders():
    assert subfolders(FILES, "") == ["doc", "src"]
    assert subfolders(FILES, "src") == ["src/lib"]
    assert subfolders(FILES, "doc") == []


def test_total():
    assert total_size(FILES, "") == 4159
    assert total_size(FILES, "src") == 2101


def test_tree():
    assert tree(FILES) == ["src 2.1K", "  lib 2.0K", "    deep 1B", "doc 2.0K"]
    assert tree({"only": 3}) == []


def test_large_tree():
    files = {f"f{i % 3}/g{i % 4}/h{i % 2}/file{i}": i * 977 % 50000 for i in range(48)}
    lines = tree(files)
    assert len(lines) == 27
    assert lines[:4] == ["f2 374.0K", "  g3 110.7K", "    h1 110.7K", "  g0 99.2K"]
    assert lines[-1] == "    h0 68.7K"
