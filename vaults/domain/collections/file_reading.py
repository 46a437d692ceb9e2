"""Reads one file of a collection: its bytes off the disk as one version, what it says by a parser's process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vaults import clock
from vaults.context import run_in
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.collection_rows import DOCUMENT_KEYS
from vaults.domain.collections.file_rows import KnownFile, to_stamp
from vaults.domain.documents import intake
from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.documents.intake import DocumentSource
from vaults.domain.documents.storage import PreparedDocument
from vaults.errors import InvalidArgument, Overloaded, TooLarge
from vaults.files.failures import machine_failure
from vaults.files.file_content import read_file
from vaults.files.file_stamps import FileContent, FileStamp, stamp_of
from vaults.files.file_walk import FoundFile
from vaults.files.folders import VaultRoot, path_segments
from vaults.formats.parsed_document import ParseFailed
from vaults.vault import Vault

if TYPE_CHECKING:
    from vaults.code.code_outline import CodeOutline

T = TypeVar("T")

EMPTY = "empty"

RACY_NS = 50_000_000
"""Nanoseconds before a reading within which a write may be followed by another with the same stamp."""

SENT_BYTES = 8 * 1024 * 1024
"""Max bytes of a document that are sent to its parser; a larger one the parser opens itself."""

TURN_S = 1.0
"""Seconds until a parser is asked again, where too many files wait."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """What came of a file. ``row``: what is recorded of it, its document aside; ``document``: what is to be stored;
    ``is_same``: the bytes are those that were read before; ``is_gone``: it is not there any more."""

    row: KnownFile
    document: PreparedDocument | None = None
    outline: CodeOutline | None = None
    is_same: bool = False
    is_gone: bool = False


class FileReader:
    """Reads the files of one collection."""

    def __init__(self, vault: Vault, collection: Collection) -> None:
        self._vault = vault
        self._collection = collection
        self._root = VaultRoot(collection.fields.root)
        is_code = collection.fields.kind == "code"
        self._max_file = vault.shared.code.max_file if is_code else vault.shared.ingest.max_file

    async def read(self, found: FoundFile, known: KnownFile | None) -> FileReading:
        """Read a file. Whatever is wrong with it is told in the row. Raises ``VaultUnavailable`` where its folder, and
        ``Overloaded`` where a parser cannot be had."""
        row = KnownFile(found.path, to_stamp(found.stamp), None, found.stamp.size)
        try:
            if found.stamp.size > self._max_file:
                return FileReading(replace(row, problem=f"larger than {self._max_file:,} bytes"))
            if found.stamp.size > SENT_BYTES and self._collection.fields.kind != "code":
                return await self._read_large(found, row)
            return await self._read(row, known)
        except FileNotFoundError:
            return FileReading(row, is_gone=True)
        except (TooLarge, InvalidArgument) as failure:  # it changed just now: the next look sees as what
            return FileReading(replace(row, stamp="", problem=failure.message))
        except OSError as failure:
            return _to_unread(row, known, failure)

    async def _read(self, row: KnownFile, known: KnownFile | None) -> FileReading:
        read_ns = time.time_ns()
        content = await run_in(self._vault.shared.pool, self._load, row.path)
        size, digest = len(content.data), intake.hash_bytes(content.data)
        row = replace(row, stamp=_settled(content.stamp, read_ns), size=size, hash=digest)
        if known is not None and known.hash == row.hash:
            return FileReading(replace(known, stamp=row.stamp), is_same=True)
        try:
            return await self._parse(content, row)
        except ParseFailed as failure:
            return _to_failed(row, failure)

    def _load(self, path: str) -> FileContent:
        *folders, name = path_segments(path)
        with self._root.folder(folders) as folder:
            return read_file(folder, name, path, self._max_file)

    async def _parse(self, content: FileContent, row: KnownFile) -> FileReading:
        if not content.data.strip():
            return FileReading(replace(row, left_out=EMPTY))
        if self._collection.fields.kind == "code":
            return await self._parse_code(content, row)
        parsers = self._vault.parsers
        parsed = await _in_turn(lambda: parsers.parse(content.data, row.path))
        fields, parts = intake.to_document(parsed, self._to_source(row, content.stamp))
        return await self._prepare(fields, parts, row, parsed.warnings)

    async def _parse_code(self, content: FileContent, row: KnownFile) -> FileReading:
        from vaults.code.exclusions import HEAD_BYTES, why_excluded
        from vaults.domain.code.intake import to_code_document

        reason = why_excluded(row.path, content.data[:HEAD_BYTES])
        if reason is not None:
            return FileReading(replace(row, left_out=reason))
        parsers = self._vault.parsers
        outline = await _in_turn(lambda: parsers.outline(content.data, row.path))
        fields, parts = to_code_document(outline, self._to_source(row, content.stamp))
        return replace(await self._prepare(fields, parts, row, outline.warnings), outline=outline)

    async def _read_large(self, found: FoundFile, row: KnownFile) -> FileReading:
        """Have the parser open a file, again where it changed meanwhile."""
        path = Path(self._collection.fields.root) / found.path
        before = found.stamp
        for _ in range(3):
            try:
                parsed = await _in_turn(lambda: self._vault.parsers.parse_file(path, found.path))
            except ParseFailed as failure:
                return _to_failed(row, failure)
            after = stamp_of(await run_in(self._vault.shared.pool, path.lstat))
            if after.same(before):
                break
            before = after
        row = replace(row, stamp=to_stamp(before), size=before.size, hash=parsed.source_hash)
        fields, parts = intake.to_document(parsed, self._to_source(row, before))
        return await self._prepare(fields, parts, row, parsed.warnings)

    async def _prepare(
        self, fields: DocumentFields, parts: tuple[DocumentPart, ...], row: KnownFile, told: tuple[str, ...]
    ) -> FileReading:
        document, warnings = await run_in(self._vault.shared.pool, intake.prepare_document, self._vault, fields, parts)
        return FileReading(replace(row, problem="; ".join((*told, *warnings)) or None), document)

    def _to_source(self, row: KnownFile, stamp: FileStamp) -> DocumentSource:
        fields = self._collection.fields
        modified = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
        return DocumentSource(
            name=row.path,
            uri=row.path,
            external_id=f"{DOCUMENT_KEYS}{self._collection.seq}:{row.path}",
            workspace=fields.workspace,
            collection=fields.name,
            context=fields.context or None,
            kind="code" if fields.kind == "code" else "document",
            source_hash=row.hash,
            modified_at=clock.to_text(modified),
        )


def _to_unread(row: KnownFile, known: KnownFile | None, failure: OSError) -> FileReading:
    """What is recorded of a file that the system does not let read. A disk that does not answer says nothing of the
    file: what was read of it before stays."""
    problem = f"cannot be read ({failure.strerror})"
    if known is not None and machine_failure(failure) is not None:
        return FileReading(replace(known, stamp="", problem=problem), is_same=True)
    return FileReading(replace(row, stamp="", problem=problem))


def _to_failed(row: KnownFile, failure: ParseFailed) -> FileReading:
    if failure.problem == "empty":
        return FileReading(replace(row, left_out=EMPTY))
    return FileReading(replace(row, problem=failure.message))


async def _in_turn(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer of a parser, however long the others before wait."""
    while True:
        try:
            return await ask()
        except Overloaded:
            await asyncio.sleep(TURN_S)


def _settled(stamp: FileStamp, read_ns: int) -> str:
    """The stamp as rows keep it; empty if the file may have changed since without another one."""
    return to_stamp(stamp) if stamp.mtime_ns + RACY_NS < read_ns else ""
