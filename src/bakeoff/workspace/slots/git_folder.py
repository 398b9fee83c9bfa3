"""Git directory that an agent finds in its slot: its own, with objects borrowed from what bakeoff keeps."""

from __future__ import annotations

import os
from pathlib import Path

from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.snapshot import Snapshot


def make_git_folder(
    folder: Path, project: Project, objects: Path, snapshot: Snapshot, excludes: bytes, *, bare: bool = False
) -> None:
    """A repository whose branch stands at the snapshot.

    It borrows from `objects`, and has no remote, no hook and none of the user's settings but how files look and who
    commits; bakeoff itself never obeys it.
    """
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    branch = snapshot.branch or "bakeoff"
    (folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    (folder / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")
    (folder / "info/exclude").write_bytes(excludes)
    attributes = project.common_dir / "info/attributes"
    if attributes.is_file():  # of line ends and the like; it has no filter that they could name
        (folder / "info/attributes").write_bytes(attributes.read_bytes())
    (folder / "packed-refs").write_text(_refs(project, snapshot, branch))
    (folder / "config").write_text(_config(project, bare))
    shallow = objects.parent / "shallow"
    if shallow.exists():
        (folder / "shallow").write_bytes(shallow.read_bytes())


def _refs(project: Project, snapshot: Snapshot, branch: str) -> str:
    """The user's branches and tags, as far as their objects are here too; the present branch is at the snapshot."""
    found = {f"refs/heads/{branch}": snapshot.commit}
    if snapshot.linked:
        listing = project.git().run(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"
        )
        for line in listing.decode(errors="surrogateescape").splitlines():
            oid, _, name = line.partition(" ")
            if not _collide(name, f"refs/heads/{branch}"):
                found.setdefault(name, oid)
    return "".join(f"{found[name]} {name}\n" for name in sorted(found))


def _collide(one: str, other: str) -> bool:
    """Whether two names of refs cannot both be there, as `a` and `a/b`; equal ones are no matter."""
    return one.startswith(other + "/") or other.startswith(one + "/")


def _config(project: Project, bare: bool) -> str:
    sections: dict[str, dict[str, str]] = {
        "core": {"repositoryformatversion": "0", "bare": str(bare).lower(), "logallrefupdates": "true"},
        "gc": {"auto": "0"},
        "maintenance": {"auto": "false"},
    }
    if project.object_format != "sha1":
        sections["core"]["repositoryformatversion"] = "1"
        sections["extensions"] = {"objectFormat": project.object_format}
    for entry in (*project.form, *project.identity):
        name, _, value = entry.partition("=")
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]\n")
        lines += [f"\t{key} = {_quoted(value)}\n" for key, value in values.items()]
    return "".join(lines)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
