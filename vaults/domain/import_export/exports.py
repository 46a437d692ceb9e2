"""Writes a vault's memories to a folder: ``memories.jsonl``, and one Markdown file each.

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
from typing import Literal

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.import_export.jsonl import ExportedMemory, to_line
from vaults.domain.import_export.markdown_files import to_file_name, to_markdown
from vaults.domain.memories.memory_model import COLUMN_COUNT, COLUMNS, from_row
from vaults.errors import Conflict, InvalidArgument, StorageFull
from vaults.files.atomic import sync_folder
from vaults.graph.links import memory_subjects
from vaults.vault import Vault

ExportFormat = Literal["jsonl", "markdown"]

JSONL = "memories.jsonl"
FOLDER = "memories"
STAGE_FOLDER = ".strongroom-export"
PAGE = 500


OnExported = Callable[[int, int], None]
"""Called after each page: memories written, of how many."""


async def export(
    vault: Vault, folder: Path, formats: Sequence[ExportFormat], progress: OnExported = lambda *_: None
) -> int:
    """Write every memory, including private, archived and superseded ones; returns how many. Raises
    ``InvalidArgument``, ``Conflict`` when another export writes there, ``StorageFull``."""
    total = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM memories")))
    with open_stage(folder, formats) as stage:
        done, after = 0, 0
        while page := await vault.db.read(lambda tx, after=after: _read_page(tx, after)):  # type: ignore[misc]
            after, memories = page
            await run_in(vault.shared.pool, stage.write, memories)
            done += len(memories)
            progress(done, max(total, done))
        await run_in(vault.shared.pool, stage.commit)
    return done


def _external_id_sql(memory: str) -> str:
    """SQL for the external id to export, over an alias: none where several memories share it, as private memories of
    several people may."""
    return (
        f"CASE WHEN {memory}.visibility = 'private' AND EXISTS (SELECT 1 FROM memories t WHERE t.external_id ="
        f" {memory}.external_id AND t.seq <> {memory}.seq) THEN NULL ELSE {memory}.external_id END"
    )


def _exported_id_sql(memory: str) -> str:
    return f"COALESCE({_external_id_sql(memory)}, {memory}.id)"


def _read_page(tx: Reader, after: int) -> tuple[int, list[ExportedMemory]] | None:
    """The memories after ``after``, and the ``seq`` of the last one; None at the end."""
    # A memory whose successor was purged, or does not name it, is exported as archived: an import must not bring
    # it back to life.
    columns = COLUMNS.replace(
        "m.archived_at",
        "CASE WHEN m.archived_at IS NULL AND m.superseded_by IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM memories s WHERE s.id = m.superseded_by AND s.supersedes = m.id AND s.seq > m.seq)"
        " THEN m.updated_at ELSE m.archived_at END",
    ).replace("m.external_id", _external_id_sql("m"))
    rows = tx.all(
        f"SELECT {columns}, m.seq, m.title_derived, {_exported_id_sql('o')} FROM memories m"
        " LEFT JOIN memories o ON o.id = m.supersedes AND o.superseded_by = m.id"
        " WHERE m.seq > :after ORDER BY m.seq LIMIT :page",
        {"after": after, "page": PAGE},
    )
    page = [
        ExportedMemory(
            from_row(row),
            bool(row[COLUMN_COUNT + 1]),
            row[COLUMN_COUNT + 2],
            _read_links(tx, row[COLUMN_COUNT]),
            memory_subjects.read_all_subjects(tx, row[COLUMN_COUNT]),
        )
        for row in rows
    ]
    return (int(rows[-1][COLUMN_COUNT]), page) if page else None


def _read_links(tx: Reader, seq: int) -> tuple[tuple[str, str, str], ...]:
    """Links between a memory and earlier ones, by their exported ids: an import knows both ends by then."""
    return tuple(
        (row[0], row[1], row[2])
        for row in tx.all(
            f"SELECT {_exported_id_sql('a')}, l.relation, {_exported_id_sql('b')} FROM memory_links l"
            " JOIN memories a ON a.seq = l.from_memory JOIN memories b ON b.seq = l.to_memory"
            " WHERE (l.from_memory = :seq AND l.to_memory < :seq) OR (l.to_memory = :seq AND l.from_memory < :seq)"
            " ORDER BY 1, 2, 3",
            {"seq": seq},
        )
    )


class ExportStage:
    """The hidden folder an export is written to."""

    def __init__(self, target: Path, formats: Sequence[ExportFormat]) -> None:
        self._target = target
        self._formats = formats
        self._folder = target / STAGE_FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)  # left by an export that was killed
        (self._folder / FOLDER).mkdir(mode=0o700, parents=True)
        self._lines = (self._folder / JSONL).open("wb")

    def write(self, page: Sequence[ExportedMemory]) -> None:
        """Write some memories. Blocking."""
        with _typed_failures():
            for one in page:
                if "jsonl" in self._formats:
                    self._lines.write(to_line(one))
                if "markdown" in self._formats:
                    path = self._folder / FOLDER / to_file_name(one.memory)
                    path.write_text(to_markdown(one.memory), encoding="utf-8", newline="")

    def commit(self) -> None:
        """Make the export durable and move it into place. Blocking."""
        with _typed_failures():
            self._lines.flush()
            os.fsync(self._lines.fileno())
            if "jsonl" in self._formats:
                (self._folder / JSONL).replace(self._target / JSONL)
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
