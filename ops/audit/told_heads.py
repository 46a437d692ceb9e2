"""Where chains stood, as other chains tell: those of vaults stand in the installation's, and where that one stood in
what was signed of vaults."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain as join
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.chain_rows import HEADS_PAGE
from ops.audit.links import INSTALLATION
from ops.audit.statements import ChainHead, FindKey, SignedStatement, holds
from vaults.errors import VaultQuarantined

APART = 1000
"""Of what is told of so many entries of a chain, the first and the last are kept: all that was told each minute for
years is more than it takes. The first: a chain that began anew has a last one that fits."""

ToldHeads = dict[int, list[ChainHead]]
"""What is told of one chain, by the number of those entries."""

T = TypeVar("T")


async def read_told(
    log: AuditLog, found: Sequence[str], names: Collection[str] | None, find_key: FindKey
) -> dict[str, ToldHeads]:
    """What the chains that were found tell of those that are wanted; None: of all."""
    told: dict[str, ToldHeads] = {}
    if INSTALLATION in found and (names is None or set(names) - {INSTALLATION}):
        await _read_of_vaults(log, names, told)
    if names is None or INSTALLATION in names:
        for name in found:
            if name != INSTALLATION:
                await _read_of_installation(log, name, told, find_key)
    return told


async def _read_of_vaults(log: AuditLog, names: Collection[str] | None, told: dict[str, ToldHeads]) -> None:
    chain, after = log.chain(INSTALLATION), 0
    with suppress(VaultQuarantined):  # its own check tells of it
        while True:
            last, heads = await chain.read(partial(chain_rows.list_heads, after=after))
            for name, seq, digest in heads:
                if names is None or name in names:
                    _keep(told.setdefault(name, {}), seq, ChainHead(seq, digest))
            if last is None:
                return
            after = last


async def _read_of_installation(log: AuditLog, name: str, told: dict[str, ToldHeads], find_key: FindKey) -> None:
    chain, after, signed = log.chain(name), 0, dict[int, list[SignedStatement]]()
    with suppress(VaultQuarantined):
        while page := await chain.read(partial(chain_rows.list_checkpoints, after=after, last=None, limit=HEADS_PAGE)):
            for each in page:
                stood = each.fields().get("installation")
                if isinstance(stood, list) and stood and isinstance(stood[0], int) and stood[0]:
                    _keep(signed, stood[0], each)
            after = page[-1].seq
        # On the database's thread: signatures take long.
        for head in await chain.read(lambda _: _trustworthy(join.from_iterable(signed.values()), find_key)):
            _keep(told.setdefault(INSTALLATION, {}), head.seq, head)


def _trustworthy(signed: Iterable[SignedStatement], find_key: FindKey) -> list[ChainHead]:
    """What they say of the installation, where a key of it signed that."""
    found = []
    for each in signed:
        key = find_key(each.kid)
        if key is not None and holds("checkpoint", each, key):
            seq, digest = each.fields()["installation"]
            found.append(ChainHead(seq, bytes.fromhex(digest)))
    return found


def _keep(kept: dict[int, list[T]], seq: int, one: T) -> None:
    kept[seq // APART] = [*kept.get(seq // APART, ())[:1], one]
