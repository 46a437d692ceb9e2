"""Resolving links that an earlier version left unresolved: once, in the background."""

from __future__ import annotations

from functools import partial

from vaults.graph.links import link_index
from vaults.vault import BackgroundJob, Vault

NAMES_PER_WRITE = 200
"""Names resolved in one transaction."""


async def resolve_links(vault: Vault) -> None:
    """A background job. If interrupted, it starts over, which is harmless: correct links stay as they are."""
    keys = await vault.db.read(link_index.read_target_keys)
    for start in range(0, len(keys), NAMES_PER_WRITE):
        await vault.db.write(partial(link_index.resolve_names, keys=keys[start : start + NAMES_PER_WRITE]))
    await vault.db.write(link_index.mark_resolved)


RESOLVE_LINKS = BackgroundJob(link_index.is_due, resolve_links)
