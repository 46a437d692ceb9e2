"""Chains of the audit, carried from one place to another entry by entry: they chain and verify there as before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ops.audit.chain_store import ChainStore, ChainStores
from server.cluster.table_rows import MovedTable, RowDigest, describe_tables, digest_rows, empty, insert, read_after
from vaults.db.sql import Reader, Row, Writer
from vaults.errors import VaultUnavailable

_INDEXED = "indexed"
"""One row, which is there from the start, and says how far the entries were indexed for searches."""


async def move_chains(source: ChainStores, target: ChainStores) -> int:
    """Have ``target`` hold every chain of ``source``, which nobody adds to, and nothing else in these; returns how many
    entries they have. One of both keeps them in files. Raises ``VaultUnavailable`` where one is not the same then."""
    entries = 0
    for name in source.names():
        here, there = source.store(name), target.store(name)
        try:
            entries += await _move_chain(
                name, here, there, await (there if source.are_shared else here).read(_describe)
            )
        finally:
            await here.close()
            await there.close()
    return entries


async def _move_chain(name: str, here: ChainStore, there: ChainStore, tables: Sequence[MovedTable]) -> int:
    wanted = await here.read(partial(_digest, tables=tables))
    if await there.read(partial(_digest, tables=tables)) != wanted:
        await _copy(here, there, tables)
        if await there.read(partial(_digest, tables=tables)) != wanted:
            raise VaultUnavailable(f"the chain {name} of the audit did not arrive as it is", hint="call again")
    return wanted["entries"].rows


def _describe(tx: Reader) -> list[MovedTable]:
    """The tables of a chain that is a file."""
    return describe_tables(tx, (_INDEXED,))


async def _copy(here: ChainStore, there: ChainStore, tables: Sequence[MovedTable]) -> None:
    await there.write(partial(empty, tables=tables))
    for table in tables:
        last: Row | None = None
        while rows := await here.read(partial(read_after, table=table, last=last)):
            await there.write(partial(insert, table=table, rows=rows))
            last = rows[-1]
    await there.write(partial(_set_indexed, seq=await here.read(_read_indexed)))


def _digest(tx: Reader, tables: Sequence[MovedTable]) -> dict[str, RowDigest]:
    return {**digest_rows(tx, tables), _INDEXED: RowDigest(_read_indexed(tx), "")}


def _read_indexed(tx: Reader) -> int:
    return int(tx.value("SELECT seq FROM indexed") or 0)


def _set_indexed(tx: Writer, seq: int) -> None:
    tx.run("UPDATE indexed SET seq = :seq", {"seq": seq})
