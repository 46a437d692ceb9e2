"""Whether a vault keeps what its calls asked for: as its operator said for the vault, else as the server is set."""

from __future__ import annotations

from vaults.db.sql import Reader, Writer

_KEY = "query_context"
_KEPT = "on"


def is_kept(tx: Reader, *, usual: bool) -> bool:
    """Whether what was asked for is kept. ``usual``: the setting ``telemetry.query_context``."""
    said = tx.value("SELECT value FROM vault_info WHERE key = :key", {"key": _KEY})
    return usual if said is None else said == _KEPT


def set_kept(tx: Writer, *, kept: bool | None) -> None:
    """Have a vault keep it or not, whatever the server is set to; None: as the server is set."""
    tx.run("DELETE FROM vault_info WHERE key = :key", {"key": _KEY})
    if kept is not None:
        value = _KEPT if kept else "off"
        tx.run("INSERT INTO vault_info (key, value) VALUES (:key, :value)", {"key": _KEY, "value": value})
