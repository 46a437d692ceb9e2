"""Vaults that are registered and were never opened: whoever takes one first makes its database.

That a vault is new is said when it is registered, in the same transaction. One that should have a log and has none
is missing, and is never taken for a new one.
"""

from __future__ import annotations

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.registry import NEW


def place(tx: Writer, vault_id: str) -> None:
    """Have the cluster know a vault that is registered by this transaction, and that it is empty."""
    tx.run(
        "INSERT INTO strongroom.placement (vault, server, epoch, head) VALUES (:vault, NULL, 0, 0)", {"vault": vault_id}
    )
    tx.run("INSERT INTO installation (key, value) VALUES (:key, :now)", {"key": NEW + vault_id, "now": clock.now()})


def began_empty(tx: Reader, vault_id: str) -> bool:
    """Whether the vault came from ``place``: without any entry in its log it is new."""
    return tx.one("SELECT 1 FROM installation WHERE key = :key", {"key": NEW + vault_id}) is not None
