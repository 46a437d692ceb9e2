"""``remember``: store a memory durably and searchably, once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.memories import (
    commit_anchors,
    duplicate_merge,
    keyed_memories,
    lifecycle,
    memory_keys,
    storage,
    store_hints,
)
from vaults.domain.memories.duplicate_merge import KnownMemory
from vaults.domain.memories.keyed_memories import KeyedMemory
from vaults.domain.memories.memory_model import MemoryFields
from vaults.domain.memories.quotas import UNLIMITED, Quota, store_within_quota
from vaults.domain.memories.storage import OnDuplicate, PreparedMemory, StoreResult
from vaults.index import embeddings
from vaults.vault import EmbeddedTexts, Vault

T = TypeVar("T")

IN_NOTE_WARNING = "the note says so already; to keep it as a memory all the same, pass on_duplicate: store"
JUST_READ_WARNING = "it was just read from there; to keep it twice all the same, pass on_duplicate: store"


async def remember(
    vault: Vault,
    actor: Actor,
    fields: MemoryFields,
    *,
    on_duplicate: OnDuplicate = "return",
    key: str | None = None,
    quota: Quota = UNLIMITED,
) -> StoreResult:
    """Store one memory. When this returns, the text is durable and found by keyword; its vector too, unless the model
    is slow or down (``embedding: pending``). Nothing new is stored (``duplicate_of``) for the same request, by ``key``
    or external id, for text just shown, and for equal text, which may add to its memory (``added``). Fields with a key
    the actor used before change that memory (``version``), whatever says the same. ``quota`` may refuse."""
    vault.check_writable()
    prepared = storage.prepare(vault, actor, fields)
    on_duplicate = on_duplicate if fields.key is None else "store"
    read = partial(_find_stored, actor=actor, given=fields, prepared=prepared, on_duplicate=on_duplicate, key=key)
    with _begun(vault.embed_now([passage.embedded for passage in prepared.passages])) as embedding:
        # All that can be looked up without the vector is looked up while the model makes it.
        existing, last = await vault.db.read(lambda tx: (read(tx), embeddings.last_change(tx)))
        if existing is not None and key is None and not _has_additions(existing):
            return _to_result(existing)
        if existing is None and on_duplicate == "return" and (echo := await _find_echo(vault, actor, fields)):
            return echo
        prepared = await commit_anchors.add_current_commit(vault, prepared)
        if existing is None:
            await store_hints.load_index(vault, last)
        embedded = await embedding if existing is None else EmbeddedTexts(vault.embedder.identity, None)
    await vault.adopt_model()

    def write(tx: Writer) -> StoreResult:
        current = read(tx)
        if current is not None:
            result = _store_again(vault, tx, actor, current, quota)
        else:
            result = _store_new(tx, actor, prepared, embedded, on_duplicate)
            quota.room(tx, 0)
        if key is not None:
            storage.record_idempotency_key(tx, actor, key, prepared, result.id)
        return result

    if existing is not None:  # it counts as no store, so a used-up quota does not refuse it
        return _settle(vault, await store_within_quota(UNLIMITED, lambda: vault.db.write(write)))
    # Hints beside the write and its fsync: neither needs what the other finds.
    with _begun(store_hints.find_hints(vault, actor, prepared, embedded, last)) as hints:
        stored = _settle(vault, await store_within_quota(quota, lambda: vault.db.write(write)))
        return (await hints).add_to(stored)


def _settle(vault: Vault, stored: StoreResult) -> StoreResult:
    """``stored``, with its vector on the way if it has none yet."""
    if stored.embedding == "pending":
        vault.start_background_work()
    return stored


@contextmanager
def _begun(work: Coroutine[Any, Any, T]) -> Iterator[asyncio.Task[T]]:
    """``work`` as a task of the call, given up where the block ends before it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        if not task.cancel() and not task.cancelled():
            task.exception()  # it failed beside a block that failed, too: one error is enough


async def _find_echo(vault: Vault, actor: Actor, fields: MemoryFields) -> StoreResult | None:
    """The source of this very text, if the actor was shown it and it is still there: a memory, or a note by its path.
    An agent stores word for word what it was just shown, and the next one would find it twice. A part of a conversation
    is never an echo: people repeat each other."""
    within_s = vault.shared.hygiene.echo_s
    if not within_s or fields.parent is not None:
        return None
    source = vault.shown_texts.find_shown_source(actor.identity, fields.content, within_s)
    if source is None:
        return None
    return await vault.db.read(lambda tx: _find_still_there(tx, actor, source, fields.visibility))


def _find_still_there(tx: Reader, actor: Actor, source: str, visibility: str) -> StoreResult | None:
    """The memory or note, unless it is private while the new memory is to be shared."""
    memory = storage.find_living(tx, actor, source, visibility)
    if memory is not None:
        memory.warnings.append(JUST_READ_WARNING)
        return memory
    row = tx.one("SELECT path, title, created_at FROM notes WHERE path = :path", {"path": source})
    if row is None:
        return None
    path, title, created_at = row
    return StoreResult(path, title, created_at, "ready", duplicate_of=path, warnings=[IN_NOTE_WARNING])


def _store_again(vault: Vault, tx: Writer, actor: Actor, existing: Existing, quota: Quota) -> StoreResult:
    if isinstance(existing, KnownMemory):
        return lifecycle.merge_duplicate(vault, tx, existing)
    if isinstance(existing, KeyedMemory):
        return keyed_memories.change_keyed(vault, tx, actor, existing, quota)
    return existing


def _store_new(
    tx: Writer,
    actor: Actor,
    prepared: PreparedMemory,
    embedded: EmbeddedTexts,
    on_duplicate: OnDuplicate,
) -> StoreResult:
    old = storage.find_duplicate(tx, actor, prepared) if on_duplicate == "supersede" else None
    if prepared.fields.key is not None:
        memory_keys.release(tx, actor, prepared.fields.key)
    _, stored = storage.insert(tx, actor, prepared, embedded.vectors, embedded.key)
    if old is None:
        return stored
    lifecycle.mark_superseded(tx, old.id, stored.id, "stored again")
    return replace(stored, duplicate_of=old.id)


Existing = StoreResult | KnownMemory | KeyedMemory
"""What is there already: stored by the same request, saying the same, or under the same key."""


def _find_stored(
    tx: Reader,
    actor: Actor,
    given: MemoryFields,
    prepared: PreparedMemory,
    on_duplicate: OnDuplicate,
    key: str | None,
) -> Existing | None:
    """What this request stored before, by idempotency key or external id; else the memory of its key; else the one that
    says the same, with what it would gain."""
    existing = storage.find_by_request(tx, actor, prepared, key)
    if existing is not None:
        return existing
    if given.key is not None:
        return keyed_memories.find_keyed(tx, actor, given, prepared)
    return duplicate_merge.find_known(tx, actor, prepared) if on_duplicate == "return" else None


def _has_additions(existing: Existing) -> bool:
    if isinstance(existing, KeyedMemory):
        return existing.is_changed
    return isinstance(existing, KnownMemory) and bool(existing.stored.added)


def _to_result(existing: Existing) -> StoreResult:
    if isinstance(existing, KeyedMemory):
        return existing.unchanged
    return existing.stored if isinstance(existing, KnownMemory) else existing
