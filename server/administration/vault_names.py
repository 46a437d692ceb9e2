"""Whether the vaults an administrator names are there."""

from __future__ import annotations

from collections.abc import Iterable

from auth.access import EVERY_VAULT
from vaults import registry
from vaults.db.sql import Reader
from vaults.errors import InvalidArgument, NotFound


def require_vaults(reader: Reader, names: Iterable[str]) -> None:
    """Raise ``NotFound`` for a vault that does not exist: a mistyped name would make a useless grant."""
    known = {entry.name for entry in registry.list_vaults(reader) if entry.state == "active"}
    for name in names:
        if not name:
            raise InvalidArgument("vault", "may not be empty")
        if name != EVERY_VAULT and name not in known:
            raise NotFound(f"no vault {name}", hint="vault list shows what there is")
