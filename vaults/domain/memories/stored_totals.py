"""What a vault, or a caller in it, holds, for comparison with limits. Each count is answered by an index."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader

_LIVING = "archived_at IS NULL AND superseded_by IS NULL"


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """``memories`` are the living ones: what is archived, superseded or purged makes room. ``size`` in bytes."""

    memories: int
    size: int


def count_vault(tx: Reader) -> StoredTotals:
    """Everything in the vault, whoever may see it."""
    return StoredTotals(_count_shared(tx) + _count_private(tx, "(1 = 1)", ""), tx.size())


def count_visible(tx: Reader, identity: str) -> StoredTotals:
    """The vault as one caller sees it, without others' private memories."""
    return StoredTotals(_count_shared(tx) + _count_private(tx, "stored_by = :who", identity), tx.size())


def count_stored_by(tx: Reader, identity: str) -> StoredTotals:
    """What one caller stored; ``size`` is the length of its texts in characters, of archived memories and documents
    too."""
    row = tx.one(
        f"SELECT SUM(CASE WHEN {_LIVING} THEN 1 ELSE 0 END), SUM(LENGTH(content)) FROM memories WHERE stored_by = :who",
        {"who": identity},
    )
    living, size = row or (0, 0)
    read_in = tx.value("SELECT SUM(size) FROM documents WHERE stored_by = :who", {"who": identity})
    return StoredTotals(int(living or 0), int(size or 0) + int(read_in or 0))


def _count_shared(tx: Reader) -> int:
    return int(tx.value(f"SELECT COUNT(*) FROM memories WHERE visibility = 'shared' AND {_LIVING}"))


def _count_private(tx: Reader, whose: str, identity: str) -> int:
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM memories WHERE visibility = 'private' AND {whose} AND {_LIVING}", {"who": identity}
        )
    )
