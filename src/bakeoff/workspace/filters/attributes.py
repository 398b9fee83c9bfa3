"""Git attributes of a tree, and the conversions they name: content filters, line ends, encodings, keywords.

git sees a folder with nothing but rules: copies of `.gitattributes` and `.gitignore` files. What stands in a slot is
never its work tree, so that no link or pipe there can hold or mislead it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.errors import GitError, NoSpaceError
from bakeoff.workspace.filters.drivers import Driver, missing_program
from bakeoff.workspace.filters.nondeterministic import unchanged
from bakeoff.workspace.full_disk import no_room
from bakeoff.workspace.repository.git import Git, says_full
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.snapshot.project import Project

ATTRIBUTES = b".gitattributes"
_NONE = (b"unspecified", b"unset", b"set")
_MOST_FAILURES = 20
"""Files of a batch that are tried after one failed; each costs another git."""

Entry = tuple[bytes, bytes]
"""Mode and object id."""


class Rules:
    """A folder with copies of rule files, to be the work tree of a git that is asked about paths.

    Attributes:
        folder: its path.
        names: which files are rules.
        read: the text of the rule file at a path; None for none.
        whole: make all folders on the way to what is asked about, also those without rules.
        found: the names of those that were found.
    """

    def __init__(
        self, folder: Path, names: Sequence[bytes], read: Callable[[bytes], bytes | None], *, whole: bool
    ) -> None:
        self.folder = folder
        self.names = names
        self.read = read
        self.whole = whole
        self.found: set[bytes] = set()
        self._made: set[bytes] = set()
        folder.mkdir()
        self._make(b"")

    def cover(self, paths: Iterable[bytes]) -> None:
        """Put the rules there that hold for these files."""
        for path in paths:
            self._make(path.rpartition(b"/")[0])

    def _make(self, folder: bytes) -> None:
        """The folder, and those that it lies in, with the rules that stand in them."""
        missing = []
        while folder not in self._made:
            self._made.add(folder)
            missing.append(folder)
            folder = folder.rpartition(b"/")[0]
        for inner in reversed(missing):
            if self.whole:
                (self.folder / os.fsdecode(inner)).mkdir(exist_ok=True)
            for name in self.names:
                path = inner + b"/" + name if inner else name
                text = self.read(path)
                if text is not None:
                    self.place(path).write_bytes(text)
                    self.found.add(name)

    def place(self, path: bytes) -> Path:
        """Destination of the file at that path."""
        place = self.folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def attributes_of(git: Git, paths: Iterable[bytes], names: Sequence[str]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Path, name and value of each of these attributes of each path."""
    data = b"".join(path + b"\0" for path in paths)
    if data:
        out = git.run("check-attr", "-z", "--stdin", *names, data=data).split(b"\0")
        yield from zip(out[::3], out[1::3], out[2::3], strict=False)


def filter_names(git: Git, paths: Iterable[bytes]) -> dict[bytes, str]:
    """The names of the filters that attributes give to paths, as far as they give any."""
    found = attributes_of(git, paths, ["filter"])
    return {path: os.fsdecode(value) for path, _, value in found if value not in _NONE}


def rules_of(repository: Repository, files: Mapping[bytes, Entry]) -> dict[bytes, bytes]:
    """The texts of the `.gitattributes` among the files of a tree; links count for none, as git has it."""
    wanted = [path for path, (mode, _) in files.items() if is_rule(path) and mode.startswith(b"100")]
    git = repository.git()
    return {path: git.run("cat-file", "blob", files[path][1]) for path in wanted}


def is_rule(path: bytes) -> bool:
    """Whether a file at that path has attributes."""
    return path == ATTRIBUTES or path.endswith(b"/" + ATTRIBUTES)


@contextmanager
def merging_by(git: Git, rules: Mapping[bytes, bytes] | None) -> Iterator[Git]:
    """Our git, that merges as these `.gitattributes` say: by git's own drivers (`merge=union`, `-merge`), no others.

    Passes on OSError: there is no room for them beside the repository.
    """
    if not rules:
        yield git
        return
    with scratch_folder(".merge.", git.directory) as place:
        laid = Rules(Path(place) / "tree", [ATTRIBUTES], rules.get, whole=False)
        laid.cover(rules)
        yield git.at(work_tree=laid.folder, cwd=laid.folder)


class Filters:
    """The user's content filters, run where the attributes of one tree (and the user's own) say so.

    The tree is one that the user has: who writes another `.gitattributes` does not choose what runs.
    """

    def __init__(self, project: Project, repository: Repository, rules: Mapping[bytes, bytes], folder: Path) -> None:
        self._drivers = {driver.name: driver for driver in project.filters}
        self._active = any(b"filter" in text for text in (*rules.values(), project.attributes))
        self._root = project.root
        self._folder = folder
        self._rules = Rules(folder / "tree", [ATTRIBUTES], rules.get, whole=False)
        self._git = repository.git_for(project, self._rules.folder, folder / "index")

    def named(self, paths: Iterable[bytes]) -> dict[bytes, str]:
        """The names of the filters that attributes give to paths, whether the user's configuration has such or not."""
        asked = list(paths) if self._active else []
        self._rules.cover(asked)
        return filter_names(self._git, asked)

    def of(self, paths: Iterable[bytes]) -> dict[bytes, Driver]:
        """The filters that content at these paths goes through."""
        names = self.named(paths) if self._drivers else {}
        return {path: self._drivers[name] for path, name in names.items() if name in self._drivers}

    def stored(
        self,
        contents: Mapping[bytes, Path],
        drivers: Mapping[bytes, Driver],
        known: Mapping[bytes, Entry] | None = None,
    ) -> Stored:
        """Store files under paths whose filters those are, as `git add` would; one whose filter fails is not stored.

        What is just what a checkout makes of the blob that is `known` at its path, is that. The files are moved.

        Passes on GitError.
        """
        used = {driver for driver in drivers.values() if driver.cleans}
        # A filter that is there and fails is no reason to store what it should have changed.
        strict = sorted(driver.name for driver in used if missing_program(driver.cleans, self._root) is None)
        git = self._git.at(config=(*self._git.config, *(f"filter.{name}.required=true" for name in strict)))
        self._rules.cover(contents)
        plain = {path: file for path, file in contents.items() if not is_rule(path)}
        for path, file in plain.items():
            file.replace(self._rules.place(path))
        found = store(git, list(plain), known)
        for path in contents.keys() - plain.keys():  # at its path it would be a rule
            found.take(path, git, contents[path].read_bytes())
        before = {
            path: entry
            for path, entry in (known or {}).items()
            if path in plain and found.ids.get(path, entry[1]) != entry[1] and drivers[path].may_salt
        }
        for path in unchanged(self._git, before, self._rules.folder, self._folder / "known"):
            found.ids[path] = before[path][1]
        return found

    def store(self, contents: Mapping[bytes, bytes]) -> Stored:
        """The same for contents. Passes on GitError."""
        files = {}
        for number, (path, content) in enumerate(contents.items()):
            files[path] = self._folder / f"content.{number}"
            files[path].write_bytes(content)
        return self.stored(files, self.of(contents))

    def smudged(self, entries: Mapping[bytes, Entry], target: Path) -> None:
        """Write into the folder `target` what a checkout would have of these blobs at these paths.

        Passes on GitError: a filter that is required failed, or a blob is not there.
        """
        self._rules.cover(entries)
        lines = b"".join(b"%s %s\t%s\0" % (mode, oid, path) for path, (mode, oid) in entries.items())
        self._git.run("update-index", "--add", "-z", "--index-info", data=lines)
        data = b"".join(path + b"\0" for path in entries)
        check_out(self._git, f"--prefix={target}/", data=data)


def check_out(git: Git, *options: str, data: bytes | None = None) -> None:
    """Write files of git's index: those that stand in `data`, each with a NUL behind it; all without.

    Raises:
        GitError: git failed, or a content filter did that has to succeed.
        NoSpaceError: the disk is full.
    """
    try:
        which = ("--all",) if data is None else ("-z", "--stdin")
        git.run("checkout-index", "--quiet", *options, *which, data=data or b"")
    except NoSpaceError:
        raise
    except GitError as failure:
        if b"smudge filter" not in str(failure).encode():
            raise
        raise GitError(
            f"a content filter of your git configuration failed when files were checked out: {failure}; mend it (for "
            "LFS, `git lfs pull`), or take `filter.NAME.required` away to have such files as git stores them",
            failure.status,
        ) from failure


class Stored:
    """Outcome of storing files: object ids, and the reasons of those that could not be stored."""

    def __init__(self) -> None:
        self.ids: dict[bytes, bytes] = {}
        self.failed: dict[bytes, str] = {}

    def take(self, path: bytes, git: Git, content: bytes) -> None:
        """Store one content under a path. Passes on GitError."""
        asked = ("hash-object", "-w", "--stdin", "--path", path)
        status, out, said = git.both(*asked, data=content, statuses=range(256))
        if status:
            self.failed[path] = _reason(git, said)
        else:
            self.ids[path] = out.strip()


def store(git: Git, paths: Sequence[bytes], known: Mapping[bytes, Entry] | None = None) -> Stored:
    """Store what stands at the paths of git's work tree, as `git add` would, by few gits for all.

    Args:
        git: its index is overwritten.
        paths: files in its work tree.
        known: what an index has there: with automatic line ends, those of a text that is stored with CRLF stay.

    Passes on GitError.
    """
    found = Stored()
    if not paths:
        return found
    before = {path: (known or {})[path] for path in paths if path in (known or {})}
    lines = b"".join(b"%s %s\t%s\0" % (*entry, path) for path, entry in before.items())
    git.run("update-index", "-z", "--index-info", data=lines)
    data = b"".join(path + b"\0" for path in paths)
    status, _, said = git.both("update-index", "--add", "-z", "--stdin", data=data, statuses=range(256))
    if status:
        _reason(git, said)
        alone, found.failed = _each(git, paths)
        data = b"".join(path + b"\0" for path in alone)
        if git.both("update-index", "--add", "-z", "--stdin", data=data, statuses=range(256))[0]:
            found.ids = alone  # a filter fails now and then, or only where there are many files
            return found
    for entry in git.run("ls-files", "-s", "-z").split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        if path not in found.failed:
            found.ids[path] = facts.split(b" ")[1]
    return found


def _each(git: Git, paths: Sequence[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
    """The ids of the files that can be stored, and why the others cannot; after some that fail no more is tried."""
    stored: dict[bytes, bytes] = {}
    failed: dict[bytes, str] = {}
    waiting = list(paths)
    while waiting and len(failed) < _MOST_FAILURES:
        data = b"".join(quoted(path) + b"\n" for path in waiting)
        status, out, said = git.both("hash-object", "-w", "--stdin-paths", data=data, statuses=range(256))
        ids = out.split()
        stored |= zip(waiting, ids, strict=False)
        if not status or len(ids) >= len(waiting):
            return stored, failed
        # It stops at the first that fails.
        failed[waiting[len(ids)]] = _reason(git, said)
        waiting = waiting[len(ids) + 1 :]
    return stored, failed | dict.fromkeys(waiting, "git could not store the files before it")


def _reason(git: Git, said: bytes) -> str:
    """The last line that git printed.

    Raises:
        NoSpaceError: the disk is full.
    """
    lines = said.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    if says_full("\n".join(lines)):
        raise NoSpaceError(no_room(f"of {git.objects}"))
    return f"git could not store it: {lines[-1].removeprefix('fatal: ')}"


def quoted(path: bytes) -> bytes:
    """A path as git reads any, between quotation marks."""
    return b'"' + b"".join(_QUOTED[byte] for byte in path) + b'"'


_QUOTED = [bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in range(256)]


@contextmanager
def filters_in(project: Project, repository: Repository, rules: Mapping[bytes, bytes]) -> Iterator[Filters]:
    """The filters by those rules, in a folder that is deleted at the end."""
    with temporary(repository) as folder:
        yield Filters(project, repository, rules, folder)


@contextmanager
def temporary(repository: Repository) -> Iterator[Path]:
    """A folder in that of the repository, deleted at the end."""
    with scratch_folder(".filters.", repository.path) as folder:
        yield Path(folder)
