"""How long entries are kept. What is left begins after an anchor: a signed statement of the last entry that went."""

from __future__ import annotations

from auth.keys import KeyRing
from ops.audit import chain_rows
from ops.audit.chain import AuditChain
from ops.audit.statements import ChainHead, head_statement, sign
from vaults import clock
from vaults.clock import GuardedClock
from vaults.db.sql import Writer
from vaults.durations import parse_duration

STEP = 500
"""Entries deleted in one transaction: calls wait for it."""

_clock = GuardedClock()


def oldest_kept(keep: str) -> int:
    """The moment before which entries go, in milliseconds since 1970."""
    return round(clock.seconds_since_1970(_clock.ago(parse_duration(keep))) * 1000)


async def prune(chain: AuditChain, keys: KeyRing, keep: str) -> int:
    """Delete the entries older than ``keep``, up to the last one among them that was signed; returns how many."""
    oldest = oldest_kept(keep)
    found = await chain.read(lambda tx: chain_rows.find_checkpoint_before(tx, oldest))
    if found is None:
        return 0
    head = ChainHead(*found)
    anchor = sign(keys.newest, "anchor", head.seq, head_statement(chain.chain, head, clock.now()))

    def delete(tx: Writer) -> int:
        chain_rows.store_statement(tx, "anchors", anchor)
        return chain_rows.delete_through(tx, head.seq, STEP)

    gone = 0
    while step := await chain.write(delete):
        gone += step
    return gone
