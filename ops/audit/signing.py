"""Signing chains, each of them telling of another, so that no end of one can be cut off unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from auth.keys import KeyRing, SigningKey
from ops.audit import chain_rows
from ops.audit.chain import AuditChain
from ops.audit.entries import AuditEntry
from ops.audit.statements import ChainHead, head_statement, key_statement, sign
from vaults import clock
from vaults.db.sql import Writer

MAX_HEADS = 200
"""Heads in one entry at most."""


async def sign_vault(keys: KeyRing, chain: AuditChain, installation: ChainHead | None) -> ChainHead:
    """Sign the chain of a vault, and say where that of the installation stood; returns where this one stands."""
    waiting, key = chain.unsigned, keys.newest

    def write(tx: Writer) -> ChainHead:
        head = chain_rows.read_head(tx, chain.chain)
        _store_checkpoint(tx, key, chain.chain, head, installation)
        return head

    head = await chain.write(write)
    chain.unsigned -= waiting
    return head


async def sign_installation(keys: KeyRing, chain: AuditChain, heads: Mapping[str, ChainHead]) -> None:
    """Sign the chain of the installation, after it has told where those of vaults stand: in one transaction."""
    waiting, key = chain.unsigned, keys.newest
    told = await chain.to_texts([_to_entry(some) for some in _batches(heads)])

    def write(tx: Writer) -> None:
        head = chain_rows.append(tx, chain.chain, told)
        _store_checkpoint(tx, key, chain.chain, head, None)
        _vouch(tx, keys)

    await chain.write(write)
    chain.unsigned -= waiting


def _store_checkpoint(tx: Writer, key: SigningKey, chain: str, head: ChainHead, installation: ChainHead | None) -> None:
    if head.seq:
        said = head_statement(chain, head, clock.now(), installation)
        chain_rows.store_statement(tx, "checkpoints", sign(key, "checkpoint", head.seq, said))


def _batches(heads: Mapping[str, ChainHead]) -> Iterator[Sequence[tuple[str, ChainHead]]]:
    items = list(heads.items())
    for first in range(0, len(items), MAX_HEADS):
        yield items[first : first + MAX_HEADS]


def _to_entry(heads: Iterable[tuple[str, ChainHead]]) -> AuditEntry:
    told = {name: [head.seq, head.hash.hex()] for name, head in heads}
    return AuditEntry("heads", "audit", "ok", action="sign", details={"heads": told})


def _vouch(tx: Writer, keys: KeyRing) -> None:
    """Have the newest key vouch for those before it: what they signed still counts when they are gone."""
    older = [key for key in keys.keys if key.kid != keys.newest.kid]
    if not older:
        return
    known = {(each.kid, each.fields().get("kid")) for each in chain_rows.list_statements(tx, "vouchers")}
    for key in older:
        if (keys.newest.kid, key.kid) not in known:
            chain_rows.store_voucher(tx, sign(keys.newest, "voucher", 0, key_statement(key)))
