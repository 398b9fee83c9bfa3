"""Submodules: merged as the ids of their commits, empty folders in slots, and never touched where they are checked out."""

from __future__ import annotations

import subprocess

import jsonschema
import pytest

from bakeoff.cli.schema import output_schema

EMPTY = 'for one in lib extra; do [ ! -d $one ] || [ -z "$(ls $one)" ] || exit 1; done; test -d lib'
"""The check: submodules are empty folders in slots."""


@pytest.fixture
def linked(project):
    """A project with the submodule `lib`, checked out at the first of its commits, and a `folder`."""
    lab = project.lab
    library = lab.place / "library"
    library.mkdir()

    def git(*args):
        done = subprocess.run(["git", *args], cwd=library, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    project.commits = {}
    for name, base in (("one", None), ("two", "one"), ("three", "two"), ("fork", "one")):
        if base is not None:
            git("checkout", "-q", project.commits[base])
        (library / "f").write_text(name)
        git("add", "f")
        git("commit", "-qm", name)
        git("branch", name)
        project.commits[name] = git("rev-parse", "HEAD")
    lab.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    lab.git("-C", "lib", "checkout", "-q", project.commits["one"])
    lab.write("folder/f", "f\n")
    lab.commit("linked")
    return project


def link(project, name):
    return ("160000", project.commits[name])


@pytest.mark.parametrize("kind", ["overlay", "repository"])
def test_gitlinks_are_merged_as_commits_and_the_others_land(linked, kind):
    lab = linked.lab
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    linked.branch("good", {"m1": "x\n"})
    linked.branch("bump", {"lib": link(linked, "two")})
    linked.branch("same", {"lib": link(linked, "two")})
    linked.branch("newer", {"lib": link(linked, "three")})
    linked.branch("fork", {"lib": link(linked, "fork")})
    linked.branch("adds", {"extra": ("160000", "1" * 40)})
    linked.branch("replaces", {"folder/f": None, "folder": ("160000", "2" * 40)})
    refs = ["good", "bump", "same", "newer", "fork", "adds", "replaces"]
    said = linked.merge(*refs, "--apply", "--json", check=EMPTY)
    assert said.status == 3, said
    assert said.json["landed"] == [ref for ref in refs if ref != "fork"]
    assert {(one["ref"], one["kind"], one["path"]) for one in said.json["conflicts"]} == {("fork", "submodule", "lib")}
    assert [one["with"] for one in said.json["conflicts"]] == ["bump", "same", "newer"]
    assert [(one["ref"], one["rule"]) for one in said.json["resolved"]] == [("newer", "submodule")]
    assert lab.git("rev-parse", "main:lib") == linked.commits["three"]
    assert lab.git("ls-tree", "main", "extra", "folder").split()[::4] == ["160000", "160000"]
    # The submodule that is checked out stays where it is, as with git; new ones are empty folders.
    assert lab.git("-C", "lib", "rev-parse", "HEAD") == linked.commits["one"]
    assert lab.git("status", "--porcelain") == "M lib"
    assert (list((lab.root / "extra").iterdir()), list((lab.root / "folder").iterdir())) == ([], [])
    linked.branch("back", {"folder": None, "folder/g": "g\n", "extra": "a file\n"})
    said = linked.merge("back", "--apply", "--run-id", "back", check="cat folder/g extra")
    assert said.status == 0, said
    assert ((lab.root / "folder/g").read_text(), (lab.root / "extra").read_text()) == ("g\n", "a file\n")
    assert lab.git("status", "--porcelain") == "M lib"


def test_branches_and_patches_with_submodules_are_compared_and_applied(linked):
    lab = linked.lab
    linked.branch("moves", {"lib": link(linked, "two"), "extra": ("160000", "1" * 40), "new": "x\n", "folder/f": None})
    patch = lab.place / "moves.patch"
    patch.write_text(lab.git("diff", "main", "moves") + "\n")
    assert "+Subproject commit" in patch.read_text()
    said = lab("compare", "moves", str(patch), "--check", EMPTY, "--run-id", "c", "--json")
    assert [one["status"] for one in said.json["attempts"]] == ["passed", "passed"], said
    for number in ("1", "2"):
        assert lab("apply", "c", number, "--branch", f"b{number}").status == 0
        assert lab.git("rev-parse", f"b{number}^{{tree}}") == lab.git("rev-parse", "moves^{tree}")
    said = lab("apply", "c", "--json")
    jsonschema.validate(said.json, output_schema("apply"))
    assert said.json["changed"] == ["folder/f", "new"]
    assert said.json["submodules"] == {"extra": "1" * 40, "lib": linked.commits["two"]}
    assert lab.git("-C", "lib", "rev-parse", "HEAD") == linked.commits["one"]
    again = lab("apply", "c").out
    assert "your files have all of it already; submodules are left to you: extra is to stand at 111111111111" in again
    # Where both moved it, the newer commit is taken, as far as its history is here.
    lab.git("-C", "lib", "checkout", "-q", linked.commits["two"])
    lab.git("commit", "-q", "lib", "-m", "moved here too")
    linked.branch("newer", {"lib": link(linked, "three")}, base="main~1")
    linked.branch("fork", {"lib": link(linked, "fork")}, base="main~1")
    lab.git("branch", "alien", lab.git("commit-tree", "-m", "x", "main^{tree}"))
    found = lab("compare", "newer", "fork", "alien", "--check", "true", "--run-id", "n", "--json").json["attempts"]
    assert [one["status"] for one in found] == ["passed", "error", "error"]
    assert "because both sides changed lib" in found[1]["error"]
    assert "alien has no history in common with what it is compared on" in found[2]["error"]
    assert lab("apply", "n", "--branch", "n").status == 0
    assert lab.git("rev-parse", "n:lib") == linked.commits["three"]
    # A file is never put where a submodule is checked out; one that is not makes room.
    linked.branch("file", {"lib": "a file\n"})
    lab("compare", "file", "--check", "cat lib", "--run-id", "f")
    assert "ignored files or submodules stand where it has lib" in lab("apply", "f").err
    lab.git("submodule", "deinit", "--quiet", "--force", "lib")
    said = lab("apply", "f", "--json")
    assert (lab.root / "lib").read_text() == "a file\n", said


@pytest.mark.parametrize("kind", ["overlay", "repository"])
def test_a_repository_that_an_attempt_makes_is_taken_as_files_and_a_submodule_is_left_alone(linked, kind):
    lab = linked.lab
    commit = "git -c user.name=a -c user.email=a@b commit -qm mine"
    lab.agent(
        f"git init -q nested; cd nested; echo in > f; git add f; {commit}; cd ..; git add nested; {commit}\n"
        "rm -r lib; mkdir lib; echo no > lib/x"
    )
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    said = lab.attempt("--json", "--branch", "made", check="cat nested/f")
    assert said.status == 0, said
    assert lab.git("diff", "--name-status", "main", "made").split() == ["A", "nested/f"]
