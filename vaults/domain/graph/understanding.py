"""Working out what the links of an earlier build mean, once, in the background."""

from __future__ import annotations

from functools import partial

from vaults.graph import linking
from vaults.vault import Chore, Vault

PAGE = 200
"""Names in one transaction."""


async def understand(vault: Vault) -> None:
    """A chore. One that is interrupted is done again: it changes nothing that is right."""
    keys = await vault.db.read(linking.keys)
    for start in range(0, len(keys), PAGE):
        await vault.db.write(partial(linking.renew, keys=keys[start : start + PAGE]))
    await vault.db.write(linking.paid)


UNDERSTAND = Chore(linking.owed, understand)
