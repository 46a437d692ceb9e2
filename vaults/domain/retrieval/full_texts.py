"""Whole texts by reference: memories and documents by id, notes by path, address, name or pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from vaults.context import note_whole_sizes, run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code import symbol_lookup
from vaults.domain.collections.file_places import read_file_places
from vaults.domain.documents import indexing, reading
from vaults.domain.documents.document_model import Document, DocumentPart
from vaults.domain.memories import lifecycle
from vaults.domain.memories.memory_model import Memory
from vaults.domain.notes.index.note_rows import NoteSummary
from vaults.domain.notes.read import line_ranges, note_parts, path_globs
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.notes.read.note_lookup import OpenNote, open_note
from vaults.domain.paging import token_budget
from vaults.errors import Conflict, InvalidArgument, NotFound, StrongroomError, TooLarge
from vaults.files.paths import NOTE_SCHEME, is_note, to_address
from vaults.vault import Vault

MAX_MATCHES = 200
"""Max notes that the patterns of one call may match together."""

_MEMORY = "memory://"
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much to read."""

    from_line: int = 1  # of each text
    max_lines: int | None = None  # of each text
    max_bytes: int = 50_000  # of all texts together
    max_tokens: int | None = None  # of the items as sent, metadata included


@dataclass(frozen=True, slots=True)
class FetchedItem:
    """One text with where it is from. ``etag`` changes with the text. A note that was cut goes on at ``next_line``."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    etag: str
    truncated: bool = False
    next_line: int | None = None


@dataclass(slots=True)
class FetchResult:
    """Items in the order of the references."""

    items: list[FetchedItem] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    # references that ``max_bytes`` or ``max_tokens`` left no room for
    remaining: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    full: bool = False  # ``max_bytes`` cut the last item
    partial: bool = False  # a pattern matches more notes than were read
    sizes: dict[str, int] = field(default_factory=dict)  # characters of the whole texts, by id

    @property
    def cut_by(self) -> Literal["max_bytes", "max_lines"] | None:
        """Which limit cut a text, for saying how to read on; None where nothing was cut."""
        if self.full or self.remaining:
            return "max_bytes"
        return "max_lines" if any(item.truncated for item in self.items) else None


@dataclass(frozen=True, slots=True)
class _FetchTarget:
    """What a reference ``ref`` stands for. ``path`` None: a memory that is not there."""

    ref: str
    path: str | None = None
    memory: Memory | None = None
    document: OpenDocument | None = None

    @property
    def is_there(self) -> bool:
        return self.path is not None or self.memory is not None or self.document is not None


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document, or the parts around one of it. ``position`` None: all of it. ``commit``: that is checked out where
    its file lies."""

    document: Document
    parts: Sequence[DocumentPart]
    position: int | None = None
    commit: str | None = None  # of the checkout it lies in
    symbol: str | None = None  # the id of the symbol that was asked for


async def fetch_texts(vault: Vault, actor: Actor, refs: Sequence[str], limits: FetchLimits) -> FetchResult:
    """Texts by reference, in order, each once. Absent ones are ``missing``, with the reason in ``warnings`` where it is
    another than that nothing is there. Raises ``InvalidArgument`` for a broken pattern."""
    result = FetchResult()
    left, seen = limits.max_bytes, set[str]()
    for target in await _resolve_targets(vault, actor, refs, result):
        if left <= 0:
            result.remaining.append(target.path or target.ref)
            continue
        item = await _to_item(vault, target, limits, left, result)
        if item is not None and item.url not in seen:
            seen.add(item.url)
            result.items.append(item)
            # A note is cut at the end of a line, so what is left of the budget is too little for another.
            left = 0 if result.full else left - len(item.text.encode())
    if limits.max_tokens is not None:
        count = len(await token_budget.fit_rows(vault, result.items, limits.max_tokens))
        result.remaining[:0] = [item.id for item in result.items[count:]]
        del result.items[count:]
    _record_shown(vault, actor, result)
    return result


async def fetch_one(vault: Vault, actor: Actor, ref: str, limits: FetchLimits) -> FetchResult:
    """The text behind one reference that is no pattern. Raises ``NotFound``, and whatever reading a note may raise."""
    result = FetchResult()
    target = (await _resolve_targets(vault, actor, [ref], result))[0]
    if not target.is_there:
        raise NotFound(f"nothing with the id {ref[:64]}")
    try:
        result.items.append(await _read_note(vault, target, limits, limits.max_bytes, result))
    except NotFound as failure:
        if _is_of_note(ref):
            raise
        raise NotFound(f"nothing with the id {ref[:64]}", hint=failure.hint, **failure.details) from None
    _record_shown(vault, actor, result)
    return result


def _record_shown(vault: Vault, actor: Actor, result: FetchResult) -> None:
    """Remember what was shown, so that storing it again, or a paragraph of a note, is seen as an echo."""
    note_whole_sizes({item.id: result.sizes[item.id] for item in result.items})
    for item in result.items:
        if item.url.startswith(_MEMORY):
            vault.shown_texts.note(actor.identity, [(item.text, item.id)])
        else:
            vault.shown_texts.note_paragraphs(actor.identity, item.text, item.id)


async def _resolve_targets(vault: Vault, actor: Actor, refs: Sequence[str], result: FetchResult) -> list[_FetchTarget]:
    """What references stand for; a pattern stands for the notes it matches."""
    asked = list(dict.fromkeys(refs))
    ids = [ref.removeprefix(_MEMORY) for ref in asked if not _is_of_note(ref)]
    memories = {each.id: each for each in (await lifecycle.get(vault, actor, ids)).memories} if ids else {}
    others = [ref for ref in asked if not _is_of_note(ref) and ref.removeprefix(_MEMORY) not in memories]
    documents = await vault.db.read(lambda tx: _open_documents(tx, actor, others)) if others else {}
    vault.opened_documents.update(each.document.seq for each in documents.values())
    targets: list[_FetchTarget] = []
    room = MAX_MATCHES
    for ref in asked:
        plain = ref.removeprefix(_MEMORY)
        if ref in documents:
            targets.append(_FetchTarget(ref, document=documents[ref]))
        elif plain in memories or plain != ref or _ID.fullmatch(ref):
            targets.append(_FetchTarget(plain, memory=memories.get(plain)))
        elif (paths := await _expand_pattern(vault, ref, room)) is not None:
            if len(paths) > room:
                result.partial = True
                result.warnings.append(
                    f"{ref}: more than {MAX_MATCHES} notes match: these are the first; narrow the pattern"
                )
            elif not paths:
                result.missing.append(ref)
            targets += [_FetchTarget(path, path) for path in paths[:room]]
            room -= len(paths[:room])
        else:
            targets.append(_FetchTarget(ref, ref))
    return targets


def _open_documents(tx: Reader, actor: Actor, refs: Sequence[str]) -> dict[str, OpenDocument]:
    """The documents among references, and what each names of its own."""
    found = {}
    for ref in refs:
        named = reading.parse_reference(ref)
        try:
            document = reading.find_document(tx, actor, named.document)
            commit = read_file_places(tx, [document]).find_commit(document)
            if named.position is None:
                parts = indexing.read_parts(tx, document.seq)
            else:
                parts = reading.read_around(tx, document, named.position)
            found[ref] = OpenDocument(document, parts, named.position, commit)
        except NotFound:
            if (symbol := symbol_lookup.read_symbol(tx, actor, ref)) is not None:
                commit = read_file_places(tx, [symbol[0]]).find_commit(symbol[0])
                found[ref] = OpenDocument(symbol[0], [symbol[1]], commit=commit, symbol=ref)
    return found


def _is_of_note(ref: str) -> bool:
    return ref.startswith((NOTE_SCHEME, "@")) or is_note(ref) or path_globs.is_glob(ref)


def is_pattern(ref: str) -> bool:
    """Whether a reference may stand for several notes."""
    return not ref.startswith((NOTE_SCHEME, _MEMORY)) and path_globs.is_glob(ref)


async def _expand_pattern(vault: Vault, ref: str, room: int) -> list[str] | None:
    """The notes a pattern matches, one more than there is room for; None for what is no pattern, or is a note's very
    name."""
    if not is_pattern(ref):
        return None
    if await vault.db.read(lambda tx: tx.one("SELECT 1 FROM notes WHERE path = :path", {"path": ref})):
        return None
    return await vault.db.read(lambda tx: path_globs.expand_pattern(tx, ref, room + 1))


async def _to_item(
    vault: Vault, target: _FetchTarget, limits: FetchLimits, left: int, result: FetchResult
) -> FetchedItem | None:
    if target.is_there:
        try:
            return await _read_note(vault, target, limits, left, result)
        except NotFound:
            pass
        except (InvalidArgument, Conflict, TooLarge) as failure:
            result.warnings.append(f"{target.ref[:200]}: {_failure_text(failure)}")
    result.missing.append(target.ref)
    return None


async def _read_note(
    vault: Vault, target: _FetchTarget, limits: FetchLimits, left: int, result: FetchResult
) -> FetchedItem:
    if target.memory is not None:
        return _of_memory(target.memory, limits, left, result)
    if target.document is not None:
        return await run_in(vault.shared.pool, _of_document, target.document, limits, left, result)
    note = await open_note(vault, await resolve_path(vault, target.path or ""))
    summary = await note_parts.load_summary(vault, note)
    result.warnings += [f"{note.path}: {warning}" for warning in note.warnings]
    if len(note.data) <= note_parts.QUICK_BYTES:
        return _of_note(note, summary, limits, left, result)
    return await run_in(vault.shared.pool, _of_note, note, summary, limits, left, result)


def _failure_text(failure: StrongroomError) -> str:
    return failure.message.removeprefix("Validation error: path ")


def _of_memory(memory: Memory, limits: FetchLimits, left: int, result: FetchResult) -> FetchedItem:
    result.sizes[memory.id] = len(memory.content)
    whole = memory.content.splitlines(keepends=True)
    chosen = whole[limits.from_line - 1 :]
    if limits.max_lines is not None:
        chosen = chosen[: limits.max_lines]
    text = "".join(chosen)
    short = text.encode()[:left].decode("utf-8", "ignore")
    result.full = len(short) < len(text)
    # What the server knows of the memory stands above what its writer says in metadata.
    kept = {
        **memory.metadata, "type": memory.type, "author": memory.author, "created_at": memory.created_at,
        "tags": memory.tags, "applies_to": memory.applies_to, "workspace": memory.workspace,
    }  # fmt: skip
    cut = len(short) < len(text) or len(chosen) < len(whole)
    return FetchedItem(
        id=memory.id,
        title=memory.title,
        text=short,
        url=f"{_MEMORY}{memory.id}",
        metadata=kept,
        etag=f"v{memory.version}",
        truncated=cut,
    )


def _of_document(opened: OpenDocument, limits: FetchLimits, left: int, result: FetchResult) -> FetchedItem:
    document, fields = opened.document, opened.document.fields
    whole = reading.render_parts(document, opened.parts)
    start, end = line_ranges.line_offsets(whole, limits.from_line, limits.max_lines)
    stop = start + line_ranges.count_within_bytes(whole[start:end], left)
    result.full = stop < end
    following = line_ranges.count_lines(whole[:stop]) + 1 if stop < len(whole) else None
    shown = reading.describe_range(opened.parts, fields.kind)
    kept = {
        **fields.metadata, "kind": fields.kind, "format": fields.format, "author": fields.author, "uri": fields.uri,
        "thread": fields.thread, "workspace": fields.workspace, "collection": fields.collection, "parts": shown,
        "commit": opened.commit,
        "created_at": fields.created_at, "modified_at": fields.modified_at,
    }  # fmt: skip
    own = (
        opened.symbol or document.id if opened.position is None else reading.to_reference(document.id, opened.position)
    )
    result.sizes[own] = len(whole)
    return FetchedItem(
        id=own,
        title=fields.title,
        text=whole[start:stop],
        url=f"{fields.kind}://{quote(own)}",
        metadata={name: value for name, value in kept.items() if value is not None},
        etag=document.hash[:16],
        truncated=following is not None,
        next_line=following,
    )


def _of_note(note: OpenNote, summary: NoteSummary, limits: FetchLimits, left: int, result: FetchResult) -> FetchedItem:
    result.sizes[note.path] = len(note.text)
    start, end = line_ranges.line_offsets(note.text, limits.from_line, limits.max_lines)
    stop = start + line_ranges.count_within_bytes(note.text[start:end], left)
    text = note.text[start:stop]
    result.full = stop < end
    if result.full and text and text[-1] not in "\r\n":
        result.warnings.append(
            f"{note.path}: line {line_ranges.count_lines(note.text[:stop])} is longer than max_bytes and cut within"
        )
    properties, _ = note_parts.limit_fields(summary.frontmatter, note_parts.MAX_FRONTMATTER)
    kept = {
        **properties, "kind": "note", "tags": summary.tags, "aliases": summary.aliases,
        "created_at": summary.created_at, "modified_at": summary.modified_at,
    }  # fmt: skip
    following = line_ranges.count_lines(note.text[:stop]) + 1 if stop < len(note.text) else None
    url = to_address(note.path)
    return FetchedItem(
        id=note.path,
        title=summary.title,
        text=text,
        url=url,
        metadata=kept,
        etag=summary.etag,
        truncated=following is not None,
        next_line=following,
    )
