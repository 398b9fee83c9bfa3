"""One output of a running process: masked, kept in memory while small, in a file once it is large."""

from __future__ import annotations

import os

MASK = b"***"


class Mask:
    """Replaces secrets in a stream, also where a chunk's border cuts one in two."""

    def __init__(self, forms: tuple[bytes, ...]) -> None:
        import re

        self._forms = forms
        self._longest = max(map(len, forms))
        self._search = re.compile(b"|".join(map(re.escape, forms))).search
        self._held = b""

    def feed(self, chunk: bytes, last: bool = False) -> bytes:
        """Output that may be shown now; what may be the beginning of a secret waits for the next chunk."""
        data = self._held + chunk
        shown: list[bytes] = []
        start = 0
        held = len(data) if last else self._open_end(data, 0)
        while (match := self._search(data, start)) and match.start() < held:
            shown += data[start : match.start()], MASK
            start = match.end()
            if start > held:
                held = self._open_end(data, start)
        shown.append(data[start:held])
        self._held = data[held:]
        return b"".join(shown)

    def _open_end(self, data: bytes, start: int) -> int:
        """The first place from which the rest of `data` is a proper beginning of a secret."""
        end = len(data)
        first = end
        for form in self._forms:
            place = data.find(form[:1], max(start, end - self._longest + 1))
            while -1 < place < first:
                if end - place < len(form) and form.startswith(data[place:]):
                    first = place
                place = data.find(form[:1], place + 1)
        return first


class Stream:
    """One output of a process: its pipe, what is kept of it in memory, and its file once it has one."""

    __slots__ = (
        "excerpt", "fd", "file", "full", "head", "inline", "kept", "limit",
        "lossy", "lost", "mask", "path", "shown", "size", "stored", "tail",
    )  # fmt: skip

    def __init__(
        self,
        fd: int,
        path: bytes | None,
        limit: int,
        sizes: tuple[int, int],
        mask: Mask | None,
        shown: bool,
        lossy: bool = False,
    ) -> None:
        self.fd = fd
        self.inline, self.excerpt = sizes
        self.path = path
        self.limit = limit
        self.mask = mask
        self.shown = shown
        self.lossy, self.lost = lossy, False
        self.file = -1
        self.full = False
        self.kept: bytearray | None = bytearray()
        self.head = self.tail = b""
        self.size = self.stored = 0

    def take(self, chunk: bytes, to_file: bool) -> bytes:
        """Keep `chunk`, return what may be shown of it.

        Raises:
            OSError: the file could not be written, though it must be; nothing more is kept.
        """  # noqa: DOC502 - it comes out of _write
        room = self.limit - self.size
        self.size += len(chunk)
        if self.full:
            return b""
        if len(chunk) > room:
            chunk, self.full = chunk[:room], True
        piece = chunk if self.mask is None else self.mask.feed(chunk)
        self._keep(piece, to_file)
        return piece

    def finish(self) -> bytes:
        """Keep and return what masking held back, and give bytes that are not UTF-8 a file.

        Raises:
            OSError: the file could not be written.
        """  # noqa: DOC502 - it comes out of _write
        if self.full:
            return b""  # and what is held back may be a secret that the limit has cut
        piece = b"" if self.mask is None else self.mask.feed(b"", True)
        if piece:
            self._keep(piece, False)
        if self.kept and self.file < 0:
            try:
                self.kept.decode()
            except UnicodeDecodeError:
                self._write(self.kept)
        return piece

    def _keep(self, piece: bytes, to_file: bool) -> None:
        self.stored += len(piece)
        if self.kept is None:
            self.tail = (self.tail + piece[-self.excerpt :])[-self.excerpt :]
            self._write(piece)
            return
        self.kept += piece
        whole = self.kept
        outgrown = (self.path is not None or self.lost) and len(whole) > self.inline
        if outgrown:
            self.head, self.tail = bytes(whole[: self.excerpt]), bytes(whole[-self.excerpt :])
            self.kept = None
        if self.file >= 0:
            self._write(piece)
        elif whole and (to_file or outgrown):
            self._write(whole)

    def _write(self, piece: bytes | bytearray) -> None:
        if self.path is None:
            return
        try:
            if self.file < 0:
                self.file = _create(self.path)
            view = memoryview(piece)
            while view:
                view = view[os.write(self.file, view) :]
        except OSError:
            if self.lossy:
                self._lose()
                return
            self.full = True
            if self.file >= 0:
                self.stored = os.fstat(self.file).st_size
            raise

    def _lose(self) -> None:
        """Go on without the file."""
        if self.file >= 0:
            os.close(self.file)
        self.file, self.path, self.lost = -1, None, True

    def summary(self) -> tuple[bytearray | None, bytes, bytes, int, int, bytes | None]:
        """Summary for the coordinator: kept, head, tail, size, bytes stored, path of the file."""
        return self.kept, self.head, self.tail, self.size, self.stored, self.path if self.file >= 0 else None


def _create(path: bytes) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)
