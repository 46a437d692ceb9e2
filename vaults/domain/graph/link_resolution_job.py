"""Working out what the links of an earlier build mean, once, in the background."""

from __future__ import annotations

from functools import partial

from vaults.graph.links import link_index
from vaults.vault import Chore, Vault

PAGE = 200
"""Names in one transaction."""


async def understand(vault: Vault) -> None:
    """A chore. One that is interrupted is done again: it changes nothing that is right."""
    keys = await vault.db.read(link_index.keys)
    for start in range(0, len(keys), PAGE):
        await vault.db.write(partial(link_index.renew, keys=keys[start : start + PAGE]))
    await vault.db.write(link_index.paid)


UNDERSTAND = Chore(link_index.owed, understand)
