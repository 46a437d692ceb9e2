"""Having the log of a vault end with a database that was written elsewhere: what moves a vault into a cluster.

The first time the whole database is the base the log begins with. Later the pages that differ are appended, so that a
copy can be made while the vault is served, and the last one, for which it must rest, is short. What is the same costs
one comparison, so it may be repeated after a kill at any point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from vaults.cluster.page_frames import EntryHead, LogHead, PagePacker, encode
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.restore import restore
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.db.connection import Database
from vaults.db.page_changes import DIFFERENCE, WHOLE, PageChange
from vaults.db.page_digests import PageDigests, digest_page
from vaults.errors import InvalidArgument, StrongroomError
from vaults.files.scratch_folders import scratch_folder
from vaults.settings import StorageSettings

PREFIX = ".comparing-"

PAGES_AT_ONCE = 8192
"""Pages of one entry at most: 32 MB, which an entry holds however little they pack."""


@dataclass(frozen=True, slots=True)
class TransferredLog:
    """Where a log stands once it ends with a database. ``moved``: bytes of the database, or of the entries that were
    appended to what was there, 0 where it did so already; ``digest``: of the database, page by page, in hexadecimal
    digits."""

    placement: Placement
    digest: str
    moved: int


async def begin_log(held: HeldVault, database: Path, settings: StorageSettings) -> TransferredLog:
    """Begin a log that has not begun with the database at ``database``, which nobody has open."""
    lost: list[StrongroomError] = []
    pages = PageLog(database, settings, held, None, lost.append)
    db = Database(database, settings, log=pages)
    try:
        await db.run_on_writer(lambda raw: raw.execute("SELECT 1").fetchone())
    finally:
        await db.close()
    head = pages.head
    assert head is not None, "the base was stored, or that was raised"
    return TransferredLog(pages.placement, head.digest.hex(), head.size * head.page_size)


def bring_up(store: VaultLog, placement: Placement, database: Path, page_size: int) -> TransferredLog:
    """Append what makes of the log's end the database at ``database``: a file without a log beside it, which nobody has
    open. Blocking. Raises ``InvalidArgument`` for another size of pages, and what reading and appending raise."""
    with scratch_folder(database.parent, PREFIX) as scratch:
        before = scratch / "before.db"
        restored = restore(store, placement.vault, before, placement.head)
        if restored is None:
            raise InvalidArgument("placement", "has a log that has not begun")
        if restored.head.page_size != page_size:
            raise InvalidArgument("database", "has pages of another size than the log")
        with before.open("rb") as old, database.open("rb") as new:
            return _append_differences(store, placement, restored.head, old, new)


def digest_file(database: Path, page_size: int) -> str:
    """The digest of a database, page by page, in hexadecimal digits. Blocking."""
    with database.open("rb") as opened:
        return digest_pages(opened, page_size).total.hex()


def _append_differences(
    store: VaultLog, placement: Placement, head: LogHead, old: BinaryIO, new: BinaryIO
) -> TransferredLog:
    size, digests, moved = _pages_in(new, head.page_size), digest_pages(old, head.page_size), 0
    changes, packer = _differences(old, new, head, size, digests), PagePacker()
    while True:
        some = list(islice(changes, PAGES_AT_ONCE))
        is_last = len(some) < PAGES_AT_ONCE
        if is_last:
            digests.resize(size)
        if not some and digests.size == head.size:
            break
        pages, count = packer.pack(some)
        entry = EntryHead(
            head.seq + 1,
            placement.epoch,
            head.page_size,
            head.size,
            digests.size,
            count,
            digests.total,
            head.checksum,
        )
        payload, checksum = encode(placement.vault, entry, pages)
        placement = store.append(placement, payload)
        head, moved = head.after(entry, checksum), moved + len(payload)
        if is_last:
            break
    return TransferredLog(placement, digests.total.hex(), moved)


def _differences(old: BinaryIO, new: BinaryIO, head: LogHead, size: int, digests: PageDigests) -> Iterator[PageChange]:
    """The pages of ``new`` that differ, in order, and each that it has more; ``digests`` follow."""
    old.seek(0)
    new.seek(0)
    for number in range(1, size + 1):
        data = new.read(head.page_size)
        before = old.read(head.page_size) if number <= head.size else b""
        if data == before:
            continue
        digests.set(number, digest_page(number, data))
        if before:
            difference = np.frombuffer(data, np.uint64) ^ np.frombuffer(before, np.uint64)
            yield PageChange(number, DIFFERENCE, difference.tobytes())
        else:
            yield PageChange(number, WHOLE, data)


def digest_pages(opened: BinaryIO, page_size: int) -> PageDigests:
    """Of each page of a database file. Blocking."""
    digests = PageDigests(page_size)
    opened.seek(0)
    for number in range(1, _pages_in(opened, page_size) + 1):
        digests.set(number, digest_page(number, opened.read(page_size)))
    return digests


def _pages_in(opened: BinaryIO, page_size: int) -> int:
    return Path(opened.name).stat().st_size // page_size
