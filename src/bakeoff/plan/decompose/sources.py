"""The files of a project that are worth a place in a plan, as git knows them, and what they import."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bakeoff.plan.decompose.graph.cache import ScanCache
from bakeoff.plan.decompose.graph.import_graph import import_graph, language_of
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.errors import DecomposeError
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.snapshot.project import Project

Result = TypeVar("Result")

MARKS = ("linguist-generated", "gitlab-generated", "linguist-vendored", "binary")
"""Attributes that keep a file out, when they are set or `true`."""

PER_TOKEN = {".json": 3.6, ".md": 4.2, ".rst": 4.2, ".txt": 4.2, ".adoc": 4.2}
"""Bytes for a token by kind of file."""

OF_CODE = 3.2
"""Bytes for a token of all other files."""

LARGEST = 4 << 20
"""Bytes of a file beyond which its imports are not looked for."""

BINARY = frozenset((
    ".7z", ".ai", ".avif",
    ".bin", ".bmp", ".bz2", ".class", ".dll", ".dylib", ".eot", ".exe", ".gif", ".gz", ".ico", ".jar",
    ".jpeg", ".jpg", ".mov", ".mp3", ".mp4", ".npy", ".npz", ".o", ".otf", ".pdf", ".png", ".pyc", ".so", ".tar",
    ".tif", ".tiff", ".ttf", ".wasm", ".wav", ".webm", ".webp", ".whl", ".woff", ".woff2", ".xls", ".xlsx", ".xz",
    ".zip",
))  # fmt: skip
"""Names that binary files end with; others are told by what they begin with where their name says nothing."""

TEXT = frozenset((
    ".adoc", ".c", ".cc", ".cfg", ".conf", ".cpp", ".cs", ".css", ".csv", ".dart", ".go", ".gradle", ".h", ".hpp",
    ".html", ".ini", ".java", ".js", ".json", ".jsx", ".kt", ".less", ".lock", ".lua", ".md", ".mjs", ".php", ".pl",
    ".po", ".proto", ".py", ".pyi", ".pyx", ".r", ".rb", ".rs", ".rst", ".sass", ".scala", ".scss", ".sh", ".sql",
    ".svelte", ".svg", ".swift", ".toml", ".ts", ".tsx", ".txt", ".vue", ".xml", ".yaml", ".yml",
))  # fmt: skip
"""Names that text files end with: these are not opened to find out."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files that are split.

    Attributes:
        blobs: of each file whose content is that of the index, the blob's id.
        skipped: how many were left out, by the reason.
        sizes: bytes of each file.
    """

    files: tuple[SourceFile, ...]
    blobs: Mapping[str, str]
    skipped: Mapping[str, int]
    sizes: Mapping[str, int]


def project_files(
    project: Project, within: Iterable[str] = (), *, untracked: bool = False, exclude: Sequence[str] = ()
) -> ProjectFiles:
    """The tracked text files of the work tree that nothing marks as generated or vendored. Blocks.

    Args:
        project: the user's work tree.
        within: files and folders below its root that are meant; none for all.
        untracked: take files that git neither tracks nor ignores, too.
        exclude: what to leave out, in the words of `.gitignore`.

    Passes on GitError, and DecomposeError: there is nothing that git knows at a path of `within`.
    """
    git = project.git().at(env={"GIT_LITERAL_PATHSPECS": "1"})
    places = ["--", *within]
    hidden = [f"--exclude={pattern}" for pattern in exclude]
    with ThreadPoolExecutor(2) as pool:  # git looks at the files while we do
        changed = _beside(pool, git.run, "diff-files", "--name-only", "-z", *places)
        blobs, skipped = _tracked(git.run("ls-files", "-s", "-z", *places))
        paths = list(blobs)
        if untracked:
            paths += _fields(git.run("ls-files", "-o", "-z", "--exclude-standard", *hidden, *places))
        _nothing_missing(within, paths)
        left_out = set(_fields(git.run("ls-files", "-c", "-i", "-z", *hidden, *places))) if hidden else set()
        wanted = [path for path in paths if path not in left_out]
        marked = _beside(pool, _marked, project, wanted)
        root = str(project.root)
        measured = {path: _measured(root, path) for path in wanted}
        reasons = {path: reason for path, reason in measured.items() if isinstance(reason, str)} | marked.result()
        for path in _fields(changed.result()):
            blobs.pop(path, None)
    skipped.update(reasons.values())
    skipped["excluded"] = len(paths) - len(wanted)
    sizes = {path: size for path, size in measured.items() if isinstance(size, int) and path not in reasons}
    files = tuple(SourceFile(path, _tokens(path, size)) for path, size in sizes.items())
    kept = {path: blobs[path] for path in sizes if path in blobs}
    return ProjectFiles(files, kept, {name: count for name, count in sorted(skipped.items()) if count}, sizes)


def _beside(pool: Executor, work: Callable[..., Result], *args: Any) -> Future[Result]:
    """Let another thread do it, which cancelling this one's work stops, too."""
    return pool.submit(copy_context().run, lambda: work(*args))


def _tracked(listing: bytes) -> tuple[dict[str, str], Counter[str]]:
    """The blob of each file in the index, and how many entries are something else."""
    blobs: dict[str, str] = {}
    others: Counter[str] = Counter()
    for entry in _fields(listing):
        about, _, path = entry.partition("\t")
        mode, blob, _ = about.split(" ")
        if mode in ("120000", "160000"):
            others["symbolic link" if mode == "120000" else "submodule"] += 1
        else:
            blobs[path] = blob
    return blobs, others


def imports_of(project: Project, found: ProjectFiles, cache: Path | None = None) -> dict[str, list[str]]:
    """Imports between the files: of each, those that it imports. Blocks.

    Args:
        project: the user's work tree.
        found: its files.
        cache: bakeoff's cache directory; None for the user's. What was read out of a blob before is found there.
    """
    kept = ScanCache(ProjectCache.of(project.common_dir, cache).root / "imports.db")
    languages = {file.path: language for file in found.files if (language := language_of(file.path)) is not None}
    keys = {path: f"{languages[path].name}:{found.blobs[path]}" for path in languages if path in found.blobs}
    known = kept.get(keys.values()) if keys else {}
    fresh: dict[str, list[str]] = {}
    specs: dict[str, list[str]] = {}
    for path, language in languages.items():
        key = keys.get(path)
        if key is not None and key in known:
            specs[path] = known[key]
            continue
        text = None if found.sizes[path] > LARGEST else _read(project.root, path)
        if text is None:
            continue
        if key is None:  # changed, or not tracked: kept under the id that it has once it is committed
            key = f"{language.name}:{_blob(text, project.object_format)}"
        specs[path] = fresh[key] = language.scan(text)
    if fresh:
        kept.add(fresh, len(languages))
    paths = [file.path for file in found.files]
    return import_graph(specs, paths, lambda path: _read(project.root, path))


def _fields(raw: bytes) -> list[str]:
    return os.fsdecode(raw).split("\0")[:-1]


def _nothing_missing(within: Iterable[str], paths: Sequence[str]) -> None:
    """Refuse places where there is nothing.

    Raises:
        DecomposeError: one is named.
    """
    for place in within:
        start = "" if place in ("", ".") else place.rstrip("/")
        if start and not any(path == start or path.startswith(f"{start}/") for path in paths):
            raise DecomposeError(f"git knows no file at {place}: name files or folders of the project, or --untracked")


def _marked(project: Project, paths: Sequence[str]) -> dict[str, str]:
    """Of each file that an attribute keeps out, the reason."""
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    raw = project.git().run("check-attr", "-z", "--stdin", *MARKS, data=data)
    if b"\0set\0" not in raw and b"\0true\0" not in raw:
        return {}  # as nearly everywhere: then so many fields need no look each
    fields = _fields(raw)
    triples = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    reasons = {name: name.rpartition("-")[2] for name in MARKS}
    return {path: reasons[name] for path, name, value in triples if value in ("set", "true")}


def _suffix(path: str) -> str:
    """Suffix of a file's name, in lower case; empty without a dot."""
    return path[dot:].lower() if (dot := path.rfind(".")) > path.rfind("/") else ""


def _measured(root: str, path: str) -> int | str:
    """The size of a file in bytes, or why it is left out."""
    suffix = _suffix(path)
    if suffix in BINARY:
        return "binary"
    try:
        about = os.lstat(f"{root}/{path}")
    except OSError:
        return "not there"
    if not stat.S_ISREG(about.st_mode):
        return "no file"
    if suffix not in TEXT and is_binary(_read(root, path, 8000) or b""):
        return "binary"
    return about.st_size


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is none of text: it has a zero byte, or is no UTF-8 and has control characters."""
    if b"\0" in head:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # what is cut off at the end is no mistake
        return False
    except UnicodeDecodeError:
        return len(_CONTROL.findall(head)) * 100 > len(head)


_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


def _read(root: str | Path, path: str, limit: int = LARGEST) -> bytes | None:
    """The beginning of a regular file; None where there is none that can be read."""
    try:
        descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _tokens(path: str, size: int) -> int:
    return max(1, round(size / PER_TOKEN.get(_suffix(path), OF_CODE)))


def _blob(text: bytes, object_format: str) -> str:
    """The id that git would give this text as a blob."""
    return hashlib.new(object_format, b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
