"""Writes a vault to a folder: ``memories.jsonl``, ``documents.jsonl``, ``records.jsonl`` with what else there is, and a
Markdown file for each memory.

Everything is first written to a hidden folder inside the target and renamed file by file at the end, so that a kill
leaves the former export, or parts of the new one, but never half a file. Files of memories purged since a former export
stay: export into an empty folder where that matters.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from vaults.context import run_in
from vaults.domain.import_export import document_lines, record_export
from vaults.domain.import_export.lines import encode_line
from vaults.domain.import_export.markdown_files import to_file_name, to_markdown
from vaults.domain.import_export.memory_export import ExportedMemory, read_page, to_fields
from vaults.domain.import_export.record_export import RECORD_EXPORTS
from vaults.errors import Conflict, InvalidArgument, StorageFull
from vaults.files.atomic import sync_folder
from vaults.vault import Vault

ExportFormat = Literal["jsonl", "markdown"]

JSONL, DOCUMENTS, RECORDS = "memories.jsonl", "documents.jsonl", "records.jsonl"
FOLDER = "memories"
STAGE_FOLDER = ".strongroom-export"


OnExported = Callable[[int, int], None]
"""Called after each page: memories written, of how many."""


async def export(
    vault: Vault, folder: Path, formats: Sequence[ExportFormat], progress: OnExported = lambda *_: None
) -> int:
    """Write every memory, including private, archived and superseded ones, and as JSON every session, handoff and other
    record; returns how many memories. Raises ``InvalidArgument``, ``Conflict`` when another export writes there,
    ``StorageFull``."""
    total = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM memories")))
    with open_stage(folder, formats) as stage:
        done, after = 0, 0
        while page := await vault.db.read(lambda tx, after=after: read_page(tx, after)):  # type: ignore[misc]
            after, memories = page
            await run_in(vault.shared.pool, stage.write, memories)
            done += len(memories)
            progress(done, max(total, done))
        await _export_documents(vault, stage)
        for kind in RECORD_EXPORTS:
            await _export_kind(vault, kind, stage)
        await run_in(vault.shared.pool, stage.commit)
    return done


async def _export_documents(vault: Vault, stage: ExportStage) -> None:
    after = 0
    while page := await vault.db.read(lambda tx, after=after: document_lines.read_page(tx, after)):  # type: ignore[misc]
        after, lines = page
        await run_in(vault.shared.pool, stage.write_documents, lines)


async def _export_kind(vault: Vault, kind: str, stage: ExportStage) -> None:
    place: tuple[Any, ...] | None = None
    while page := await vault.db.read(lambda tx, place=place: record_export.read_page(tx, kind, place)):  # type: ignore[misc]
        place, found = page
        await run_in(vault.shared.pool, stage.write_records, found)


class ExportStage:
    """The hidden folder an export is written to."""

    def __init__(self, target: Path, formats: Sequence[ExportFormat]) -> None:
        self._target = target
        self._formats = formats
        self._folder = target / STAGE_FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)  # left by an export that was killed
        (self._folder / FOLDER).mkdir(mode=0o700, parents=True)
        self._lines = (self._folder / JSONL).open("wb")
        self._documents = (self._folder / DOCUMENTS).open("wb")
        self._records = (self._folder / RECORDS).open("wb")

    def write(self, page: Sequence[ExportedMemory]) -> None:
        """Write some memories. Blocking."""
        with _typed_failures():
            for one in page:
                if "jsonl" in self._formats:
                    self._lines.write(encode_line(to_fields(one)))
                if "markdown" in self._formats:
                    path = self._folder / FOLDER / to_file_name(one.memory)
                    path.write_text(to_markdown(one.memory), encoding="utf-8", newline="")

    def write_documents(self, page: Sequence[dict[str, Any]]) -> None:
        """Write some lines of documents. Blocking."""
        with _typed_failures():
            self._documents.writelines(map(encode_line, page))

    def write_records(self, page: Sequence[dict[str, Any]]) -> None:
        """Write some lines of other kinds. Blocking."""
        with _typed_failures():
            self._records.writelines(map(encode_line, page))

    def commit(self) -> None:
        """Make the export durable and move it into place. Blocking."""
        with _typed_failures():
            for file in (self._lines, self._documents, self._records):
                file.flush()
                os.fsync(file.fileno())
            if "jsonl" in self._formats:
                for name in (JSONL, DOCUMENTS, RECORDS):
                    (self._folder / name).replace(self._target / name)
            if "markdown" in self._formats:
                place = self._target / FOLDER
                place.mkdir(exist_ok=True)
                os.sync()  # one call for however many small files
                for path in sorted((self._folder / FOLDER).iterdir()):
                    path.replace(place / path.name)
                sync_folder(place)
            sync_folder(self._target)

    def discard(self) -> None:
        """Remove whatever is left of the stage."""
        self._lines.close()
        self._documents.close()
        self._records.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def open_stage(target: Path, formats: Sequence[ExportFormat]) -> Iterator[ExportStage]:
    """A stage in ``target``, which is created if needed; one export at a time per folder. The kernel's lock is on the
    folder itself, so no lock file is left behind."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        lock = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as failure:
        raise InvalidArgument("--to", f"{target} cannot be written: {failure.strerror}") from failure
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("another export writes to this folder", hint="wait for it, or name another") from None
        with _typed_failures():
            stage = ExportStage(target, formats)
        try:
            yield stage
        finally:
            stage.discard()
    finally:
        os.close(lock)


@contextmanager
def _typed_failures() -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        if failure.errno in (28, 122):  # ENOSPC, EDQUOT
            raise StorageFull("the disk is full; the former export is untouched", hint="free space") from failure
        raise InvalidArgument("--to", f"cannot be written: {failure.strerror}") from failure
