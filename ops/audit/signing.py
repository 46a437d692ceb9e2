"""Signing chains, each of them telling of another, so that no end of one can be cut off unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from auth.keys import KeyRing
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
    vaults = [chain for chain in grown if chain is not installation]
    stood = await installation.head() if vaults else None
    heads = {chain.chain: await _sign_one(chain, keys, (), stood) for chain in vaults}
    await _sign_one(installation, keys, [_to_entry(some) for some in _batches(heads)], None)


def _batches(heads: Mapping[str, ChainHead]) -> Iterator[Sequence[tuple[str, ChainHead]]]:
    items = list(heads.items())
    for first in range(0, len(items), MAX_HEADS):
        yield items[first : first + MAX_HEADS]


def _to_entry(heads: Iterable[tuple[str, ChainHead]]) -> AuditEntry:
    told = {name: [head.seq, head.hash.hex()] for name, head in heads}
    return AuditEntry("heads", "audit", "ok", action="sign", details={"heads": told})


async def _sign_one(
    chain: AuditChain, keys: KeyRing, told: Sequence[AuditEntry], installation: ChainHead | None
) -> ChainHead:
    """Sign a chain, after adding what it tells of others: in one transaction."""
    waiting, key = chain.unsigned, keys.newest

    def write(tx: Writer) -> ChainHead:
        head = chain_rows.append(tx, chain.chain, told) if told else chain_rows.read_head(tx, chain.chain)
        if head.seq:
            said = head_statement(chain.chain, head, clock.now(), installation)
            chain_rows.store_statement(tx, "checkpoints", sign(key, "checkpoint", head.seq, said))
        if installation is None:
            _vouch(tx, keys)
        return head

    head = await chain.write(write)
    chain.unsigned -= waiting
    return head


def _vouch(tx: Writer, keys: KeyRing) -> None:
    """Have the newest key vouch for those before it: what they signed still counts when they are gone."""
    older = [key for key in keys.all if key.kid != keys.newest.kid]
    if not older:
        return
    known = {(each.kid, each.fields().get("kid")) for each in chain_rows.list_statements(tx, "vouchers")}
    for key in older:
        if (keys.newest.kid, key.kid) not in known:
            chain_rows.store_voucher(tx, sign(keys.newest, "voucher", 0, key_statement(key)))
