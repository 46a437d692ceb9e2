"""Which model a vault is embedded with: the one its operator named for it, else the server's own.

Both names stand in ``vault_info``, beside the vectors, so that they go where these go: into copies and backups.
"""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader, Writer

_WANTED, _SERVING, _CHANGED = "model_wanted", "model_serving", "model_changed"
_READ = "SELECT value FROM vault_info WHERE key = :key"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Models by name; None is the server's own."""

    serving: str | None
    """The one whose vectors are searched."""
    wanted: str | None
    """The one that is to serve."""

    @property
    def is_settled(self) -> bool:
        """Whether the one that is wanted serves."""
        return self.wanted == self.serving


SERVERS_OWN = ModelChoice(None, None)


def read_choice(tx: Reader) -> ModelChoice:
    """The vault's models."""
    return ModelChoice(read_serving(tx), tx.value(_READ, {"key": _WANTED}))


def read_serving(tx: Reader) -> str | None:
    """The model whose vectors are searched. One look at an index: every search asks."""
    name: str | None = tx.value(_READ, {"key": _SERVING})
    return name


def want(tx: Writer, name: str | None, at: str) -> None:
    """Have a vault change to a model in the background; naming the one that serves undoes a change under way."""
    _set(tx, _WANTED, name)
    _set(tx, _CHANGED, at)


def set_serving(tx: Writer, name: str | None, at: str) -> None:
    """Record that the vectors are of this model from ``at`` on."""
    _set(tx, _SERVING, name)
    _set(tx, _CHANGED, at)


def changed_at(tx: Reader) -> str | None:
    """When a change of the model was last begun or done, while vectors of another model may be kept."""
    at: str | None = tx.value(_READ, {"key": _CHANGED})
    return at


def forget_change(tx: Writer) -> None:
    """Record that no vectors of another model are kept."""
    _set(tx, _CHANGED, None)


def _set(tx: Writer, key: str, value: str | None) -> None:
    tx.run("DELETE FROM vault_info WHERE key = :key", {"key": key})
    if value is not None:
        tx.run("INSERT INTO vault_info (key, value) VALUES (:key, :value)", {"key": key, "value": value})
