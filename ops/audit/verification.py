"""Whether a chain is what was written: nothing removed, changed, added, moved or cut off.

An entry that was changed breaks its own hash, one that was removed or moved breaks the numbers. Who writes the rest
of the chain anew, hashes and all, cannot sign it: then the next checkpoint tells. Who cuts off its end with the
checkpoints on it is told of by another chain, which says where this one stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.chain import AuditChain, list_chains
from ops.audit.entries import StoredEntry, body_start, to_milliseconds
from ops.audit.links import INSTALLATION, genesis, link
from ops.audit.statements import ChainHead, FindKey, SignedStatement, StatementKind, holds, trust
from vaults.db.sql import Reader
from vaults.errors import VaultQuarantined

FaultKind = Literal[
    "removed", "changed", "moved", "truncated", "rewritten", "forged_signature", "foreign_key", "missing", "unreadable"
]
"""``removed``: entries before this one are gone. ``changed``: it is not what was hashed. ``moved``: it is another
entry's. ``truncated``: the chain went on after its last entry. ``rewritten``: a signed entry is another one now.
``forged_signature``: nobody signed that. ``foreign_key``: a key signed it that is none of this installation.
``missing``: there is no such chain, and there was. ``unreadable``: its file is damaged."""

PAGE = 5000
MAX_FAULTS = 100


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
    expected: dict[int, set[bytes]]  # by number, the hashes that were signed or told of elsewhere
    faults: list[ChainFault] = field(default_factory=list)
    entries: int = 0
    first: int = 0
    last: ChainHead = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.start

    def take(self, page: Sequence[StoredEntry]) -> None:
        """Check the next entries."""
        for each in page:
            self._take_one(each)

    def _take_one(self, entry: StoredEntry) -> None:
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

    def end(self) -> None:
        """What was vouched for and is not there."""
        if any(seq > self.last.seq for seq in self.expected):
            self.add(self.last.seq + 1, "truncated")

    def add(self, seq: int, kind: FaultKind) -> None:
        """Record what is wrong."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(ChainFault(seq, kind))


def _agrees_with_time(entry: StoredEntry) -> bool:
    start = len(body_start(entry.seq))
    try:
        return to_milliseconds(entry.body[start : entry.body.index('"', start)]) == entry.at
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class KnownHeads:
    """Where chains stood, as other chains tell."""

    heads: Mapping[str, Sequence[ChainHead]]

    def of(self, chain: str) -> Sequence[ChainHead]:
        """Where a chain stood."""
        return self.heads.get(chain, ())


async def verify(log: AuditLog, names: Iterable[str] | None = None) -> list[ChainReport]:
    """Check chains, by default every one there is or was, each against what the others tell of it."""
    found = list_chains(log.data)
    present = [name for name in found if await _can_read(log.chain(name))]
    find_key = await _trusted_keys(log, present)
    known = await _known_heads(log, present, find_key)
    wanted = sorted({*found, *known.heads}) if names is None else list(names)
    reports = []
    for name in wanted:
        if name in present:
            reports.append(await _verify_one(log.chain(name), known.of(name), find_key))
        elif name in found:
            reports.append(ChainReport(name, 0, 0, 0, 0, [ChainFault(1, "unreadable")]))
        else:
            faults = [ChainFault(1, "missing")] if known.of(name) else []
            reports.append(ChainReport(name, 0, 0, 0, 0, faults))
    return reports


async def _can_read(chain: AuditChain) -> bool:
    """Whether its file is a chain."""
    try:
        await chain.read(lambda tx: chain_rows.read_head(tx, chain.chain))
    except VaultQuarantined:
        return False
    return True


async def _trusted_keys(log: AuditLog, present: Sequence[str]) -> FindKey:
    vouchers: list[SignedStatement] = []
    if INSTALLATION in present:
        vouchers = await log.chain(INSTALLATION).read(lambda tx: chain_rows.list_statements(tx, "vouchers"))
    return trust((await log.keys()).find, vouchers)


async def _known_heads(log: AuditLog, present: Sequence[str], find_key: FindKey) -> KnownHeads:
    """Where every chain stood, as the installation's tells of vaults, and the vaults' checkpoints of it."""
    heads: dict[str, list[ChainHead]] = {}
    if INSTALLATION in present:
        for told in await log.chain(INSTALLATION).read(chain_rows.list_heads):
            for name, (seq, digest) in told.items():
                heads.setdefault(name, []).append(ChainHead(seq, _from_hex(digest)))
    for name in present:
        if name != INSTALLATION:
            found = await log.chain(name).read(lambda tx: chain_rows.list_statements(tx, "checkpoints"))
            heads.setdefault(INSTALLATION, []).extend(_told_of_installation(found, find_key))
    return KnownHeads({name: each for name, each in heads.items() if each})


def _told_of_installation(checkpoints: Iterable[SignedStatement], find_key: FindKey) -> list[ChainHead]:
    told = []
    for each in checkpoints:
        stood, key = each.fields().get("installation"), find_key(each.kid)
        if stood and key is not None and holds("checkpoint", each, key):
            told.append(ChainHead(int(stood[0]), _from_hex(stood[1])))
    return [each for each in told if each.seq]


def _from_hex(digest: str) -> bytes:
    """A hash as it is told of; no hash at all for one that is none."""
    try:
        return bytes.fromhex(digest)
    except ValueError:
        return b""


async def _verify_one(chain: AuditChain, told: Sequence[ChainHead], find_key: FindKey) -> ChainReport:
    checkpoints = await chain.read(lambda tx: chain_rows.list_statements(tx, "checkpoints"))
    anchor = await chain.read(lambda tx: chain_rows.last_statement(tx, "anchors"))
    check = _Check(chain.chain, ChainHead(0, genesis(chain.chain)), {})
    if anchor is not None:
        kind = _judge("anchor", anchor, chain.chain, find_key)
        if kind is not None:
            check.add(anchor.seq, kind)
        else:
            check.last = check.start = ChainHead(anchor.seq, bytes.fromhex(anchor.fields()["hash"]))
    signed = _expect(check, checkpoints, told, find_key)
    following = check.start.seq + 1
    try:
        while page := await chain.read(partial(_check_page, check=check, following=following)):
            following = page
        check.end()
    except VaultQuarantined:  # a page in the middle of it
        check.add(check.last.seq + 1, "unreadable")
    return ChainReport(
        chain=chain.chain,
        entries=check.entries,
        first=check.first,
        last=check.last.seq,
        signed=signed,
        faults=sorted(check.faults, key=lambda fault: fault.seq),
    )


def _check_page(tx: Reader, check: _Check, following: int) -> int:
    """Check a page of entries, on the database's thread; returns where the next begins, or 0 after the last."""
    page = chain_rows.read_from(tx, following, PAGE)
    check.take(page)
    return page[-1].seq + 1 if page else 0


def _expect(check: _Check, checkpoints: Sequence[SignedStatement], told: Sequence[ChainHead], find_key: FindKey) -> int:
    """Set what the check is to find; returns up to which entry the chain is vouched for."""
    signed = check.start.seq
    for each in checkpoints:
        kind = _judge("checkpoint", each, check.chain, find_key)
        if kind is not None:
            check.add(each.seq, kind)
            continue
        check.expected.setdefault(each.seq, set()).add(bytes.fromhex(each.fields()["hash"]))
        signed = max(signed, each.seq)
    for head in told:
        if head.seq > check.start.seq:
            check.expected.setdefault(head.seq, set()).add(head.hash)
    return signed


def _judge(kind: StatementKind, signed: SignedStatement, chain: str, find_key: FindKey) -> FaultKind | None:
    key = find_key(signed.kid)
    if key is None:
        return "foreign_key"
    said = signed.fields()
    if not holds(kind, signed, key) or said.get("chain") != chain or said.get("seq") != signed.seq:
        return "forged_signature"
    return None
