"""Whether a chain is what was written: nothing removed, changed, added, moved or cut off.

An entry that was changed breaks its own hash, one that was removed or moved breaks the numbers. Who writes the rest
of the chain anew, hashes and all, cannot sign it: then the next checkpoint tells. Who cuts off its end with the
checkpoints on it is told of by another chain, which says where this one stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.entries import StoredEntry, body_start, to_milliseconds
from ops.audit.links import INSTALLATION, genesis, link
from ops.audit.statements import ChainHead, FindKey, SignedStatement, StatementKind, holds, trust
from ops.audit.told_heads import ToldHeads, read_told
from vaults import clock
from vaults.db.sql import Reader
from vaults.errors import VaultQuarantined

FaultKind = Literal[
    "removed",
    "changed",
    "moved",
    "truncated",
    "rewritten",
    "forged_signature",
    "foreign_key",
    "unsigned",
    "missing",
    "unreadable",
]
"""``removed``: entries before this one are gone. ``changed``: it is not what was hashed. ``moved``: it is another
entry's. ``truncated``: the chain went on after its last entry. ``rewritten``: a signed entry is another one now.
``forged_signature``: nobody signed that. ``foreign_key``: a key signed it that is none of this installation.
``unsigned``: nobody signed entries of long ago. ``missing``: there is no such chain, and there was. ``unreadable``: its
file is damaged."""

PAGE = 5000
MAX_FAULTS = 100

UNSIGNED_AFTER_S = 86_400.0
"""Seconds after which an entry is signed, if any server ran since: one that starts signs what was left."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """What is wrong, and with which entry."""

    seq: int
    kind: FaultKind


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What a check of one chain found. ``first``: the number of its first entry; ``signed``: up to which entry it is
    vouched for; those after it are chained and not signed yet."""

    chain: str
    entries: int
    first: int
    last: int
    signed: int
    faults: list[ChainFault] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults


@dataclass(slots=True)
class _Check:
    """The check of one chain while it runs."""

    chain: str
    start: ChainHead
    find_key: FindKey
    expected: dict[int, set[bytes]] = field(default_factory=dict)
    """By number, the hashes that were signed or told of elsewhere."""
    faults: list[ChainFault] = field(default_factory=list)
    entries: int = 0
    first: int = 0
    last: ChainHead = field(init=False)
    signed: int = field(init=False)

    def __post_init__(self) -> None:
        self.last, self.signed = self.start, self.start.seq

    def begin_after(self, anchor: SignedStatement) -> None:
        """Begin with the entry after an anchor: those before it are no longer kept."""
        kind = _judge("anchor", anchor, self.chain, self.find_key)
        if kind is not None:
            self.add(anchor.seq, kind)
            return
        self.start = self.last = ChainHead(anchor.seq, bytes.fromhex(anchor.fields()["hash"]))
        self.signed = anchor.seq

    def expect(self, told: Iterable[ChainHead]) -> None:
        """Look for what other chains tell of this one."""
        for head in told:
            if head.seq > self.start.seq:
                self.expected.setdefault(head.seq, set()).add(head.hash)

    def take_page(self, tx: Reader) -> bool:
        """Check the next entries with what was signed of them; returns whether there were any."""
        page = chain_rows.read_from(tx, self.last.seq + 1, PAGE)
        if (not page or page[0].seq > self.last.seq + 1) and self._skip_to_anchor(tx):
            page = chain_rows.read_from(tx, self.last.seq + 1, PAGE)
        for signed in chain_rows.list_checkpoints(tx, self.last.seq, page[-1].seq if page else None):
            self._take_checkpoint(signed)
        for entry in page:
            self._take_entry(entry)
        return bool(page)

    def _skip_to_anchor(self, tx: Reader) -> bool:
        """Go on after entries that were deleted for their age since the check began; whether there were any."""
        anchor = chain_rows.last_statement(tx, "anchors")
        if anchor is None or anchor.seq <= self.last.seq:
            return False
        self.begin_after(anchor)
        return True

    def _take_checkpoint(self, signed: SignedStatement) -> None:
        kind = _judge("checkpoint", signed, self.chain, self.find_key)
        if kind is not None:
            self.add(signed.seq, kind)
            return
        self.expect([ChainHead(signed.seq, bytes.fromhex(signed.fields()["hash"]))])
        self.signed = max(self.signed, signed.seq)

    def _take_entry(self, entry: StoredEntry) -> None:
        if not self.entries:
            self.first = entry.seq
        self.entries += 1
        is_next = entry.seq == self.last.seq + 1
        if not is_next:
            self.add(self.last.seq + 1, "removed")
        if not entry.body.startswith(body_start(entry.seq)):
            self.add(entry.seq, "moved")
        elif (is_next and link(self.last.hash, entry.body) != entry.hash) or not _agrees_with_time(entry):
            self.add(entry.seq, "changed")
        if any(each != entry.hash for each in self.expected.pop(entry.seq, ())):
            self.add(entry.seq, "rewritten")
        self.last = ChainHead(entry.seq, entry.hash)

    def end(self, tx: Reader) -> None:
        """What was vouched for and is not there, and what nobody vouched for."""
        if any(seq > self.last.seq for seq in self.expected):
            self.add(self.last.seq + 1, "truncated")
        at = tx.value("SELECT at FROM entries WHERE seq > :signed ORDER BY seq LIMIT 1", {"signed": self.signed})
        if at is not None and at < to_milliseconds(clock.ago(UNSIGNED_AFTER_S)):
            self.add(self.signed + 1, "unsigned")

    def add(self, seq: int, kind: FaultKind) -> None:
        """Record what is wrong."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(ChainFault(seq, kind))

    def to_report(self) -> ChainReport:
        """What was found so far."""
        faults = sorted(self.faults, key=lambda fault: fault.seq)
        return ChainReport(self.chain, self.entries, self.first, self.last.seq, self.signed, faults)


def _agrees_with_time(entry: StoredEntry) -> bool:
    start = len(body_start(entry.seq))
    try:
        return to_milliseconds(entry.body[start : entry.body.index('"', start)]) == entry.at
    except ValueError:
        return False


async def verify(log: AuditLog, names: Sequence[str] | None = None) -> list[ChainReport]:
    """Check chains, by default every one there is or was, each against what the others tell of it."""
    found = await asyncio.to_thread(log.stores.names)
    find_key = await _trusted_keys(log, found)
    known = await read_told(log, found, names, find_key)
    wanted = sorted({*found, *known}) if names is None else names
    return [await _verify_one(log, name, found, known.get(name, {}), find_key) for name in wanted]


async def _trusted_keys(log: AuditLog, found: Sequence[str]) -> FindKey:
    vouchers: Sequence[SignedStatement] = ()
    if INSTALLATION in found:
        with suppress(VaultQuarantined):  # its own check tells of it
            vouchers = await log.chain(INSTALLATION).read(lambda tx: chain_rows.list_statements(tx, "vouchers"))
    return trust((await log.known_keys()).find, vouchers)


async def _verify_one(
    log: AuditLog, name: str, found: Sequence[str], told: ToldHeads, find_key: FindKey
) -> ChainReport:
    if name not in found:
        return ChainReport(name, 0, 0, 0, 0, [ChainFault(1, "missing")] if told else [])
    chain = log.chain(name)
    check = _Check(name, ChainHead(0, genesis(name)), find_key)
    try:
        anchor = await chain.read(lambda tx: chain_rows.last_statement(tx, "anchors"))
        if anchor is not None:
            check.begin_after(anchor)
        check.expect(head for heads in told.values() for head in heads)
        while await chain.read(check.take_page):  # on the database's thread
            pass
        await chain.read(check.end)
    except VaultQuarantined:  # a page in the middle of it, or no database at all
        check.add(check.last.seq + 1, "unreadable")
    return check.to_report()


def _judge(kind: StatementKind, signed: SignedStatement, chain: str, find_key: FindKey) -> FaultKind | None:
    key = find_key(signed.kid)
    if key is None:
        return "foreign_key"
    said = signed.fields()
    if not holds(kind, signed, key) or said.get("chain") != chain or said.get("seq") != signed.seq:
        return "forged_signature"
    return None
