"""Reconciling the documents of a collection with its files: look, plan, read and write in small steps.

What cannot be listed or read deletes nothing. A folder that suddenly loses most of its files is looked at twice, and
one that is empty on another disk than before counts as a mount that is not there.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.collections import collection_rows, document_writes, file_plan, file_rows
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.document_writes import DocumentWriter
from vaults.domain.collections.file_kinds import make_rules
from vaults.domain.collections.file_plan import CollectionPlan, FileBudget
from vaults.domain.collections.file_reading import FileReader, FileReading
from vaults.domain.collections.file_rows import KnownFile
from vaults.errors import VaultUnavailable
from vaults.files.file_walk import FileWalk, FoundFile, walk_files
from vaults.files.folders import VaultRoot
from vaults.vault import Vault

READ_AT_ONCE = 4
"""Files of one collection that are read at a time."""

GONE_AT_ONCE = 8
"""Documents that are deleted in one transaction."""


class FilesVanished(VaultUnavailable):
    """Most files are missing: their disk may come back. ``missing`` says how many."""

    def __init__(self, missing: int) -> None:
        super().__init__("most files are missing of a sudden", hint="they are looked for once more")
        self.missing = missing


async def look_at_all(vault: Vault, collection: Collection, *, expected: int = 0) -> None:
    """Bring the documents of a collection up to date with all of its folder. Raises ``VaultUnavailable`` if that cannot
    be read or its disk is gone, ``FilesVanished`` if most files are missing, unless as many (``expected``) were missing
    before, and ``CollectionChanged``."""
    state = await vault.db.read(lambda tx: collection_rows.read_state(tx, collection.seq))
    if state.revision != collection.revision:
        await document_writes.relabel(vault, collection)
    known = await vault.db.read(lambda tx: file_rows.find_known(tx, collection.seq))
    walk = await run_in(vault.shared.pool, _walk, collection, "")
    walk = file_plan.keep_within(walk, _budget_of(vault, collection))
    plan = file_plan.plan_files(known, walk)
    if file_plan.has_vanished(len(plan.gone), len(known)):
        if not walk.found and state.device not in (None, walk.device):
            raise VaultUnavailable("the disk of the folder is not there")
        if len(plan.gone) > expected:
            raise FilesVanished(len(plan.gone))
    await _apply(vault, collection, plan, known)
    await vault.db.write(lambda tx: _finish(tx, collection, walk))


async def look_at(vault: Vault, collection: Collection, paths: Sequence[str]) -> None:
    """Bring some files, or what lies in some folders, up to date. Raises as ``look_at_all``."""
    known = await vault.db.read(
        lambda tx: {name: row for path in paths for name, row in file_rows.find_known(tx, collection.seq, path).items()}
    )
    walks = await run_in(vault.shared.pool, lambda: [_walk(collection, path) for path in paths])
    found = {each.path: each for walk in walks for each in walk.found}
    walk = FileWalk(list(found.values()), unread=[each for walk in walks for each in walk.unread])
    totals = await vault.db.read(lambda tx: file_rows.count_files(tx, collection.seq))
    budget, taken = _budget_of(vault, collection), sum(each.size for each in known.values())
    room = FileBudget(budget.files - totals.files + len(known), budget.bytes - totals.bytes + taken)
    plan = file_plan.plan_files(known, file_plan.keep_within(walk, room), touched=frozenset(paths))
    if file_plan.has_vanished(len(plan.gone), totals.files):
        await look_at_all(vault, collection)
        return
    await _apply(vault, collection, plan, known)
    if plan.read or plan.gone:
        await vault.db.write(lambda tx: _finish(tx, collection, None))


def _walk(collection: Collection, below: str) -> FileWalk:
    root = collection.fields.root
    if os.path.realpath(root) != str(root):
        raise VaultUnavailable("the folder is a link now, and may lead anywhere")
    return walk_files(VaultRoot(root), make_rules(collection.fields), below)


def _budget_of(vault: Vault, collection: Collection) -> FileBudget:
    size = vault.shared.code.max_size if collection.fields.kind == "code" else 1 << 62
    return FileBudget(vault.shared.collections.max_files, size)


async def _apply(vault: Vault, collection: Collection, plan: CollectionPlan, known: Mapping[str, KnownFile]) -> None:
    if not plan.read and not plan.gone:
        return
    vault.disk.check_writable_in_bulk()
    await vault.adopt_model()
    run = DocumentWriter(vault, collection, Actor(collection.added_by, ""), {each.path: each for each in plan.gone})
    for each in plan.gone:
        run.by_hash.setdefault(each.hash or "", []).append(each.path)
    run.by_hash.pop("", None)
    await _read_all(run, plan.read, known)
    await _drop_gone(vault, collection, list(run.left.values()))
    if run.owed:
        vault.start_background_work()


async def _read_all(run: DocumentWriter, reads: Sequence[FoundFile], known: Mapping[str, KnownFile]) -> None:
    """Read a batch while the one before it is written."""
    reader = FileReader(run.vault, run.collection)
    turns = asyncio.Semaphore(READ_AT_ONCE)

    async def read(found: FoundFile) -> FileReading:
        async with turns:
            return await reader.read(found, known.get(found.path))

    async def read_batch(batch: Sequence[FoundFile]) -> list[FileReading]:
        return list(await asyncio.gather(*map(read, batch)))

    ahead: asyncio.Task[list[FileReading]] | None = None
    try:
        for batch in [*file_plan.split_batches(reads), None]:
            done = await ahead if ahead is not None else []
            ahead = asyncio.create_task(read_batch(batch)) if batch is not None else None
            if done:
                await run.vault.db.write(partial(run.write, done))
    finally:
        if ahead is not None and not ahead.done():
            ahead.cancel()
            await asyncio.gather(ahead, return_exceptions=True)


async def _drop_gone(vault: Vault, collection: Collection, gone: Sequence[KnownFile]) -> None:
    for start in range(0, len(gone), GONE_AT_ONCE):
        await vault.db.write(partial(_drop_some, collection, gone[start : start + GONE_AT_ONCE]))


def _drop_some(collection: Collection, gone: Sequence[KnownFile], tx: Writer) -> None:
    document_writes.check_current(tx, collection)
    document_writes.drop_files(tx, collection.seq, gone)


def _finish(tx: Writer, collection: Collection, walk: FileWalk | None) -> None:
    """Record how the collection is now. ``walk``: of all of it."""
    document_writes.check_current(tx, collection)
    totals = file_rows.count_files(tx, collection.seq)
    state = replace(
        collection_rows.read_state(tx, collection.seq),
        phase="ready",
        reason=None,
        files=totals.files,
        documents=totals.documents,
        problems=totals.problems,
        bytes=totals.bytes,
    )
    if walk is not None:
        left_out = walk.left_out + Counter(file_rows.count_left_out(tx, collection.seq))
        state = replace(
            state, revision=collection.revision, read_at=clock.now(), device=walk.device, left_out=dict(left_out)
        )
    collection_rows.write_state(tx, collection.seq, state)
