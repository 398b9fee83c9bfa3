"""A slot is ready: its own ports and names, copies, links, and what the setup command built."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import anyio
import pytest

from bakeoff.engine.mask import Masker
from bakeoff.process.spawner import Spawner
from bakeoff.settings import SettingsError, load_settings
from bakeoff.workspace.errors import DiskError, SlotError, WorkspaceError
from bakeoff.workspace.slots.disk_ceiling import DiskWatch
from bakeoff.workspace.slots.ports import SIZE, lease_ports
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import KINDS, Checkout, settings, sh

pytestmark = pytest.mark.anyio


@pytest.fixture(params=KINDS[:2])
def kind(request) -> str:
    return request.param


async def test_variables_are_the_slots_own(project: Checkout, kind: str, monkeypatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace:
        async with workspace.lease() as one, workspace.lease() as two:
            said = [
                sh(
                    slot,
                    "echo $BAKEOFF_SLOT $COMPOSE_PROJECT_NAME $PORT $BAKEOFF_PORT $BAKEOFF_PORTS $TMPDIR $PYTHONPATH $BAKEOFF_SLOT_PATH",
                ).split()
                for slot in (one, two)
            ]
            for slot, words in zip((one, two), said, strict=True):
                port = str(slot.ports.first)
                assert words == [
                    slot.id, f"bakeoff-{slot.id}", port, port, f"{port}-{slot.ports.first + SIZE - 1}",
                    str(slot.temp), f"{slot.path}/src:{slot.path}:/theirs", slot.path,
                ]  # fmt: skip
                assert sh(slot, "git rev-parse --show-toplevel").strip() == slot.path
                assert (
                    sh(slot, "python3 -c 'import pkg.mod; print(pkg.mod.__file__)'").strip()
                    == f"{slot.path}/src/pkg/mod.py"
                )
                assert "BAKEOFF_RUN" not in slot.env, "the mark of processes is the spawner's"
            assert set(said[0]).isdisjoint(said[1])


def test_no_two_blocks_of_ports_meet_and_busy_ones_are_passed_over(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("bakeoff.workspace.slots.ports.BLOCKS", 3)
    held = [lease_ports(tmp_path) for _ in range(3)]
    assert len({ports.first for ports in held}) == 3
    with pytest.raises(SlotError, match="all 3 blocks of ports"):
        lease_ports(tmp_path)
    for ports in held:
        ports.release()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", held[0].first))
        busy.listen()
        again = [lease_ports(tmp_path) for _ in range(2)]
        assert held[0].first not in {ports.first for ports in again}
        with pytest.raises(SlotError):
            lease_ports(tmp_path)
    for ports in again:
        ports.release()


async def test_usual_folders_are_seen_and_cannot_be_changed(project: Checkout, kind: str) -> None:
    project.write(".venv/bin/tool", "#!/bin/sh\necho tool\n").chmod(0o755)
    project.write("node_modules/left/index.js", "left\n")
    project.write("data/big.bin", "big\n")
    project.write(".gitignore", "node_modules/\n*.log\n")  # .venv and data are not ignored by the project
    before = project.digest()
    async with open_workspace(
        project.root, settings(kind=kind, link=("data", "noise.log")), "run", slots=1
    ) as workspace:
        for _ in range(2):
            async with workspace.lease() as slot:
                assert sh(slot, ".venv/bin/tool; cat node_modules/left/index.js data/big.bin noise.log").split() == [
                    "tool",
                    "left",
                    "big",
                    "ignored",
                ]
                assert sh(slot, "git status --short") == ""
                if kind == "overlay":
                    assert "Read-only" in sh(slot, "touch .venv/x 2>&1 || true") + sh(
                        slot, "echo x 2>&1 > noise.log || true"
                    )
                sh(slot, "echo x > own.txt")
                result = await slot.commit("n")
                assert [path.path for path in result.changed] == ["own.txt"]
                assert result.tree == sh(slot, "git add -A; git write-tree").strip()
        assert workspace.receipt()["slots"]["given"] == ["data", "noise.log", ".venv", "node_modules"]
        assert bool(workspace.warnings) == (kind != "overlay")
    if kind == "overlay":
        assert project.digest() == before


async def test_copies_are_each_slots_own(project: Checkout, kind: str) -> None:
    project.write(".worktreeinclude", "*.env\n/secrets/\n")
    project.write(".gitignore", "*.env\nsecrets/\nnode_modules/\n")
    project.write("deep/local.env", "KEY=1\n")
    project.write("secrets/key", "key\n")
    project.write("plain.txt", "in the snapshot\n")
    project.write("fixtures/data/x", "x\n")
    project.write(".gitignore", "*.env\nsecrets/\nfixtures/\n")
    project.write("node_modules/own", "own\n")
    before = project.digest()
    wanted = settings(kind=kind, copy=("fixtures", "node_modules"))
    async with open_workspace(project.root, wanted, "run", slots=1) as workspace:
        for _ in range(2):
            async with workspace.lease() as slot:
                assert sh(slot, "cat deep/local.env secrets/key fixtures/data/x node_modules/own").split() == [
                    "KEY=1",
                    "key",
                    "x",
                    "own",
                ]
                assert sh(slot, "git status --short") == ""
                sh(slot, "echo changed > deep/local.env; echo more > fixtures/data/y; echo x >> node_modules/own")
                assert (await slot.commit("n")).changed == ()
    assert project.digest() == before


async def test_a_file_where_a_folder_is_for_what_slots_are_given_is_left_out_and_named(
    project: Checkout, kind: str
) -> None:
    project.write(".gitignore", "lib/\n")
    project.write("ext/lib/x", "x\n")
    project.write("ext/known", "known\n")
    why = "a folder has to stand there, for ext/lib, which slots are given"
    async with open_workspace(project.root, settings(kind=kind, copy=("ext/lib",)), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(slot, "rm -r ext; echo a file > ext; echo new > new.txt")
            result = await slot.commit("n")
        assert [(left.path, left.reason) for left in result.refused] == [("ext", why)]
        assert [(path.status, path.path) for path in result.changed] == [("D", "ext/known"), ("A", "new.txt")]
        git = workspace.repository.git()
        (saved,) = [ref for ref in workspace.repository.refs("refs") if "/salvage/" in ref]
        assert git.line("cat-file", "blob", f"{saved}:ext") == "a file", "nobody's work is lost"
        async with workspace.lease() as slot:
            await slot.check_out(result.commit)
            assert sh(slot, "cat ext/lib/x new.txt").split() == ["x", "new"]
        async with workspace.lease() as slot:
            with pytest.raises(SlotError, match="ext is a file there, and slots are given ext/lib"):
                await slot.check_out(saved)


async def test_configured_paths_must_be_inside_and_there(project: Checkout, tmp_path: Path) -> None:
    for path, said in (
        ("../x", "inside the project"),
        ("/etc", "inside the project"),
        ("nowhere", "there is no"),
        (".git", "inside"),
    ):
        with pytest.raises(WorkspaceError, match=said):
            async with open_workspace(project.root, settings(copy=(path,)), "run"):
                pass
    assert not list((tmp_path / "cache").glob("bakeoff/projects/*/slots/*"))


async def test_setup_runs_once_and_all_slots_have_what_it_built(project: Checkout, kind: str, tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"echo run >> {count}; mkdir -p build; cat src/pkg/mod.py > build/made; echo tracked >> a.txt; echo new > unignored"
    wanted = settings(kind=kind, setup=command, setup_inputs=("src", "*.toml"))
    async with open_workspace(project.root, wanted, "run", slots=2) as workspace:
        async with workspace.lease() as one, workspace.lease() as two:
            for slot in (one, two):
                assert sh(slot, "cat build/made") == "VALUE = 1\n"
                assert sh(slot, "git status --short") == ""
            sh(one, "echo changed > build/made")
            assert sh(two, "cat build/made") == "VALUE = 1\n"
        async with workspace.lease() as slot:
            assert sh(slot, "cat build/made") == "VALUE = 1\n"
        assert workspace.receipt()["slots"]["setup"].startswith("setup-")
        assert workspace.salvaged == []
    project.write("a.txt", "not an input\n")
    async with open_workspace(project.root, wanted, "run"):
        assert count.read_text().split() == ["run"]
    project.write("src/pkg/mod.py", "VALUE = 2\n")
    async with (
        Spawner(token="t", base_env=dict(os.environ), masker=Masker()) as spawner,
        open_workspace(project.root, wanted, "run", processes=spawner) as workspace,
        workspace.lease() as slot,
    ):
        assert count.read_text().split() == ["run", "run"]
        assert sh(slot, "cat build/made") == "VALUE = 2\n"


async def test_a_setup_that_fails_or_is_cancelled_leaves_nothing(project: Checkout, tmp_path: Path) -> None:
    with pytest.raises(SlotError, match=r"setup command failed \(status 3\)(?s:.*)no luck"):
        async with open_workspace(project.root, settings(setup="echo no luck; exit 3"), "run"):
            pass
    begun = tmp_path / "begun"

    async def opening() -> None:
        async with open_workspace(project.root, settings(setup=f"touch {begun}; sleep 600"), "run"):
            pass

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening)
            while not begun.exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    assert not list((tmp_path / "cache").glob("bakeoff/projects/*/slots/*"))
    assert not [path for path in (tmp_path / "cache").glob("bakeoff/projects/*/layers/*") if path.is_dir()]


async def test_an_attempt_that_takes_too_much_disk_is_ended(project: Checkout, kind: str, monkeypatch) -> None:
    monkeypatch.setattr("bakeoff.workspace.slots.disk_ceiling.PAUSE", 0.02)
    wanted = settings(kind=kind, max_disk_mb=4)
    async with open_workspace(project.root, wanted, "run", slots=2) as workspace:
        workspace.disk.pause = 0.02
        with pytest.raises(DiskError, match="more than 4 MB") as raised, anyio.fail_after(60):
            async with workspace.lease() as small:
                sh(small, "echo x > small")
                async with workspace.lease() as slot:
                    sh(slot, "head -c 6000000 /dev/urandom > big")
                    await anyio.sleep_forever()
        assert raised.value.kind == "disk"
        assert any(
            "big" in str(workspace.repository.git().run("ls-tree", "--name-only", ref)) for ref in workspace.salvaged
        )


async def test_there_is_no_lease_where_the_ceiling_is_reached(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind, max_disk_mb=4), "run") as workspace:
        async with open_workspace(project.root, settings(kind=kind), "other") as other, other.lease() as slot:
            sh(slot, "head -c 6000000 /dev/urandom > $TMPDIR/big")
            with pytest.raises(DiskError, match="more than 4 MB"):
                async with workspace.lease():
                    raise AssertionError("there is no room")
            sh(slot, "rm $TMPDIR/big")
            async with workspace.lease():
                pass


async def test_without_a_ceiling_nobody_looks(project: Checkout) -> None:
    async with open_workspace(project.root, settings(), "run") as workspace:
        watch = DiskWatch(workspace.cache, None)
        await watch.watch()
        await watch.check()


async def test_source_roots_are_configured_or_the_top(project: Checkout, checkout) -> None:
    async with (
        open_workspace(project.root, settings(source_roots=("docs",)), "run") as workspace,
        workspace.lease() as slot,
    ):
        assert str(slot.env["PYTHONPATH"]).split(":")[0] == f"{slot.path}/docs"
    flat = checkout("flat")
    flat.write("tool.py")
    async with open_workspace(flat.root, settings(), "run") as workspace, workspace.lease() as slot:
        assert str(slot.env["PYTHONPATH"]).split(":")[0] == slot.path


def test_settings_of_slots_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "bakeoff.toml"
    file.write_text('[slots]\nkind = "repository"\nlink = [".venv"]\ncopy = ["x"]\nmax_disk_mb = 100\nsetup = "make"\n')
    found = load_settings(tmp_path, {}).slots
    assert (found.kind, found.link, found.copy, found.max_disk_mb, found.setup) == (
        "repository",
        (".venv",),
        ("x",),
        100,
        "make",
    )
    for line, said in (
        ('kind = "zfs"', "must be one of auto, overlay"),
        ("knd = 1", r"did you mean kind\?"),
        ("max_disk_mb = 0", "whole number from 1"),
        ('link = "x"', "list of texts"),
    ):
        file.write_text(f"[slots]\n{line}\n")
        with pytest.raises(SettingsError, match=said):
            load_settings(tmp_path, {})


async def test_what_pythonpath_names_in_the_checkout_is_named_in_the_slot(
    project: Checkout, kind: str, monkeypatch, tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("PYTHONPATH", f"docs:{project.root}/src/pkg::{tmp_path}/tools:../beside:.")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        assert str(slot.env["PYTHONPATH"]).split(":") == [
            f"{slot.path}/src", slot.path, f"{slot.path}/docs", f"{slot.path}/src/pkg", f"{tmp_path}/tools",
            str(Path(project.root).parent / "beside"),
        ]  # fmt: skip
