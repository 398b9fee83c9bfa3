"""Versions that both sides moved: the newer one, which is a choice; what cannot be compared stays a conflict."""

from __future__ import annotations

import pytest

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules.resolution import CHOSEN
from bakeoff.plan.merge.rules.structured import form_of, merge_structured, merged
from bakeoff.plan.merge.rules.versions import rank_of

HOOK = "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: x\n"
SHA = "{}  # frozen: {}"
LOCK = 'version = 1\n\n[[package]]\nname = "a"\nversion = "5.0"\n\n[[package]]\nname = "mine"\nversion = "{}"\n'


def merge(path, *versions):
    """The merged text and what was chosen, made in this process; None for a conflict."""
    parts = [version.encode() for version in versions]
    found = merged(b"".join(parts), list(map(len, parts)), form_of(path))
    return None if found is None else (found[0], found[1])


@pytest.mark.parametrize(
    ("path", "template", "versions", "newer"),
    [
        ("p/__init__.py", '__version__ = "{}"\n', ("8.0.2", "8.1.0.dev0", "8.0.3"), "8.1.0.dev0"),
        ("setup.py", "setup(\n    name='p',\n    version='{}',\n)\n", ("0.8", "0.9-dev", "0.8.1-dev"), "0.9-dev"),
        ("conf.py", "release = '{}'\n", ("1.0rc1", "1.0rc2", "1.0"), "1.0"),
        ("pyproject.toml", '[project]\nname = "p"\nversion = "{}"\n', ("3.1.1.dev", "3.2.0.dev", "3.1.1"), "3.2.0.dev"),
        (
            "pyproject.toml",
            '[project]\ndependencies = [\n    "a>={},<9",\n    "b",\n]\n',
            ("1.2", "2.10", "2.9"),
            "2.10",
        ),
        ("setup.cfg", "[metadata]\nname = p\nversion = {}\n", ("1.0", "2.0", "1.1"), "2.0"),
        ("uv.lock", LOCK, ("3.1.1.dev0", "3.2.0.dev0", "3.1.1"), "3.2.0.dev0"),
        ("package.json", '{{\n  "name": "p",\n  "version": "{}"\n}}\n', ("0.8.0", "0.10.0", "0.9.0"), "0.10.0"),
        (".pre-commit-config.yaml", HOOK.format("https://x/y", "{}"), ("v0.6.5", "v0.6.6", "v0.6.7"), "v0.6.7"),
        ("requirements/dev.txt", "# by pip-compile\na==1.0\nb=={}\n    # via a\n", ("1.9", "1.10", "1.11"), "1.11"),
    ],
)
def test_of_two_versions_the_newer_one_is_chosen(path, template, versions, newer):
    base, ours, theirs = (template.format(version) for version in versions)
    for found in (merge(path, base, ours, theirs), merge(path, base, theirs, ours)):
        assert found is not None
        text, choices = found
        assert text == template.format(newer)
        assert any("newer" in choice for choice in choices)


def test_a_commit_is_compared_by_the_version_that_its_comment_names():
    versions = [SHA.format(letter * 40, version) for letter, version in (("a", "v0.9"), ("f", "v0.10"), ("c", "v0.11"))]
    base, ours, theirs = (HOOK.format("https://x/y", version) for version in versions)
    found = merge(".pre-commit-config.yaml", base, ours, theirs)
    assert found is not None
    assert found[0] == theirs
    uses = "jobs:\n  one:\n    steps:\n    - uses: actions/x@{0}\n    - run: make\n    - uses: actions/x@{0}\n"
    base, ours, theirs = (uses.format(version.replace(" frozen:", "")) for version in versions)
    found = merge(".github/workflows/t.yaml", base, ours, theirs)
    assert found is not None
    assert found[0] == theirs


@pytest.mark.parametrize(
    ("path", "template", "versions"),
    [
        ("p/__init__.py", '__version__ = "{}"\n', ("2.2.3", "2.3.0.dev", "2.2.3.dev")),  # one went down
        ("p/__init__.py", '__version__ = "{}"\n', ("6.6", "6.6.completion", "7.0-dev")),
        ("p/__init__.py", 'level = "{}"\n', ("1.0", "1.1", "1.2")),
        ("p/m.py", "def f():\n    level = '{}'\n", ("1.0", "1.1", "1.2")),
        (".github/workflows/t.yaml", "steps:\n- uses: a/b@{}\n", ("v2", "v3.2.2", "v3")),  # a tag that moves
        (".github/workflows/t.yaml", "steps:\n- uses: a/b@{}\n", ("a" * 40, "b" * 40, "c" * 40)),
        ("requirements.txt", "a<{}\n", ("1.0", "1.1", "1.2")),
        ("requirements.txt", "a{}\n", (">=1.0", ">=1.1", "==1.2")),
        ("config.json", '{{\n  "limit": "{}"\n}}\n', ("1.0", "1.1", "1.2")),
        ("config.json", '{{\n  "a": {{\n    "version": "{}"\n  }}\n}}\n', ("1.0", "1.1", "1.2")),
        ("config.json", '{{\n  "a": {{\n    "b": {{\n      "version": "{}"\n    }}\n  }}\n}}\n', ("1.0", "1.1", "1.2")),
    ],
)
def test_what_is_no_pin_or_cannot_be_compared_stays_a_conflict(path, template, versions):
    base, ours, theirs = (template.format(version) for version in versions)
    assert merge(path, base, ours, theirs) is None
    assert merge(path, base, theirs, ours) is None


def test_pins_are_taken_from_one_side_alone():
    pins = "a=={}\nb=={}\n"
    base, ours = pins.format("1.0", "1.0"), pins.format("1.1", "1.2")
    assert merge("requirements.txt", base, ours, pins.format("1.2", "1.1")) is None
    found = merge("requirements.txt", base, ours, pins.format("1.2", "1.3"))
    assert found is not None
    assert found[0] == pins.format("1.2", "1.3")


def test_pins_that_a_program_chose_for_each_side_are_a_choice_together():
    base = "# This file is autogenerated by pip-compile\na==1.0\nb==1.0\nc==1.0\n"
    text, choices = merge(
        "requirements/dev.txt", base, base.replace("a==1.0", "a==2.0"), base.replace("b==1.0", "b==2.0")
    )
    assert text == base.replace("a==1.0", "a==2.0").replace("b==1.0", "b==2.0")
    assert choices
    assert not merge("requirements.txt", "a==1.0\nb==1.0\n", "a==2.0\nb==1.0\n", "a==1.0\nb==2.0\n")[1]


def test_the_version_of_the_project_is_apart_from_the_pins_of_others():
    text = '[project]\nversion = "{}"\ndependencies = [\n    "a>={}",\n]\n'
    found = merge("pyproject.toml", text.format("1.0", "1.0"), text.format("2.0", "1.1"), text.format("1.1", "1.2"))
    assert found is not None
    assert found[0] == text.format("2.0", "1.2")


def test_another_package_of_a_lockfile_is_no_version_of_ours():
    lock = '[[package]]\nname = "{}"\nversion = "{}"\nhash = "{}"\n'
    versions = [lock.format("a", version, version * 9) for version in ("1.0", "1.1", "1.2")]
    assert merge("uv.lock", *versions) is None


def test_the_rest_of_the_file_is_merged_as_ever():
    base = '"""P."""\n\n__version__ = "1.0"\n\nx = 1\ny = 2\n'
    ours = base.replace("1.0", "2.0").replace("x = 1", "x = 3")
    found = merge("p/__init__.py", base, ours, base.replace("1.0", "1.1").replace("y = 2", "y = 4"))
    assert found is not None
    assert found[0] == ours.replace("y = 2", "y = 4")
    assert merge("p/__init__.py", base, ours, base.replace("1.0", "1.1").replace("x = 1", "x = 4")) is None
    alone = merge("p/__init__.py", base, ours, base.replace("y = 2", "y = 4"))
    assert alone is not None
    assert not alone[1]


def test_the_resolution_says_that_it_is_a_choice():
    versions = [f'__version__ = "{version}"\n'.encode() for version in ("1.0", "1.1", "1.2")]
    found = merge_structured("python", Texts(*versions))
    assert found is not None
    assert (found.content, found.why) == (versions[2], CHOSEN)


def test_lines_end_as_they_did():
    assert merge("requirements.txt", "a==1.0", "a==1.3", "a==1.1\nb==2.0\n")[0] == "a==1.3\nb==2.0\n"
    texts = [f'__version__ = "{version}"\r\n' for version in ("1.0", "1.1", "1.2")]
    assert merge("p/__init__.py", *texts)[0] == texts[2]


def test_versions_are_ordered_as_packages_order_them():
    row = ["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1-dev", "1.0.1", "1.1.dev0", "1.9", "1.10"]
    assert sorted(row, key=rank_of) == row
    assert rank_of("1.0") == rank_of("1.0.0") == rank_of("v1.0")
    assert rank_of("3") is rank_of("main") is rank_of("1.x") is None
