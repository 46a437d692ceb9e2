"""Installations to measure: one server by itself, and several over one PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import wire
from bench.wire import LoadResult, RequestLoad, VaultEndpoint
from tests.cluster.installation import Installation, ServerProcess, installed
from tests.cluster.postgres_server import PostgresServer, durable_postgres

MODEL: Mapping[str, Any] = {"embedding__engine": "auto"}
"""The bundled model, as servers have it."""


@contextmanager
def postgres(folder: Path) -> Iterator[PostgresServer]:
    """One that waits for its disk."""
    place = folder / "postgres"
    place.mkdir()
    with durable_postgres(place) as server:
        yield server


@asynccontextmanager
async def several(
    folder: Path, postgres: PostgresServer, servers: int, vaults: Sequence[str], **settings: Any
) -> AsyncIterator[Installation]:
    """With ``vaults`` moved in."""
    database = postgres.create_database()
    async with installed(folder, list(vaults), servers=servers, database=database, **MODEL, **settings) as made:
        yield made


@asynccontextmanager
async def alone(folder: Path, vaults: Sequence[str]) -> AsyncIterator[Installation]:
    """One server without a cluster."""
    async with installed(folder, list(vaults), **MODEL) as made:
        yield made


def endpoint(installation: Installation, server: ServerProcess, vault: str) -> VaultEndpoint:
    """A vault through one of the servers, whoever has it."""
    return VaultEndpoint(server.port, vault, installation.token)


def holder_of(installation: Installation, vault: str) -> ServerProcess:
    """The server that has a vault, which somebody called before."""
    name = installation.holders()[vault]
    return next(each for each in installation.servers if each.name == name)


async def drive(loads: Sequence[RequestLoad]) -> list[LoadResult]:
    """Put all loads on their servers at once, each from a process of its own."""
    with ProcessPoolExecutor(len(loads), mp_context=get_context("spawn")) as pool:
        driven = list(await asyncio.gather(*(asyncio.wrap_future(pool.submit(wire.drive, load)) for load in loads)))
    for each in driven:
        if each.failures:
            raise RuntimeError(f"{each.failures} calls failed: {next(body for body in each.bodies if body)[:300]!r}")
    return driven
