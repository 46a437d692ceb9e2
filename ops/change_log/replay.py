"""A database as it was at a commit: the last base before it, and every commit since, each checked by the digest of the
whole database after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ops.change_log import bases
from ops.change_log.bases import BaseManifest
from ops.change_log.failures import broken_log
from ops.change_log.lines import line_key, read_lines, segment_key
from ops.change_log.names import LineListing, SegmentName
from ops.change_log.page_digests import PageDigests, digest_page
from ops.change_log.points import LogPoint
from ops.change_log.records import WHOLE, LoggedCommit, subtract
from ops.change_log.segments import hash_of, read_head, read_records
from ops.change_log.store import LogStore, plain
from vaults.errors import NotFound
from vaults.files.atomic import sync_folder
from vaults.files.permissions import FILE_MODE


def materialise(
    store: LogStore,
    vault_id: str,
    into: Path,
    point: LogPoint,
    *,
    unseal: Callable[[bytes], bytes] = plain,
) -> None:
    """Write the database as it was at ``point`` to ``into``, which must not exist: one file, page by page what it was.
    Blocking. Raises ``InvalidArgument`` naming what the log lacks or what of it is damaged, and leaves nothing."""
    line = _find_line(store, vault_id, point)
    with ExitStack() as undo:
        descriptor = os.open(into, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        undo.callback(into.unlink)
        try:
            _write(store, vault_id, line, point.sequence, _Pages(descriptor), unseal)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(into.parent)
        undo.pop_all()


def _find_line(store: LogStore, vault_id: str, point: LogPoint) -> LineListing:
    for line in read_lines(store, vault_id):
        if line.name == point.line:
            return line
    raise NotFound("the change log holds that moment no longer")


class _Pages:
    """The file that is written, and the digests of what is in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._page_size = 0
        self.digests = PageDigests(512)

    def lay_base(self, manifest: BaseManifest, parts: Iterator[bytes]) -> None:
        self._page_size = manifest.page_size
        self.digests = PageDigests(manifest.page_size)
        for part in parts:
            self._write_at(self.digests.size * self._page_size, part)
            for offset in range(0, len(part), self._page_size):
                number = self.digests.size + 1
                self.digests.set(number, digest_page(number, part[offset : offset + self._page_size]))
        if self.digests.total.hex() != manifest.digest:
            raise broken_log(f"holds a base that is not the database it was made of: {manifest.name}")

    def apply(self, record: LoggedCommit) -> None:
        known = self.digests.size
        self.digests.resize(record.size)
        if record.size != known:
            os.ftruncate(self._descriptor, record.size * self._page_size)
        for each in record.pages:
            offset = (each.number - 1) * self._page_size
            data = each.data
            if each.kind != WHOLE:
                data = subtract(os.pread(self._descriptor, self._page_size, offset), data)
            self._write_at(offset, data)
            self.digests.set(each.number, digest_page(each.number, data))
        if self.digests.total != record.digest:
            raise broken_log(f"does not lead to what the database was after commit {record.sequence}")

    def _write_at(self, offset: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written


def _write(
    store: LogStore,
    vault_id: str,
    line: LineListing,
    until: int,
    pages: _Pages,
    unseal: Callable[[bytes], bytes],
) -> None:
    start = max((each for each in line.bases if each.sequence <= until), default=None)
    if start is None:
        raise NotFound("the change log holds that moment no longer")
    manifest = bases.read_manifest(store, vault_id, line.name, start)
    pages.lay_base(manifest, bases.read_parts(store, vault_id, manifest, unseal))
    reached = start.sequence
    for data in _chained(store, vault_id, line, [each for each in line.segments if each.last > reached], until):
        for record in read_records(data, unseal):
            if reached < record.sequence <= until:
                if record.sequence != reached + 1:
                    raise broken_log(f"lacks commit {reached + 1}")
                pages.apply(record)
                reached = record.sequence
    if reached != until:
        raise broken_log(f"ends with commit {reached}, before commit {until}")


def _chained(
    store: LogStore, vault_id: str, line: LineListing, names: list[SegmentName], until: int
) -> Iterator[bytes]:
    """The segments, each the one the next names as its predecessor."""
    previous = hash_of(store.get(line_key(vault_id, line.name))) if names and names[0].number == 0 else None
    number = names[0].number if names else 0
    for name in names:
        if name.number != number:
            raise broken_log(f"lacks segment {number}")
        data = store.get(segment_key(vault_id, line.name, name))
        head = read_head(data)
        if head.name != name or head.line != line.name or (previous is not None and head.previous != previous):
            raise broken_log(f"holds another segment than was written as number {number}")
        yield data
        if name.last >= until:
            return
        previous, number = hash_of(data), number + 1
