"""Signing chains, each of them telling of another, so that no end of one can be cut off unseen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from auth.keys import KeyRing, SigningKey
from ops.audit import chain_rows
from ops.audit.chain import AuditChain
from ops.audit.entries import AuditEntry
from ops.audit.statements import ChainHead, head_statement, key_statement, sign
from vaults import clock
from vaults.db.sql import Writer

MAX_HEADS = 200
"""Heads in one entry at most."""


async def sign_chains(keys: KeyRing, installation: AuditChain, grown: Sequence[AuditChain]) -> None:
    """Sign the chains that grew. A vault's checkpoint says where the installation's chain stood, and the installation's
    chain says where those of vaults stood."""
    key = keys.newest
    vaults = [chain for chain in grown if chain is not installation]
    stood = await installation.head() if vaults else None
    heads = {}
    for chain in vaults:
        head = await _sign_one(chain, key, stood)
        heads[chain.chain] = [head.seq, head.hash.hex()]
    names = list(heads)
    for first in range(0, len(names), MAX_HEADS):
        told = {name: heads[name] for name in names[first : first + MAX_HEADS]}
        await installation.append(AuditEntry("heads", "audit", "ok", action="sign", details={"heads": told}))
    await _vouch(keys, installation)
    await _sign_one(installation, key, None)


async def _sign_one(chain: AuditChain, key: SigningKey, installation: ChainHead | None) -> ChainHead:
    waiting = chain.unsigned

    def write(tx: Writer) -> ChainHead:
        head = chain_rows.read_head(tx, chain.chain)
        if head.seq:
            said = head_statement(chain.chain, head, clock.now(), installation)
            chain_rows.store_statement(tx, "checkpoints", sign(key, "checkpoint", head.seq, said))
        return head

    head = await chain.write(write)
    chain.unsigned -= waiting
    return head


async def _vouch(keys: KeyRing, installation: AuditChain) -> None:
    """Have the newest key vouch for those before it: what they signed still counts when they are gone."""
    older = [key for key in keys.all if key.kid != keys.newest.kid]
    if older:
        await installation.write(partial(_store_vouchers, newest=keys.newest, older=older))


def _store_vouchers(tx: Writer, newest: SigningKey, older: Sequence[SigningKey]) -> None:
    known = {(each.kid, each.fields().get("kid")) for each in chain_rows.list_statements(tx, "vouchers")}
    for key in older:
        if (newest.kid, key.kid) not in known:
            chain_rows.store_voucher(tx, sign(newest, "voucher", 0, key_statement(key)))
