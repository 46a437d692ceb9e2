"""Stores memories: what counts as a duplicate, and one transaction for row, passages, vectors and idempotency key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import ValidationError
from uuid_utils import uuid7

from vaults import clock
from vaults.change_notes import told_hash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import GLOBAL, Actor, workspace_key
from vaults.domain.memories import indexing, memory_keys
from vaults.domain.memories.indexing import MemorySource
from vaults.domain.memories.memory_model import MemoryFields
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import LABEL, hash_parts
from vaults.domain.text.titles import derive_title
from vaults.errors import Conflict, InvalidArgument
from vaults.index import passages
from vaults.index.items import SearchItem
from vaults.index.passages import Passage
from vaults.vault import Vault

OnDuplicate = Literal["return", "store", "supersede"]


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A memory that says nearly the same; ``score`` is the cosine."""

    id: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A memory that cannot hold together with the new one, and why, in a few words. ``old`` and ``new``: what each says
    of ``subject``; absent where one denies what the other says."""

    id: str
    title: str
    why: str
    subject: str
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What became of a memory. ``duplicate_of`` is set when nothing new was stored, or what was superseded. ``added``:
    what a memory that was known took on, by field; ``kept``: what it holds where another value was told. ``version``:
    that of the memory of the same ``key``, which says this from now on."""

    id: str
    title: str
    created_at: str
    embedding: Literal["ready", "pending"]
    duplicate_of: str | None = None
    key: str | None = None
    version: int | None = None
    added: dict[str, Any] | None = None
    kept: dict[str, Any] | None = None
    similar: list[NearDuplicate] = field(default_factory=list)
    contradicts: list[Contradiction] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PreparedMemory:
    """A memory ready to be written: defaults filled in, cut into passages. ``asked_in``: the workspace of whoever
    asked."""

    fields: MemoryFields
    title: str
    title_derived: bool
    workspace: str
    author: str
    occurred_at: str | None
    expires_at: str | None
    created_at: str
    content_hash: str
    duplicate_key: str | None
    former_key: str | None  # as older versions made it, from ``applies_to`` too; vaults still hold such keys
    passages: list[Passage]
    asked_in: str | None
    anchor_commit: str | None
    warnings: tuple[str, ...] = ()

    @cached_property
    def request_hash(self) -> str:
        """Equal for requests that ask for the same."""
        asked = self.fields.model_dump(mode="json", exclude={"key"} if self.fields.key is None else None)
        return hash_parts(asked, self.asked_in)


def prepare(vault: Vault, actor: Actor, given: MemoryFields, created_at: str | None = None) -> PreparedMemory:
    """Fill in defaults and cut the passages. Pure but for the clock. Raises ``InvalidArgument``, also for secrets."""
    fields, warnings = _without_secrets(vault, given)
    title = fields.title or derive_title(fields.content)
    workspace = workspace_key(fields.workspace or actor.workspace or GLOBAL)
    author = fields.author or actor.name[:LABEL]
    labels = indexing.to_labels(fields.tags, fields.keywords, fields.entity, author)
    return PreparedMemory(
        fields=fields,
        title=title,
        title_derived=fields.title is None,
        workspace=workspace,
        author=author,
        occurred_at=clock.parse(fields.occurred_at, "occurred_at") if fields.occurred_at else None,
        expires_at=clock.days_from_now(fields.ttl_days) if fields.ttl_days else None,
        created_at=created_at or clock.now(),
        content_hash=indexing.content_hash(title, fields.content, labels),
        duplicate_key=_duplicate_key(actor, fields, workspace),
        former_key=_former_duplicate_key(actor, fields, workspace),
        passages=passages.cut_passages(fields.title or "", fields.content, labels, vault.shared.index.passage_tokens),
        asked_in=actor.workspace,
        anchor_commit=fields.anchor_commit,
        warnings=tuple(warnings),
    )


def _without_secrets(vault: Vault, given: MemoryFields) -> tuple[MemoryFields, list[str]]:
    guarded = redaction.refuse_or_redact(given.model_dump(), vault.shared.hygiene)
    if not guarded.warnings:
        return given, []
    try:
        return type(given).model_validate(guarded.fields), guarded.warnings
    except ValidationError:  # the marks are longer than what they stand for
        raise InvalidArgument("content", "has no room for the marks in place of its secrets") from None


def duplicate_key(content: str, workspace: str, parent: str | None, position: int | None, owner: str) -> str | None:
    """Equal for memories that say the same to the same people; ``owner`` is empty for shared ones. Turns of a
    conversation may well repeat each other ("Thanks!"), so a part of a parent is a duplicate only at its own
    position."""
    if parent is not None and position is None:
        return None
    return hash_parts(_normalize(content), workspace, parent, position, owner)


def _duplicate_key(actor: Actor, fields: MemoryFields, workspace: str) -> str | None:
    return duplicate_key(fields.content, workspace, fields.parent, fields.position, _owner(actor, fields))


def _former_duplicate_key(actor: Actor, fields: MemoryFields, workspace: str) -> str | None:
    if fields.parent is not None and fields.position is None:
        return None
    owner = _owner(actor, fields)
    return hash_parts(_normalize(fields.content), workspace, fields.applies_to, fields.parent, fields.position, owner)


def _normalize(content: str) -> str:
    return " ".join(content.split()).casefold()


def _owner(actor: Actor, fields: MemoryFields) -> str:
    return actor.identity if fields.visibility == "private" else ""


def find_by_request(tx: Reader, actor: Actor, prepared: PreparedMemory, key: str | None) -> StoreResult | None:
    """The memory this very request stored before, by idempotency key or external id. Raises ``Conflict`` when the key
    was used for something else."""
    if key is not None:
        row = tx.one(
            "SELECT request_hash, memory FROM idempotency_keys WHERE stored_by = :viewer AND key = :key",
            {"viewer": actor.identity, "key": key},
        )
        if row is not None:
            request_hash, memory_id = row
            if request_hash != prepared.request_hash:
                raise Conflict("the idempotency key was used for another memory", hint="use a new key", id=memory_id)
            return _find_stored(tx, "m.id = :id", {"id": memory_id})
    external = prepared.fields.external_id
    if external is None:
        return None
    # Others' private memories do not occupy an id: a refusal would reveal them.
    seen = "m.external_id = :external AND (m.visibility = 'shared' OR m.stored_by = :viewer)"
    return _find_stored(tx, seen, {"external": external, "viewer": actor.identity})


_OWN_MEMORY = "(m.stored_by = :viewer AND m.author = :author)"

_SAYS_THE_SAME = (
    f"m.duplicate_key IN (:same, :former) AND ({_OWN_MEMORY} OR m.applies_to = :applies_to"
    " AND (m.expires_at IS NULL OR m.expires_at >= :until))"
)
"""The caller's own memory, wherever it applies; another's, if it applies to the same and lasts as long."""


def find_duplicate(tx: Reader, actor: Actor, prepared: PreparedMemory) -> StoreResult | None:
    """The living memory that says the same, if any: the actor's own first, then one that applies to the same."""
    if prepared.duplicate_key is None:
        return None
    nearest = f"{_OWN_MEMORY} DESC, m.applies_to = :applies_to DESC, m.seq"
    return _find_stored(
        tx, f"{_SAYS_THE_SAME} AND {_LIVING}", _identity(actor, prepared) | {"now": clock.now()}, nearest
    )


def has_equal(tx: Reader, actor: Actor, prepared: PreparedMemory) -> bool:
    """Whether a memory says the same, archived or not."""
    return tx.one(f"SELECT 1 FROM memories m WHERE {_SAYS_THE_SAME}", _identity(actor, prepared)) is not None


def _identity(actor: Actor, prepared: PreparedMemory) -> dict[str, str | None]:
    return {
        "same": prepared.duplicate_key,
        "former": prepared.former_key,
        "viewer": actor.identity,
        "author": prepared.author,
        "applies_to": prepared.fields.applies_to,
        "until": prepared.expires_at or "9999",
    }


def find_equal(tx: Reader, memory_id: str) -> str | None:
    """The id of another living memory that says the same to the same people."""
    found: str | None = tx.value(
        f"SELECT m.id FROM memories m JOIN memories o ON o.duplicate_key = m.duplicate_key AND o.id = :id"
        f" WHERE m.id <> :id AND {_LIVING} ORDER BY m.seq LIMIT 1",
        {"id": memory_id, "now": clock.now()},
    )
    return found


def find_living(tx: Reader, actor: Actor, memory_id: str, visibility: str) -> StoreResult | None:
    """The living memory with this id, if it reaches as many people as the one to be stored: what is private to the
    actor stands in only for what is to be private."""
    seen = "(m.visibility = 'shared' OR m.stored_by = :viewer AND :visibility = 'private')"
    params = {"id": memory_id, "viewer": actor.identity, "visibility": visibility, "now": clock.now()}
    return _find_stored(tx, f"m.id = :id AND {seen} AND {_LIVING}", params)


_LIVING = "m.archived_at IS NULL AND m.superseded_by IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)"


def _find_stored(
    tx: Reader, condition: str, params: Mapping[str, str | None], order: str = "m.seq"
) -> StoreResult | None:
    row = tx.one(
        "SELECT m.id, m.title, m.created_at, EXISTS (SELECT 1 FROM embedding_queue q JOIN passages p"
        " ON p.seq = q.passage WHERE p.kind = 'memory' AND p.item = m.seq) FROM memories m"
        f" WHERE {condition} ORDER BY {order} LIMIT 1",
        params,
    )
    if row is None:
        return None
    memory_id, title, created_at, is_queued = row
    return StoreResult(
        id=memory_id,
        title=title,
        created_at=created_at,
        embedding="pending" if is_queued else "ready",
        duplicate_of=memory_id,
    )


def insert(
    tx: Writer, actor: Actor, prepared: PreparedMemory, vectors: Sequence[bytes] | None, model: str | None
) -> tuple[int, StoreResult]:
    """Write one memory with its passages, and its vectors, or queue them for embedding. A key that is taken stays with
    the memory that has it."""
    identity, source, key = insert_row(tx, actor, prepared)
    ready = indexing.index_new(tx, source, prepared.passages, vectors, model)
    embedding: Literal["ready", "pending"] = "ready" if ready else "pending"
    warnings = list(prepared.warnings)
    stored = StoreResult(identity, prepared.title, prepared.created_at, embedding, key=key, warnings=warnings)
    return source.item.number, stored


def insert_row(tx: Writer, actor: Actor, prepared: PreparedMemory) -> tuple[str, MemorySource, str | None]:
    """Write one memory, which nothing finds until it is indexed; returns its id, what to index, and the key it got."""
    fields, identity = prepared.fields, str(uuid7())
    owner_key = memory_keys.find_free(tx, actor, fields.key)
    position = _position(tx, actor, fields)
    seq = tx.insert(
        "INSERT INTO memories (id, external_id, type, title, title_derived, content, content_hash, duplicate_key, tags,"
        " keywords, metadata, entity, author, stored_by, workspace, thread, applies_to, parent, position, confidence,"
        " occurred_at, expires_at, visibility, tier, anchor_commit, owner_key, version, created_at,"
        " updated_at) VALUES"
        " (:id, :external_id, :type, :title, :title_derived, :content, :content_hash, :duplicate_key, :tags, :keywords,"
        " :metadata, :entity, :author, :stored_by, :workspace, :thread, :applies_to, :parent, :position, :confidence,"
        " :occurred_at, :expires_at, :visibility, :tier, :anchor_commit, :owner_key, 1, :created_at, :created_at)",
        {
            "id": identity, "external_id": fields.external_id, "type": fields.type, "title": prepared.title,
            "title_derived": int(prepared.title_derived), "content": fields.content,
            "content_hash": prepared.content_hash, "duplicate_key": prepared.duplicate_key,
            "tags": _encode_words(fields.tags), "metadata": json.dumps(fields.metadata),
            "keywords": _encode_words(fields.keywords), "entity": fields.entity,
            "author": prepared.author, "stored_by": actor.identity, "workspace": prepared.workspace,
            "thread": fields.thread, "applies_to": fields.applies_to, "parent": fields.parent,
            "position": position, "confidence": fields.confidence,
            "occurred_at": prepared.occurred_at, "expires_at": prepared.expires_at,
            "visibility": fields.visibility, "tier": fields.tier,
            "anchor_commit": prepared.anchor_commit, "owner_key": owner_key, "created_at": prepared.created_at,
        },
    )  # fmt: skip
    tx.note_change("memory", identity, None, told_hash(identity, fields.visibility, prepared.content_hash))
    return identity, _to_source(actor, prepared, seq, position), fields.key if owner_key is not None else None


_encode_words = json.JSONEncoder(ensure_ascii=False).encode


def _to_source(actor: Actor, prepared: PreparedMemory, seq: int, position: int | None) -> MemorySource:
    """What ``indexing.load_source`` would read of a memory that was just written."""
    fields = prepared.fields
    item = SearchItem(
        kind=indexing.KIND,
        number=seq,
        source_hash=prepared.content_hash,
        at=prepared.occurred_at or prepared.created_at,
        modified_at=prepared.created_at,
        workspace=prepared.workspace,
        owner=actor.identity if fields.visibility == "private" else None,
        expires_at=prepared.expires_at,
        type=fields.type,
        tier=fields.tier,
        thread=fields.thread,
        applies_to=fields.applies_to,
        parent=fields.parent,
        position=position,
        author=prepared.author,
        entity=fields.entity,
    )
    labels = indexing.to_labels(fields.tags, fields.keywords, fields.entity, prepared.author)
    return MemorySource(
        item=item,
        title=fields.title or "",
        content=fields.content,
        labels=labels,
        tags=fields.tags,
        metadata=fields.metadata,
    )


def record_idempotency_key(tx: Writer, actor: Actor, key: str, prepared: PreparedMemory, memory: str) -> None:
    """Record an idempotency key in the transaction it guards."""
    tx.run(
        "INSERT INTO idempotency_keys (stored_by, key, request_hash, memory, created_at)"
        " VALUES (:stored_by, :key, :request_hash, :memory, :created_at) ON CONFLICT (stored_by, key) DO NOTHING",
        {
            "stored_by": actor.identity, "key": key, "request_hash": prepared.request_hash, "memory": memory,
            "created_at": prepared.created_at,
        },
    )  # fmt: skip


def _position(tx: Reader, actor: Actor, fields: MemoryFields) -> int | None:
    if fields.parent is None or fields.position is not None:
        return fields.position
    # Counted over what the actor may see: the number must not reveal how much of a conversation is private.
    return int(
        tx.value(
            "SELECT COALESCE(MAX(position) + 1, 0) FROM memories WHERE parent = :parent"
            " AND (visibility = 'shared' OR stored_by = :viewer)",
            {"parent": fields.parent, "viewer": actor.identity},
        )
    )
