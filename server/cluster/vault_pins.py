"""Having a vault belong to one server by name, and to whichever its hash says again."""

from __future__ import annotations

import re

from server.cluster_settings import SERVER_NAME
from vaults import registry
from vaults.cluster.postgres import placements
from vaults.cluster.postgres.servers import serves_in
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import InvalidArgument


async def pin(control: Transactions, vault: str, server: str) -> bool:
    """Have the vault belong to the server of this name, whenever one serves; whether one does now. The servers find it
    with their next beat. Raises ``InvalidArgument``, ``NotFound``."""
    if not re.match(SERVER_NAME, server):
        raise InvalidArgument("--to", "must be the name of a server", hint="cluster status lists them")

    def write(tx: Writer) -> bool:
        placements.pin_in(tx, registry.get(tx, vault).vault_id, server)
        return serves_in(tx, server)

    return await control.write(write)


async def unpin(control: Transactions, vault: str) -> None:
    """Have the hash say again which server the vault belongs to; again for nothing. Raises ``NotFound``."""
    await control.write(lambda tx: placements.pin_in(tx, registry.get(tx, vault).vault_id, None))
