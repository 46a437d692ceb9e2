"""A database as it was at a commit: the last base before it, and every commit since, each checked by the digest of the
whole database after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ops.change_log import bases
from ops.change_log.failures import broken_log
from ops.change_log.lines import line_key, read_lines, segment_key
from ops.change_log.names import LineListing, SegmentName
from ops.change_log.points import LogPoint
from ops.change_log.read_ahead import read_ahead
from ops.change_log.segments import hash_of, read_head, read_records
from ops.change_log.store import LogStore, plain
from vaults.db.replayed_file import ReplayedFile
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
            _write(store, vault_id, line, point.sequence, ReplayedFile(descriptor, broken_log), unseal)
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


def _write(
    store: LogStore,
    vault_id: str,
    line: LineListing,
    until: int,
    file: ReplayedFile,
    unseal: Callable[[bytes], bytes],
) -> None:
    start = max((each for each in line.bases if each.sequence <= until), default=None)
    if start is None:
        raise NotFound("the change log holds that moment no longer")
    manifest = bases.read_manifest(store, vault_id, line.name, start)
    file.lay_base(manifest.page_size, bases.read_parts(store, vault_id, manifest, unseal))
    if file.digests.total.hex() != manifest.digest:
        raise broken_log(f"holds a base that is not the database it was made of: {manifest.name}")
    reached = start.sequence
    for data in _chained(store, vault_id, line, [each for each in line.segments if each.last > reached], until):
        for record in read_records(data, unseal):
            if reached < record.sequence <= until:
                if record.sequence != reached + 1:
                    raise broken_log(f"lacks commit {reached + 1}")
                file.resize(record.size)
                file.apply(record.sequence, record.digest, record.pages)
                reached = record.sequence
    if reached != until:
        raise broken_log(f"ends with commit {reached}, before commit {until}")
    file.settle()


def _chained(
    store: LogStore, vault_id: str, line: LineListing, names: list[SegmentName], until: int
) -> Iterator[bytes]:
    """The segments, each the one the next names as its predecessor."""
    previous = hash_of(store.get(line_key(vault_id, line.name))) if names and names[0].number == 0 else None
    number = names[0].number if names else 0
    needed = names[: 1 + next((at for at, each in enumerate(names) if each.last >= until), len(names))]
    fetched = read_ahead(store, (segment_key(vault_id, line.name, each) for each in needed))
    for name, found in zip(needed, fetched, strict=True):
        if name.number != number:
            raise broken_log(f"lacks segment {number}")
        head = read_head(found.data)
        if head.name != name or head.line != line.name or (previous is not None and head.previous != previous):
            raise broken_log(f"holds another segment than was written as number {number}")
        yield found.data
        previous, number = found.hash, number + 1
