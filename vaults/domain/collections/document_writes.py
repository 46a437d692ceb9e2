"""Writes the documents of a collection and the rows of its files together, so that neither tells of what the other has
not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.collections import collection_rows, file_rows
from vaults.domain.collections.collection_model import Collection
from vaults.domain.collections.file_reading import FileReading
from vaults.domain.collections.file_rows import KnownFile
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.document_model import Document
from vaults.errors import Conflict
from vaults.index import sequence_passages
from vaults.vault import Vault

RELABELLED_AT_ONCE = 32
"""Documents that are given a new name in one transaction."""


class CollectionChanged(Conflict):
    """The collection was changed or removed while it was read: whoever follows it begins again."""


@dataclass(slots=True)
class DocumentWriter:
    """Writes what was read of files. ``left``: files that are gone, by path, until another takes their documents;
    ``by_hash``: their paths by digest; ``owed``: whether vectors are missing."""

    vault: Vault
    collection: Collection
    actor: Actor
    left: dict[str, KnownFile]
    by_hash: dict[str, list[str]] = field(default_factory=dict)
    owed: bool = False

    def write(self, readings: Sequence[FileReading], tx: Writer) -> None:
        """Store, replace, move or delete the documents of these files. Raises ``CollectionChanged``."""
        check_current(tx, self.collection)
        for reading in readings:
            self._write_one(tx, reading)

    def _write_one(self, tx: Writer, reading: FileReading) -> None:
        seq, row = self.collection.seq, reading.row
        known = file_rows.find_file(tx, seq, row.path)
        if reading.is_gone:
            if known is not None:
                self.left[known.path] = known
            return
        if reading.is_same:
            file_rows.write_files(tx, seq, [row])
            return
        before = find_document(tx, known.document if known else None)
        if reading.document is None:
            if before is not None:
                storage.drop(tx, before)
        else:
            row = replace(row, document=self._store(tx, reading, before or self._adopt(tx, row)))
        file_rows.write_files(tx, seq, [row])

    def _store(self, tx: Writer, reading: FileReading, before: Document | None) -> int:
        prepared = reading.document
        assert prepared is not None
        if before is None:
            number = storage.insert(self.vault, tx, self.actor, prepared).seq
        else:
            fields = replace(prepared.fields, created_at=min(before.fields.created_at, prepared.fields.created_at))
            storage.replace_whole(self.vault, tx, before, prepared.with_fields(fields))
            number = before.seq
        if reading.outline is not None:
            from vaults.domain.code.intake import store_code

            store_code(self.vault, tx, number, reading.outline)
        self.owed = True
        return number

    def _adopt(self, tx: Writer, row: KnownFile) -> Document | None:
        """The document of a file with the same bytes that is gone: it was moved here."""
        for path in self.by_hash.get(row.hash or "", ()):
            moved = self.left.pop(path, None)
            document = find_document(tx, moved.document) if moved is not None else None
            if moved is not None and document is not None:
                file_rows.forget_files(tx, self.collection.seq, [path])
                return document
        return None


def drop_files(tx: Writer, seq: int, files: Sequence[KnownFile]) -> None:
    """Delete files of a collection from what is known, with their documents."""
    for each in files:
        document = find_document(tx, each.document)
        if document is not None:
            storage.drop(tx, document)
    file_rows.forget_files(tx, seq, [each.path for each in files])


def find_document(tx: Reader, number: int | None) -> Document | None:
    """A file's document; None where it has none, or another let go of it."""
    if number is None or tx.one("SELECT 1 FROM documents WHERE seq = :seq", {"seq": number}) is None:
        return None
    return indexing.read_document(tx, number)


def check_current(tx: Reader, collection: Collection) -> None:
    """Raises ``CollectionChanged`` if it is not any more what it was."""
    if not collection_rows.is_current(tx, collection):
        raise CollectionChanged(f"collection {collection.fields.name} was changed meanwhile")


async def relabel(vault: Vault, collection: Collection) -> None:
    """Have documents and passages say a new name, step by step."""
    after: str | None = ""
    while after is not None:
        after = await vault.db.write(partial(_relabel_some, collection, after))


def _relabel_some(collection: Collection, after: str, tx: Writer) -> str | None:
    check_current(tx, collection)
    rows = tx.all(
        "SELECT f.path, d.seq FROM collection_files f JOIN documents d ON d.seq = f.document"
        " WHERE f.collection = :seq AND f.path > :after AND d.collection IS NOT :name ORDER BY f.path LIMIT :limit",
        {"seq": collection.seq, "after": after, "name": collection.fields.name, "limit": RELABELLED_AT_ONCE},
    )
    for _, number in rows:
        tx.run(
            "UPDATE documents SET collection = :name WHERE seq = :seq", {"name": collection.fields.name, "seq": number}
        )
        sequence = indexing.sequence_of(indexing.read_document(tx, number))
        sequence_passages.put_into_collection(tx, sequence, collection.fields.name)
    return rows[-1][0] if len(rows) == RELABELLED_AT_ONCE else None
