"""The files of a project that are worth a place in a plan, as git knows them, and what they import."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.plan.decompose.errors import DecomposeError
from bakeoff.plan.decompose.graph.cache import ScanCache
from bakeoff.plan.decompose.graph.graph import import_graph, language_of
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.workspace.cache import ProjectCache
from bakeoff.workspace.project import Project

MARKS = ("linguist-generated", "gitlab-generated", "linguist-vendored", "binary")
"""Attributes that keep a file out, when they are set or `true`."""

PER_TOKEN = {".json": 3.6, ".md": 4.2, ".rst": 4.2, ".txt": 4.2, ".adoc": 4.2}
"""Bytes for a token by kind of file."""

OF_CODE = 3.2
"""Bytes for a token of all other files."""

LARGEST = 4 << 20
"""Bytes of a file beyond which its imports are not looked for."""

BINARY = (
    ".7z", ".avif", ".bin", ".bmp", ".bz2", ".class", ".dll", ".dylib", ".eot", ".exe", ".gif", ".gz", ".ico", ".jar",
    ".jpeg", ".jpg", ".mov", ".mp3", ".mp4", ".npy", ".npz", ".o", ".otf", ".pdf", ".png", ".pyc", ".so", ".tar",
    ".tif", ".tiff", ".ttf", ".wasm", ".wav", ".webm", ".webp", ".whl", ".woff", ".woff2", ".xls", ".xlsx", ".xz",
    ".zip",
)  # fmt: skip
"""Names that binary files end with; others are told by a zero byte where their name says nothing."""

TEXT = (
    ".adoc", ".c", ".cc", ".cfg", ".conf", ".cpp", ".cs", ".css", ".csv", ".dart", ".go", ".gradle", ".h", ".hpp",
    ".html", ".ini", ".java", ".js", ".json", ".jsx", ".kt", ".less", ".lock", ".lua", ".md", ".mjs", ".php", ".pl",
    ".po", ".proto", ".py", ".pyi", ".pyx", ".r", ".rb", ".rs", ".rst", ".sass", ".scala", ".scss", ".sh", ".sql",
    ".svelte", ".svg", ".swift", ".toml", ".ts", ".tsx", ".txt", ".vue", ".xml", ".yaml", ".yml",
)  # fmt: skip
"""Names that text files end with: these are not opened to find out."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files that are split.

    Attributes:
        files: each with its tokens.
        blobs: of each file whose content is that of the index, the blob's id.
        skipped: how many were left out, by the reason.
        sizes: bytes of each file.
    """

    files: tuple[SourceFile, ...]
    blobs: Mapping[str, str]
    skipped: Mapping[str, int]
    sizes: Mapping[str, int] = field(default_factory=dict)


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
    git = project.git()
    literal = git.at(env={"GIT_LITERAL_PATHSPECS": "1"})
    places = ["--", *within]
    blobs: dict[str, str] = {}
    skipped: Counter[str] = Counter()
    for entry in _fields(literal.run("ls-files", "-s", "-z", *places)):
        about, _, path = entry.partition("\t")
        mode, blob, _ = about.split(" ")
        if mode in ("120000", "160000"):
            skipped["symbolic link" if mode == "120000" else "submodule"] += 1
        else:
            blobs[path] = blob
    paths = list(blobs)
    hidden = [f"--exclude={pattern}" for pattern in exclude]
    if untracked:
        paths += _fields(literal.run("ls-files", "-o", "-z", "--exclude-standard", *hidden, *places))
    _nothing_missing(within, paths)
    left_out = set(_fields(literal.run("ls-files", "-c", "-i", "-z", *hidden, *places))) if hidden else set()
    skipped["excluded"] = len(left_out & set(paths))
    for path in _fields(literal.run("diff-files", "--name-only", "-z", *places)):
        blobs.pop(path, None)
    paths = [path for path in paths if path not in left_out]
    marked = _marked(project, paths)
    sizes: dict[str, int] = {}
    for path in paths:
        reason = marked.get(path) or _measure(project.root, path, sizes)
        if reason is not None:
            skipped[reason] += 1
    files = tuple(SourceFile(path, _tokens(path, size)) for path, size in sizes.items())
    kept = {path: blobs[path] for path in sizes if path in blobs}
    return ProjectFiles(files, kept, {name: count for name, count in sorted(skipped.items()) if count}, sizes)


def imports_of(project: Project, found: ProjectFiles, cache: Path | None = None) -> dict[str, list[str]]:
    """Which of the files each of them imports. Blocks.

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
        if key is None:  # changed, or not tracked: known all the same if it was seen before
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


def _measure(root: Path, path: str, sizes: dict[str, int]) -> str | None:
    """Put the file's size into `sizes`, or return why it is left out."""
    lower = path.lower()
    if lower.endswith(BINARY):
        return "binary"
    try:
        about = os.lstat(f"{root}/{path}")
    except OSError:
        return "not there"
    if not stat.S_ISREG(about.st_mode):
        return "no file"
    if not lower.endswith(TEXT) and b"\0" in (_read(root, path, 8000) or b""):
        return "binary"
    sizes[path] = about.st_size
    return None


def _read(root: Path, path: str, limit: int = LARGEST) -> bytes | None:
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
    return max(1, round(size / PER_TOKEN.get(os.path.splitext(path)[1].lower(), OF_CODE)))


def _blob(text: bytes, object_format: str) -> str:
    """The id that git would give this text as a blob."""
    return hashlib.new(object_format, b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
