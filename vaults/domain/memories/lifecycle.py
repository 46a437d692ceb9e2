"""What happens to a memory after it was stored: it is read, changed, archived, superseded, purged."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError
from uuid_utils import uuid7

from vaults import clock
from vaults.activity_log import access_counts
from vaults.advice import Advice, tool_clause
from vaults.change_notes import told_hash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.memories import (
    commit_anchors,
    confidence_decay,
    corrections,
    duplicate_merge,
    indexing,
    item_traces,
    memory_keys,
    relations,
    storage,
    visibility,
)
from vaults.domain.memories.corrections import Correction
from vaults.domain.memories.duplicate_merge import KnownMemory
from vaults.domain.memories.memory_model import COLUMNS, Memory, MemoryFields, from_row
from vaults.domain.memories.quotas import UNLIMITED, Quota, store_within_quota
from vaults.domain.memories.relations import MemoryRelation
from vaults.domain.memories.storage import StoreResult
from vaults.domain.secrets import redaction
from vaults.domain.text.titles import derive_title
from vaults.errors import AlreadyExists, Conflict, Forbidden, InvalidArgument, NotFound, StorageFull
from vaults.index import passages, text_index
from vaults.vault import BackgroundJob, Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryLookup:
    """Memories asked for by id or key: those found, in the order asked, with their links, and the ids and keys of the
    rest. ``warnings``: open corrections of them."""

    memories: list[Memory]
    links: list[MemoryRelation]
    missing: list[str]
    warnings: list[str] = field(default_factory=list)


async def get(vault: Vault, actor: Actor, ids: Sequence[str], keys: Sequence[str] = ()) -> MemoryLookup:
    """Whole memories by id, archived and superseded ones among them, then living ones by the actor's keys. Counts as an
    access of each."""
    wanted = list(dict.fromkeys(ids))

    def read(tx: Reader) -> tuple[dict[str, tuple[int, Memory]], list[MemoryRelation], list[Correction]]:
        found = {}
        keyed.update(memory_keys.find_ids(tx, actor, keys))
        for memory_id in dict.fromkeys([*wanted, *keyed.values()]):
            row = tx.one(
                f"SELECT {COLUMNS}, m.seq FROM memories m"
                " WHERE m.id = :id AND (m.visibility = 'shared' OR m.stored_by = :viewer)",
                {"id": memory_id, "viewer": actor.identity},
            )
            if row is not None:
                *columns, seq = row
                found[memory_id] = (int(seq), from_row(columns))
        faded = confidence_decay.with_current_confidence(tx, list(found.values()), vault.shared.hygiene)
        faded = _with_access_counts(tx, vault, faded)
        links = relations.find_relations(tx, [seq for seq, _ in faded], actor)
        return dict(zip(found, faded, strict=True)), links, corrections.find_about(tx, actor.identity, list(found))

    keyed: dict[str, str] = {}
    found, links, wrong = await vault.db.read(read)
    vault.access_counts.update(seq for seq, _ in found.values())
    vault.shown_texts.note(actor.identity, ((memory.content, memory.id) for _, memory in found.values()))
    ordered = [memory for _, memory in found.values()]
    missing = [
        *(each for each in wanted if each not in found),
        *(key for key in dict.fromkeys(keys) if key not in keyed),
    ]
    return MemoryLookup(ordered, links, missing, list(map(corrections.describe_correction, wrong)))


def _with_access_counts(tx: Reader, vault: Vault, found: list[tuple[int, Memory]]) -> list[tuple[int, Memory]]:
    counts = access_counts.read_access_counts(tx, [seq for seq, _ in found])
    read = []
    for seq, memory in found:
        times, accessed_at = counts.get(seq, (0, None))
        if waiting := vault.access_counts.get(seq, 0):  # read within the last seconds, and not written yet
            times, accessed_at = times + waiting, clock.now()
        read.append((seq, replace(memory, access_count=times, accessed_at=accessed_at)))
    return read


async def forget(vault: Vault, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    """Archive memories: they are kept, but found only with ``include_archived``. Raises ``NotFound`` for an id that is
    not there, and then archives none."""
    reason = redaction.refuse_or_redact({"reason": reason}, vault.shared.hygiene).fields["reason"]
    await vault.disk.make_room()

    def write(tx: Writer) -> list[str]:
        done = []
        for memory_id in dict.fromkeys(ids):
            archive(tx, visibility.find_visible(tx, memory_id, actor), reason)
            done.append(memory_id)
        return done

    return await vault.db.write(write)


def archive(tx: Writer, seq: int, reason: str | None) -> str:
    """Archive the memory with this ``seq``, which must exist; returns its id."""
    tx.run(
        "UPDATE memories SET archived_at = :now, archived_reason = :reason, updated_at = :now, version = version + 1"
        " WHERE seq = :seq AND archived_at IS NULL",
        {"now": clock.now(), "reason": reason, "seq": seq},
    )
    indexing.refresh_passages(tx, seq)
    row = tx.all("SELECT id, visibility, content_hash FROM memories WHERE seq = :seq", {"seq": seq})[0]
    tx.note_change("memory archived", row[0], told_hash(*row), told_hash(*row))
    return str(row[0])


async def purge(vault: Vault, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    """Delete memories for good: rows, passages, vectors, words in the text index, and their bytes in the file. Of those
    that were let go before, copies and titles are erased. An audit row with ids and reason stays. Raises ``NotFound``
    for an id that is not there, and then deletes none."""
    reason = redaction.refuse_or_redact({"reason": reason}, vault.shared.hygiene).fields["reason"]
    return await delete_for_good(vault, lambda tx: _purge(tx, actor, list(dict.fromkeys(ids)), reason))


async def purge_batch(vault: Vault, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    """``purge`` as one of many: their bytes in the files stay until ``erase_purged``, or until the vault is opened
    again."""
    reason = redaction.refuse_or_redact({"reason": reason}, vault.shared.hygiene).fields["reason"]
    await vault.disk.make_room()

    def delete(tx: Writer) -> list[str]:
        done = _purge(tx, actor, list(dict.fromkeys(ids)), reason)
        request_erasure(tx)
        return done

    return await vault.db.write(delete)


async def delete_for_good(vault: Vault, deletion: Callable[[Writer], T]) -> T:
    """Run a deletion in one transaction, and erase what it leaves in text index, vectors and file."""
    await vault.disk.make_room()
    # Merging the text index at once takes as much room again as it has now.
    at_once = vault.disk.has_room_for(2 * vault.db.path.stat().st_size)
    tidy = text_index.erase_traces if at_once else request_erasure

    def delete(tx: Writer) -> T:
        done = deletion(tx)
        tidy(tx)
        return done

    done = await vault.db.write(delete)
    await erase_purged(vault)
    return done


async def erase_purged(vault: Vault) -> None:
    """Overwrite what was deleted where it still stands in the files, which takes as long for one as for many."""
    await vault.erase_removed_vectors()
    # The deletion is committed. On a full disk the old bytes stay until there is room to overwrite them.
    with contextlib.suppress(StorageFull):
        await vault.db.checkpoint()
        await _erase(vault)


def note_purged(tx: Writer, seq: int | None, memory_id: str) -> None:
    """Tell the audit of a memory that is about to be deleted, or is gone but for its traces."""
    row = tx.one("SELECT id, visibility, content_hash FROM memories WHERE seq = :seq", {"seq": seq})
    tx.note_change("memory purged", memory_id, told_hash(*row) if row else None, None)


def _purge(tx: Writer, actor: Actor, ids: Sequence[str], reason: str | None) -> list[str]:
    seqs = {memory_id: _find_purgeable(tx, memory_id, actor) for memory_id in ids}
    passages.remove_items(tx, indexing.KIND, [seq for seq in seqs.values() if seq is not None])
    for memory_id, seq in seqs.items():
        purged = {"id": memory_id, "seq": seq}
        note_purged(tx, seq, memory_id)
        tx.run("DELETE FROM idempotency_keys WHERE memory = :id", purged)
        tx.run("DELETE FROM corrections WHERE subject = :id", purged)
        tx.run("DELETE FROM memories WHERE seq = :seq", purged)
        # Memories it superseded are found again; the one that superseded it stays.
        back = tx.all("SELECT seq FROM memories WHERE superseded_by = :id", purged)
        tx.run("UPDATE memories SET superseded_by = NULL WHERE superseded_by = :id", purged)
        for (earlier,) in back:
            indexing.refresh_passages(tx, int(earlier))
        tx.run("UPDATE memories SET supersedes = NULL WHERE supersedes = :id", purged)
        item_traces.erase(tx, item_traces.MEMORY, memory_id)
        tx.run(
            "INSERT INTO audit (at, who, action, target, reason) VALUES (:now, :who, 'purge', :id, :reason)",
            {"now": clock.now(), "who": actor.identity, "id": memory_id, "reason": reason},
        )
    return list(seqs)


def _find_purgeable(tx: Reader, memory_id: str, actor: Actor) -> int | None:
    """The ``seq`` of a memory the actor may see; None for one that was let go, of which a copy or a title is left.
    Raises ``NotFound``."""
    if item_traces.is_evicted_memory(tx, memory_id, actor):
        return None
    return visibility.find_visible(tx, memory_id, actor)


def request_erasure(tx: Writer) -> None:
    """Have what was deleted overwritten in the background: a new mark, so that an erasure under way runs again."""
    tx.run(
        "INSERT INTO vault_info (key, value) VALUES ('erase', :mark) ON CONFLICT (key) DO UPDATE SET value = :mark",
        {"mark": str(uuid7())},
    )


def is_erasure_pending(tx: Reader) -> bool:
    """Whether words of purged memories still stand in the file because there was no room to overwrite them."""
    return _pending_erasure(tx) is not None


def _pending_erasure(tx: Reader) -> str | None:
    mark = tx.value("SELECT value FROM vault_info WHERE key = 'erase'")
    return None if mark is None else str(mark)


async def _erase(vault: Vault) -> None:
    """Overwrite them in small steps, each using the room freed by those before. Raises ``StorageFull``."""
    mark, step = await vault.db.read(_pending_erasure), 0
    if mark is None:
        return
    vault.check_writable()
    while await vault.db.write(partial(text_index.erase_traces_in_steps, step=step)):
        await vault.db.checkpoint()
        vault.check_writable()
        step += 1
    # A purge in the meantime left a new mark, which stays: the job runs again.
    done = "DELETE FROM vault_info WHERE key = 'erase' AND value = :mark"
    await vault.db.write(lambda tx: tx.run(done, {"mark": mark}))
    await vault.db.checkpoint()


ERASE = BackgroundJob("erase_memories", is_erasure_pending, _erase)


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What to change; None leaves a field as it is. ``archived`` moves the memory into or out of the archive."""

    fields: dict[str, Any]
    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()
    archived: bool | None = None
    expected_version: int | None = None


async def update(vault: Vault, actor: Actor, memory_id: str, change: MemoryChange, quota: Quota = UNLIMITED) -> Memory:
    """Change fields of a memory. Raises ``NotFound``; ``Conflict`` with the current version when it is not the expected
    one; ``InvalidArgument`` for a value that does not fit, or holds a secret."""
    vault.check_writable()
    change, warnings = _without_secrets(vault, change)

    def write(tx: Writer) -> Memory:
        seq = visibility.find_visible(tx, memory_id, actor)
        current = _read_current(tx, seq)
        if change.expected_version is not None and change.expected_version != current.version:
            raise Conflict(
                f"the memory is at version {current.version}", hint="read it again", current_version=current.version
            )
        check_visibility_change(tx, seq, actor, change.fields)
        changed = apply_change(vault, tx, seq, change)
        if set(_IDENTITY_FIELDS) & change.fields.keys() and (same := storage.find_equal(tx, memory_id)):
            changed = replace(changed, warnings=[f"{same} says the same"])
        if change.archived is False and current.archived_at is not None:
            quota.room(tx, 0)  # back from the archive, it takes room again
        return changed

    await vault.adopt_model()
    changed = await vault.db.write(write)
    vault.start_background_work()
    return replace(changed, warnings=[*warnings, *(changed.warnings or ())] or None)


def _without_secrets(vault: Vault, change: MemoryChange) -> tuple[MemoryChange, list[str]]:
    guarded = redaction.refuse_or_redact({**change.fields, "add_tags": list(change.add_tags)}, vault.shared.hygiene)
    if not guarded.warnings:
        return change, []
    fields = dict(guarded.fields)
    tags = fields.pop("add_tags")
    try:
        MemoryFields.model_validate({"content": "-", **fields, "keywords": tags})
    except ValidationError:  # the marks are longer than what they stand for
        raise InvalidArgument("content", "has no room for the marks in place of its secrets") from None
    return replace(change, fields=fields, add_tags=tags), guarded.warnings


def check_visibility_change(tx: Reader, seq: int, actor: Actor, fields: Mapping[str, Any]) -> None:
    """Raises ``Forbidden`` or ``AlreadyExists`` where the memory cannot become as visible as ``fields`` say."""
    if fields.get("visibility") == "private":
        _check_own_private(tx, seq, actor)
    elif fields.get("visibility") == "shared":
        _check_not_duplicate(tx, seq)


def _check_own_private(tx: Reader, seq: int, actor: Actor) -> None:
    if _read_storer(tx, seq) != actor.identity:
        raise Forbidden(
            "only who stored a memory can make it private",
            hint=Advice(tool_clause("store your own with remember", "remember")),
        )


def _check_not_duplicate(tx: Reader, seq: int) -> None:
    taken = (
        "SELECT 1 FROM memories m JOIN memories o ON o.external_id = m.external_id AND o.seq <> m.seq"
        " WHERE m.seq = :seq AND o.visibility = 'shared'"
    )
    if tx.one(taken, {"seq": seq}):
        raise AlreadyExists("a shared memory has the same external_id", hint="update that one instead")


_IDENTITY_FIELDS = ("content", "workspace", "parent", "position", "visibility")
_PLAIN_COLUMNS = (
    "type", "entity", "author", "thread", "applies_to", "parent", "position", "confidence", "visibility", "tier",
    "anchor_commit", "expires_at", "external_id",
)  # fmt: skip


def apply_change(vault: Vault, tx: Writer, seq: int, change: MemoryChange) -> Memory:
    """Change fields of the memory with this ``seq`` and queue what is to be embedded anew; returns it as it is then.
    Raises ``InvalidArgument``."""
    current = _read_current(tx, seq)
    given = change.fields
    columns: dict[str, Any] = {name: given[name] for name in _PLAIN_COLUMNS if name in given}
    content = given.get("content", current.content)
    was_derived = tx.value("SELECT title_derived FROM memories WHERE seq = :seq", {"seq": seq})
    derived = bool(was_derived) and "title" not in given
    title = given.get("title") or (derive_title(content) if derived else current.title)
    tags = [tag for tag in given.get("tags", current.tags) if tag not in change.remove_tags]
    tags = list(dict.fromkeys([*tags, *change.add_tags]))
    if len(tags) > 20:
        raise InvalidArgument("tags", "must be at most 20 in all")
    keywords = given.get("keywords", current.keywords)
    for name, value in (("tags", tags), ("keywords", keywords), ("metadata", given.get("metadata", current.metadata))):
        columns[name] = json.dumps(value, ensure_ascii=False)
    if "occurred_at" in given:
        columns["occurred_at"] = clock.parse(given["occurred_at"], "occurred_at")
    if "ttl_days" in given:
        columns["expires_at"] = clock.days_from_now(given["ttl_days"])
    if "workspace" in given:
        columns["workspace"] = given["workspace"]
    if change.archived is not None:
        columns["archived_at"] = clock.now() if change.archived else None
    author, entity = columns.get("author", current.author), columns.get("entity", current.entity)
    labels = indexing.to_labels(tags, keywords, entity, author)
    columns |= {"title": title, "title_derived": int(derived), "content": content, "updated_at": clock.now()}
    columns["content_hash"] = indexing.content_hash(title, content, labels)
    if any(given.get(name, getattr(current, name)) != getattr(current, name) for name in _IDENTITY_FIELDS):
        columns["duplicate_key"] = _new_duplicate_key(tx, seq, current, columns | {"content": content})
    sets = ", ".join(f"{name} = :{name}" for name in columns)
    before = tx.all("SELECT id, visibility, content_hash FROM memories WHERE seq = :seq", {"seq": seq})[0]
    tx.run(f"UPDATE memories SET {sets}, version = version + 1 WHERE seq = :seq", {**columns, "seq": seq})
    visibility = given.get("visibility", current.visibility)
    after = told_hash(current.id, visibility, columns["content_hash"])
    tx.note_change("memory", current.id, told_hash(*before), after)
    model, source = vault.embedder.identity, indexing.load_source(tx, seq)
    cut = source.cut(vault.shared.index.passage_tokens)
    indexing.index(tx, source, cut, None, model.key if model else None)
    return _read_current(tx, seq)


def _new_duplicate_key(tx: Reader, seq: int, current: Memory, columns: dict[str, Any]) -> str | None:
    """The duplicate key of a changed memory. Parts of a conversation have none: they may well be equal."""
    workspace, visibility, parent = (
        columns.get(name, getattr(current, name)) for name in ("workspace", "visibility", "parent")
    )
    if parent is not None:
        return None
    owner = _read_storer(tx, seq) if visibility == "private" else ""
    return storage.duplicate_key(columns["content"], workspace, None, None, owner)


def _read_storer(tx: Reader, seq: int) -> str:
    return str(tx.value("SELECT stored_by FROM memories WHERE seq = :seq", {"seq": seq}))


def merge_duplicate(vault: Vault, tx: Writer, known: KnownMemory) -> StoreResult:
    """Add to a known memory what is new in the one that repeats it."""
    if not known.stored.added:
        return known.stored
    changed = apply_change(vault, tx, known.seq, MemoryChange(dict(known.fields), known.tags))
    retitled = "title" in known.fields  # the only part of it that is embedded
    return replace(known.stored, title=changed.title, embedding="pending" if retitled else known.stored.embedding)


def find_current(tx: Reader, memory_id: str) -> tuple[int, Memory]:
    """The ``seq`` of a memory, whoever may see it, and the memory. Raises ``NotFound``."""
    seq = tx.value("SELECT seq FROM memories WHERE id = :id", {"id": memory_id})
    if seq is None:
        raise NotFound(f"no memory {memory_id[:64]}")
    return int(seq), _read_current(tx, seq)


def _read_current(tx: Reader, seq: int) -> Memory:
    row = tx.one(f"SELECT {COLUMNS} FROM memories m WHERE m.seq = :seq", {"seq": seq})
    if row is None:
        raise NotFound("no such memory")
    return from_row(row)


def mark_superseded(tx: Writer, old_id: str, new_id: str, reason: str | None) -> None:
    """Record that ``new_id`` supersedes ``old_id``, which is then no longer found. A memory that supersedes several
    names the first of them only: follow a chain by ``superseded_by``. A key goes over to the new one."""
    ids = {"old": old_id, "new": new_id}
    memory_keys.hand_on(tx, old_id, new_id)
    tx.run(
        "UPDATE memories SET superseded_by = :new, archived_reason = :reason, updated_at = :now, version = version + 1"
        " WHERE id = :old",
        {**ids, "reason": reason, "now": clock.now()},
    )
    tx.run("UPDATE memories SET supersedes = COALESCE(supersedes, :old) WHERE id = :new", ids)
    seq, *row = tx.all("SELECT seq, id, visibility, content_hash FROM memories WHERE id = :old", ids)[0]
    tx.note_change("memory superseded", old_id, told_hash(*row), told_hash(*row))
    indexing.refresh_passages(tx, int(seq))


@dataclass(frozen=True, slots=True)
class MemoryReplacement:
    """The text that supersedes a memory, and why."""

    content: str
    title: str | None = None
    reason: str | None = None


async def supersede(
    vault: Vault, actor: Actor, memory_id: str, new: MemoryReplacement, quota: Quota = UNLIMITED
) -> storage.StoreResult:
    """Store a new version that takes the place of ``memory_id`` and keeps its other fields; where a memory already says
    so, that one takes it. Raises ``NotFound``, and ``Conflict`` when the memory was superseded before."""
    vault.check_writable()
    opened = await get(vault, actor, [memory_id])
    if not opened.memories:
        raise NotFound(f"no memory {memory_id[:64]}")
    old = opened.memories[0]
    kept = ("type", "tags", "keywords", "metadata", "entity", "author", "workspace", "thread", "applies_to")
    more = ("parent", "position", "confidence", "visibility", "tier")
    values = {name: getattr(old, name) for name in (*kept, *more)}
    prepared = storage.prepare(vault, actor, MemoryFields(content=new.content, title=new.title, **values))
    reason = redaction.refuse_or_redact({"reason": new.reason}, vault.shared.hygiene).fields["reason"]
    prepared = await commit_anchors.add_current_commit(vault, prepared)
    embedded = await vault.embed_now([passage.embedded for passage in prepared.passages])
    await vault.adopt_model()

    def write(tx: Writer) -> storage.StoreResult:
        seq = visibility.find_visible(tx, memory_id, actor)
        by = _read_current(tx, seq).superseded_by
        if by is not None:
            raise Conflict("the memory was superseded already", hint="supersede the newer one", superseded_by=by)
        known = duplicate_merge.find_known(tx, actor, prepared)
        if known is not None and known.stored.id != memory_id:  # stored already, and found to contradict this one
            stored = merge_duplicate(vault, tx, known)
        else:
            _, stored = storage.insert(tx, actor, prepared, embedded.vectors, embedded.key)
        mark_superseded(tx, memory_id, stored.id, reason)
        quota.room(tx, 0)
        return stored

    stored = await store_within_quota(quota, lambda: vault.db.write(write))
    if stored.embedding == "pending":
        vault.start_background_work()
    return stored
