"""From a file's bytes to a stored document, and from a folder to many."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.documents.intake import (
    DocumentSource,
    StoredDocument,
    find_stored,
    hash_bytes,
    store_document,
    to_document,
)
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.errors import InvalidArgument, NotFound, ReadOnly, TooLarge
from vaults.files.folder_files import FolderFiles, FolderPlace, find_files, read_whole
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseProblem
from vaults.vault import Vault
from vaults.web.page_fetch import PageProblem

IntakeProblem = Literal[ParseProblem, PageProblem, "unreadable", "refused"]
"""Why nothing came of a file or page."""

FILES_AT_ONCE = 50
"""Files of a folder that one call reads at most."""

SPAN_S = 20.0
"""Seconds after which a call leaves the rest of a folder to the next."""


class IntakeRefused(Exception):
    """A file or page of which nothing was stored. The message is for people."""

    def __init__(self, problem: IntakeProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A file or page of which nothing was stored, and why."""

    name: str
    problem: IntakeProblem
    message: str


@dataclass(frozen=True, slots=True)
class GivenFile:
    """The bytes of a file. ``mime``: what whoever has it says it is."""

    data: bytes
    source: DocumentSource
    mime: str | None = None


async def take_in(vault: Vault, actor: Actor, given: GivenFile, quota: Quota = UNLIMITED) -> StoredDocument:
    """Store a file, unless the vault has it. Raises ``IntakeRefused`` where it cannot be read, and what
    ``store_document`` raises."""
    vault.disk.check_writable_in_bulk()
    digest = await run_in(vault.shared.pool, hash_bytes, given.data)
    source = replace(given.source, source_hash=digest)
    known = await find_stored(vault, actor, source)
    if known is not None:
        return known
    try:
        parsed = await vault.parsers.parse(given.data, source.name, mime=given.mime)
    except ParseFailed as failure:
        raise IntakeRefused(failure.problem, failure.message) from None
    return await _store(vault, actor, parsed, source, quota)


async def take_in_text(
    vault: Vault, actor: Actor, text: str, source: DocumentSource, quota: Quota = UNLIMITED
) -> StoredDocument:
    """Store a text somebody wrote, which is read as Markdown; its first heading is its title."""
    given = GivenFile(text.encode("utf-8", "replace"), source, "text/markdown")
    return await take_in(vault, actor, given, quota)


async def _store(
    vault: Vault, actor: Actor, parsed: ParsedDocument, source: DocumentSource, quota: Quota
) -> StoredDocument:
    if not any(part.text.strip() for part in parsed.parts):
        raise IntakeRefused("empty", "it holds no text")
    fields, parts = await run_in(vault.shared.pool, to_document, parsed, source)
    stored = await store_document(vault, actor, fields, parts, quota)
    return replace(stored, warnings=(*parsed.warnings, *stored.warnings))


@dataclass(slots=True)
class FolderTally:
    """What became of the files of a folder so far. ``after``: the last one that was looked at; ``left``: how many are
    left for the next call; ``passed_over``: links, and what could not be listed."""

    documents: list[StoredDocument] = field(default_factory=list)
    rejected: list[RejectedFile] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    after: str | None = None
    left: int = 0
    passed_over: int = 0

    def add(self, stored: StoredDocument) -> None:
        """Count what became of a file."""
        self.counts[stored.status] += 1
        self.documents.append(stored)

    def add_refused(self, path: str, refused: IntakeRefused) -> None:
        """Count a file of which nothing came; one of a format nobody reads is no fault of the folder."""
        if refused.problem == "unsupported":
            self.counts["unsupported"] += 1
        else:
            self.rejected.append(RejectedFile(path, refused.problem, refused.message))


@dataclass(frozen=True, slots=True)
class FolderRequest:
    """A folder whose files are to be stored. ``like``: what is said of each; ``after``: the file after which to go on;
    ``skips``: paths that are left out."""

    place: FolderPlace
    like: DocumentSource
    after: str | None = None
    skips: Callable[[str], bool] | None = None

    def is_wanted(self, path: str) -> bool:
        return (self.after is None or path > self.after) and not (self.skips and self.skips(path))


async def take_in_folder(vault: Vault, actor: Actor, asked: FolderRequest, quota: Quota = UNLIMITED) -> FolderTally:
    """Store the next files of a folder, as many as fit into a call. Raises ``NotFound``, ``QuotaExceeded`` and
    ``StorageFull``."""
    found: FolderFiles = await run_in(vault.shared.pool, find_files, asked.place)
    tally, until = FolderTally(after=asked.after, passed_over=len(found.passed_over)), time.monotonic() + SPAN_S
    todo = list(filter(asked.is_wanted, found.paths))
    for number, path in enumerate(todo):
        if number >= FILES_AT_ONCE or time.monotonic() > until:
            tally.left = len(todo) - number
            break
        try:
            source = replace(asked.like, name=path)
            tally.add(await take_in_place(vault, actor, asked.place.below(path), source, quota))
        except IntakeRefused as refused:
            tally.add_refused(path, refused)
        tally.after = path
    return tally


async def take_in_place(
    vault: Vault, actor: Actor, place: FolderPlace, source: DocumentSource, quota: Quota = UNLIMITED
) -> StoredDocument:
    """Store a file that lies below an allowed folder. Raises ``IntakeRefused`` and what ``store_document`` raises."""
    try:
        content = await run_in(vault.shared.pool, read_whole, place, vault.shared.ingest.max_file)
    except TooLarge:
        limit = vault.shared.ingest.max_file
        raise IntakeRefused("too_large", f"it has more than {limit:,} bytes (setting ingest.max_file)") from None
    except (ReadOnly, NotFound, InvalidArgument) as failure:
        raise IntakeRefused("unreadable", failure.message.removeprefix("Validation error: path ")) from None
    known = replace(source, uri=place.uri, modified_at=content.modified_at)
    return await take_in(vault, actor, GivenFile(content.data, known), quota)
