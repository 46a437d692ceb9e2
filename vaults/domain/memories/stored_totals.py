"""What a vault, or somebody in it, holds: what limits are compared with. Each count is answered by an index."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader

_LIVING = "archived_at IS NULL AND superseded_by IS NULL"


@dataclass(frozen=True, slots=True)
class Holdings:
    """``memories`` are the living ones: what is archived, superseded or purged makes room. ``size`` in bytes."""

    memories: int
    size: int


def of_vault(tx: Reader) -> Holdings:
    """Everything in the vault, whoever may see it."""
    return Holdings(_shared(tx) + _private(tx, "(1 = 1)", ""), tx.size())


def seen_by(tx: Reader, identity: str) -> Holdings:
    """The vault as one caller knows it: others' private memories are not counted."""
    return Holdings(_shared(tx) + _private(tx, "stored_by = :who", identity), tx.size())


def of_caller(tx: Reader, identity: str) -> Holdings:
    """What one caller stored; ``size`` is the length of its texts, archived ones included, in characters."""
    row = tx.one(
        f"SELECT SUM(CASE WHEN {_LIVING} THEN 1 ELSE 0 END), SUM(LENGTH(content)) FROM memories WHERE stored_by = :who",
        {"who": identity},
    )
    living, size = row or (0, 0)
    return Holdings(int(living or 0), int(size or 0))


def _shared(tx: Reader) -> int:
    return int(tx.value(f"SELECT COUNT(*) FROM memories WHERE visibility = 'shared' AND {_LIVING}"))


def _private(tx: Reader, whose: str, identity: str) -> int:
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM memories WHERE visibility = 'private' AND {whose} AND {_LIVING}", {"who": identity}
        )
    )
