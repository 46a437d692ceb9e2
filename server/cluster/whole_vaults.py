"""A vault's database, whole in a file, made what the cluster has: as a new vault, or in the place of one.

All of it is stored before anybody sees it, and one transaction shows it, together with what else is said of the vault
then. Killed at any point, there is the whole vault or what was there before, and it may be done again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from server.cluster.cluster_seat import ClusterSeat
from vaults.cluster.base_images import encode_base
from vaults.cluster.control import arriving_vaults
from vaults.cluster.file_bases import base_of_file
from vaults.cluster.postgres import bases
from vaults.cluster.postgres.bases import UploadedBase
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.vault_log import Placement
from vaults.cluster.vault_requests import wait_for_hand_over
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import StrongroomError, VaultUnavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RestingDatabase:
    """A vault's database that is open nowhere, with no log beside it and its notes as rows."""

    file: Path
    page_size: int


@dataclass(frozen=True, slots=True)
class ReplacedVault(Generic[T]):
    """``said``: what the transaction returned. ``away_s``: seconds in which no server had the vault."""

    said: T
    away_s: float


async def add(
    control: Transactions, seat: ClusterSeat, vault_id: str, database: RestingDatabase, register: Callable[[Writer], T]
) -> T:
    """Have the cluster store a vault it does not have; ``register`` makes its entry, in the transaction that shows it.
    Returns what that returns. Raises ``Conflict``, ``Fenced``, ``LogUnavailable``, ``StorageFull``, and what
    ``register`` raises: then nothing is left."""
    await arriving_vaults.sweep(control)
    placement = await control.write(lambda tx: arriving_vaults.begin(tx, vault_id, seat.server))
    try:
        base = await asyncio.to_thread(_upload, seat, placement, 0, database)

        def show(tx: Writer) -> T:
            bases.show_in(tx, base)
            arriving_vaults.end(tx, vault_id)
            return register(tx)

        return await control.write(show)
    except BaseException:
        with suppress(StrongroomError):  # where that fails, the next look does it
            await control.write(lambda tx: arriving_vaults.discard(tx, vault_id))
        raise


async def replace(
    control: Transactions, seat: ClusterSeat, vault_id: str, database: RestingDatabase, also: Callable[[Writer], T]
) -> ReplacedVault[T]:
    """Have a vault be this database from now on, and whoever holds it drop its copy; ``also`` is done in the same
    transaction. For a process that serves no calls: one that took the vault meanwhile would go on with its own copy.
    Raises ``VaultUnavailable`` where others do not hand it over, ``Fenced``, ``LogUnavailable``, ``StorageFull``, and
    what ``also`` raises: it is as it was then."""
    held = Placements(seat.connections)
    placement = await _take(held, vault_id, seat.server)
    began = time.monotonic()
    try:
        base = await asyncio.to_thread(_upload, seat, placement, placement.head + 1, database)

        def show(tx: Writer) -> T:
            bases.show_in(tx, base)
            return also(tx)

        said = await control.write(show)
    except BaseException:
        with suppress(StrongroomError):  # it is this server's until then, and goes with it
            await asyncio.to_thread(held.release, placement)
        raise
    away_s = time.monotonic() - began
    with suppress(StrongroomError):  # the next base does it
        await asyncio.to_thread(bases.drop_older, seat.connections, base)
    return ReplacedVault(said, away_s)


def _upload(seat: ClusterSeat, placement: Placement, seq: int, database: RestingDatabase) -> UploadedBase:
    source = base_of_file(placement, seq, database.file, database.page_size)
    return bases.upload(seat.connections, placement, seq, encode_base(source))


async def _take(held: Placements, vault_id: str, server: str) -> Placement:
    await asyncio.to_thread(held.register, vault_id)  # also one whose files are missing
    await wait_for_hand_over(held, vault_id, server)
    placement = await asyncio.to_thread(held.take, vault_id, server)
    if placement is None:
        raise VaultUnavailable("another server was quicker to take the vault", hint="call again")
    return placement
