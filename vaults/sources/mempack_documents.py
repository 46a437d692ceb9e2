"""Files that mempack ingested in pieces, as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from vaults.sources.mempack_memories import to_external_id
from vaults.sources.record_fields import TITLE, cut_text, to_label, without_empty
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import Fields
from vaults.sources.times import to_rfc3339

MAX_DOCUMENT = 16 << 20
"""Max characters of an ingested file; what is more stays behind."""

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_TEXT = frozenset({"", ".txt", ".rst", ".log", ".csv"})

_PIECES = (
    "SELECT COALESCE(NULLIF(artifact_id, ''), chunk_id) AS artifact, rowid AS place FROM chunks"
    " WHERE deleted_at IS NULL"
)
_EARLIER = (
    "SELECT 1 FROM artifacts WHERE artifact_id = ? UNION ALL SELECT 1 FROM pieces WHERE artifact = ?"
    " AND place < (SELECT rowid FROM chunks WHERE chunk_id = ?)"
)


class IngestedFiles:
    """The ingested files of one database. ``roots``: the folders of repositories."""

    def __init__(self, file: SqliteFile, left: Counter[str], roots: Mapping[Any, str]) -> None:
        self._file, self._left, self._roots = file, left, roots
        file.note("pieces", _PIECES, ("artifact",))

    def to_document(self, _: int, row: Row) -> Iterable[Fields]:
        found = self._read_pieces(row["artifact_id"])
        if not found:
            self._left["ingested files without text"] += 1
            return
        source = str(row["source"] or "") or _to_path(found[0][0])
        kind = None if row["kind"] == "file" else row["kind"]
        more = {"kind": kind, "content_hash": row["content_hash"]}
        yield self._to_document_line(row, row["artifact_id"], source, found, more)

    def to_lone_document(self, _: int, row: Row) -> Iterable[Fields]:
        """A piece, or the first of several, whose ingested file has no row."""
        artifact = row["artifact_id"] or row["chunk_id"]
        if row["deleted_at"]:
            self._left["deleted pieces of files"] += 1
            return
        if not self._file.first(_EARLIER, (artifact, artifact, row["chunk_id"])):
            found = self._read_pieces(artifact)
            if found:
                yield self._to_document_line(row, artifact, _to_path(found[0][0]), found, {})

    def _read_pieces(self, artifact: Any) -> list[tuple[Any, ...]]:
        """Locator, text, symbol, thread and time of the pieces of a file, in their order; not more than fits."""
        symbol = "symbol_name" if self._file.has("chunks", "symbol_name") else "NULL"
        sql = (
            f"SELECT locator, text, {symbol}, thread_id, created_at FROM pieces p JOIN chunks c ON c.rowid = p.place"
            " WHERE p.artifact = ? AND TRIM(text) <> '' ORDER BY p.place"
        )
        found: list[tuple[Any, ...]] = []
        room = MAX_DOCUMENT
        for piece in self._file.query(sql, (artifact,)):
            room -= len(piece[1])
            if room < 0:
                self._left["text beyond 16 MB of a file"] += 1
                break
            found.append(piece)
        return found

    def _to_document_line(
        self, row: Row, artifact: Any, source: str, pieces: Sequence[tuple[Any, ...]], metadata: Fields
    ) -> Fields:
        root = self._roots.get(row["repo_id"]) or ""
        uri = f"file://{quote(root)}/{quote(source)}" if root.startswith("/") and not source.startswith("/") else source
        parts = [
            without_empty({"text": text, "heading": cut_text(symbol, TITLE), "locator": to_label(locator)})
            for locator, text, symbol, *_ in pieces
        ]
        return without_empty(
            {
                "kind": "document",
                "external_id": to_external_id(row["repo_id"], f"document:{artifact}"),
                "format": _to_format(source),
                "title": cut_text(source, TITLE),
                "uri": cut_text(uri, 1000),
                "workspace": to_label(root),
                "thread": to_label(pieces[0][3]),
                "created_at": to_rfc3339(pieces[0][4]),
                "metadata": without_empty(metadata),
                "parts": parts,
            }
        )


def _to_path(locator: Any) -> str:
    """The path in a locator such as ``git:<commit>:src/a.py#L1-L9`` or ``file:a.py#L1-L9``."""
    text = str(locator or "")
    kind, _, rest = text.partition(":")
    path = rest.partition(":")[2] if kind == "git" else rest if kind == "file" else text
    return path.rpartition("#L")[0] or path


def _to_format(source: str) -> str:
    ending = PurePosixPath(source).suffix.lower()
    return "markdown" if ending in _MARKDOWN else "text" if ending in _TEXT else "code"
