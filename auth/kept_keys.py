"""What lies in the folder of the keys: those that sign or verify tokens, and secrets that sign nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from auth.encrypted_keys import is_encrypted
from auth.kept_secrets import list_secrets
from auth.key_rotation import KeyUse, uses_of
from auth.keys import KeyRing
from vaults.db.transactions import Transactions


@dataclass(frozen=True, slots=True)
class KeptKeys:
    """``encrypted``: the names of files that are."""

    uses: Sequence[KeyUse]
    secrets: Sequence[str]
    encrypted: frozenset[str]


async def read_kept_keys(control: Transactions, ring: KeyRing) -> KeptKeys:
    """Those there are. Nothing is made, and no secret is read."""
    uses = await control.read(lambda tx: uses_of(tx, ring.keys))
    return await asyncio.to_thread(_look_at, ring, uses)


def _look_at(ring: KeyRing, uses: Sequence[KeyUse]) -> KeptKeys:
    secrets = list_secrets(ring.folder)
    names = [*(use.key.name for use in uses), *secrets]
    encrypted = frozenset(name for name in names if is_encrypted((ring.folder / name).read_bytes()))
    return KeptKeys(uses, secrets, encrypted)
