"""Copies of what was let go: rows as lines of JSON, compressed, kept while there is room, and put back by an undo.

Everything derived, such as passages and vectors, is made again and not kept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.maintenance.eviction_plan import EvictionCandidate
from vaults.domain.memories import indexing as memory_indexing
from vaults.vault import Vault

MAX_COPIES = 64 * 2**20
"""Bytes of copies at most; where there is a limit of size also a share of that."""

SHARE = 10
"""Copies take this part of ``max_size`` at most."""

LEVEL = 6


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table, as they were."""

    table: str
    columns: list[str]
    rows: list[list[Any]]


ItemRows: TypeAlias = Sequence[TableRows]

_BROUGHT = "kind = 'document' AND item = (SELECT json_array(id) FROM documents WHERE seq = :item)"
_DOCUMENT_TABLES: Mapping[str, str] = {
    "documents": "seq = :item",
    "document_parts": "document = :item",
    "import_records": _BROUGHT,
    "import_changes": "(kind, external_id, owner) IN"
    f" (SELECT kind, external_id, owner FROM import_records WHERE {_BROUGHT})",
}
_MEMORY_TABLES: Mapping[str, str] = {
    "memories": "seq = :item",
    "memory_accesses": "memory = :item",
    "memory_links": "from_memory = :item OR to_memory = :item",
    "memory_subjects": "from_memory = :item",
    "import_records": "kind = 'memory' AND item = (SELECT json_array(id) FROM memories WHERE seq = :item)",
}


def read_item(tx: Reader, candidate: EvictionCandidate) -> ItemRows:
    """All rows of an item that cannot be made again."""
    tables = _MEMORY_TABLES if candidate.kind == "memory" else _DOCUMENT_TABLES
    return [read_rows(tx, table, where, candidate.seq) for table, where in tables.items()]


def read_rows(tx: Reader, table: str, where: str, item: int) -> TableRows:
    """The rows of a table that fit; ``where`` names the item's number ``:item``."""
    columns = _columns(tx, table)
    rows = tx.all(f"SELECT {', '.join(columns)} FROM {table} WHERE {where}", {"item": item})
    return TableRows(table, columns, [list(row) for row in rows])


def _columns(tx: Reader, table: str) -> list[str]:
    return [name for (name,) in tx.all("SELECT name FROM pragma_table_info(:table)", {"table": table})]


def compress(item: ItemRows) -> bytes:
    """Rows as bytes. Line by line: to write megabytes as one JSON would keep every other thread waiting."""
    packer = zlib.compressobj(LEVEL)
    lines = (line for each in item for line in ({"table": each.table, "columns": each.columns}, *each.rows))
    packed = [packer.compress(json.dumps(line, ensure_ascii=False).encode() + b"\n") for line in lines]
    return b"".join([*packed, packer.flush()])


def decompress(data: bytes) -> ItemRows:
    """What ``compress`` was given."""
    found: list[TableRows] = []
    for line in zlib.decompress(data).splitlines():
        said = json.loads(line)
        if isinstance(said, dict):
            found.append(TableRows(said["table"], said["columns"], []))
        else:
            found[-1].rows.append(said)
    return found


def max_copies(max_size: int | None) -> int:
    """Bytes that copies may take beside a limit of size."""
    return MAX_COPIES if max_size is None else min(MAX_COPIES, max_size // SHARE)


def keep(tx: Writer, eviction: int, data: bytes, most: int) -> None:
    """Keep a copy in place of the oldest ones, so that they take ``most`` bytes together; none that is larger."""
    if len(data) > most:
        return
    drop_oldest(tx, most - len(data))
    tx.run(
        "INSERT INTO evicted_copies (eviction, size, data) VALUES (:eviction, :size, :data)",
        {"eviction": eviction, "size": len(data), "data": data},
    )


def drop_oldest(tx: Writer, left: int) -> int:
    """Drop the oldest copies until the others take ``left`` bytes at most; returns how many went."""
    over = count_bytes(tx) - left
    gone = []
    for eviction, size in tx.all("SELECT eviction, size FROM evicted_copies ORDER BY eviction") if over > 0 else ():
        if over <= 0:
            break
        gone.append({"eviction": eviction})
        over -= int(size)
    tx.many("DELETE FROM evicted_copies WHERE eviction = :eviction", gone)
    return len(gone)


def count_bytes(tx: Reader) -> int:
    """Bytes of all copies."""
    return int(tx.value("SELECT SUM(size) FROM evicted_copies") or 0)


def read_copy(tx: Reader, eviction: int) -> bytes | None:
    """The copy of an item, if it is still there."""
    data = tx.value("SELECT data FROM evicted_copies WHERE eviction = :eviction", {"eviction": eviction})
    return None if data is None else bytes(data)


def has_copy(tx: Reader, eviction: int) -> bool:
    """Whether the copy of an item is still there."""
    return tx.one("SELECT 1 FROM evicted_copies WHERE eviction = :eviction", {"eviction": eviction}) is not None


def put_back(vault: Vault, tx: Writer, item: ItemRows) -> bool:
    """Write an item's rows again and make what is derived of it, its vectors queued; False where something else has
    taken its place since."""
    head = item[0]
    seq = int(head.rows[0][head.columns.index("seq")])
    if not _insert(tx, head):
        return False
    for each in item[1:]:
        _insert(tx, each)
    _index(vault, tx, head.table, seq)
    return True


_RUN_IS_THERE = "EXISTS (SELECT 1 FROM import_runs WHERE seq = :run)"
_NAMED_ARE_THERE: Mapping[str, str] = {
    "memory_links": "(SELECT COUNT(*) FROM memories WHERE seq IN (:from_memory, :to_memory)) = 2",
    "import_records": _RUN_IS_THERE,
    "import_changes": f"{_RUN_IS_THERE} AND EXISTS (SELECT 1 FROM import_records WHERE kind = :kind"
    " AND external_id = :external_id AND owner = :owner)",
}
"""Of tables whose rows name others: whether these are there."""


def _insert(tx: Writer, rows: TableRows) -> int:
    """Write rows, but none that would clash with another, or that names one which is gone."""
    known = set(_columns(tx, rows.table))
    columns = [name for name in rows.columns if name in known]
    values = ", ".join(f":{name}" for name in columns)
    statement = f"INSERT OR IGNORE INTO {rows.table} ({', '.join(columns)}) SELECT {values}"
    if rows.table in _NAMED_ARE_THERE:
        statement += f" WHERE {_NAMED_ARE_THERE[rows.table]}"
    done = 0
    for row in _to_dicts(rows):
        done += max(0, tx.run(statement, {name: row[name] for name in columns}))
    return done


def is_taken_back(tx: Reader, item: ItemRows) -> bool:
    """Whether the import that brought an item was undone after it went. One that was changed before it went would have
    stayed. The table of runs is that of ``vaults.domain.import_export.import_runs``."""
    (was,) = _to_dicts(item[0])
    left_at = was["hash"] if item[0].table == "documents" else was["updated_at"]
    undone = "SELECT 1 FROM import_runs WHERE seq = :run AND undone_at IS NOT NULL"
    records = [row for each in item[1:] if each.table == "import_records" for row in _to_dicts(each)]
    return any(each["state"] == left_at and tx.one(undone, {"run": each["run"]}) for each in records)


def _to_dicts(rows: TableRows) -> list[dict[str, Any]]:
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.rows]


def _index(vault: Vault, tx: Writer, table: str, seq: int) -> None:
    model = vault.embedder.identity
    key, most = (model.key if model else None), vault.shared.index.passage_tokens
    if table == "documents":
        tx.run("UPDATE documents SET used_at = :now WHERE seq = :seq", {"now": clock.now(), "seq": seq})
        document_indexing.index(tx, document_indexing.read_document(tx, seq), most, key)
        return
    tx.run(
        "INSERT INTO memory_accesses (memory, accessed_at, times) VALUES (:seq, :now, 1)"
        " ON CONFLICT (memory) DO UPDATE SET accessed_at = excluded.accessed_at",
        {"seq": seq, "now": clock.now()},
    )
    source = memory_indexing.load_source(tx, seq)
    memory_indexing.index(tx, source, source.cut(most), None, key)
