"""Data folders for servers to run on: vaults, grants, tokens and memories, made in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from auth.keys import KEYS_FOLDER, KeyRing, open_key_ring
from auth.roles import Role
from auth.tokens import IssuedToken, TokenRequest, create_token
from server import vault_admin
from server.control_database import CONTROL_DB
from server.services import Services, open_services
from server.settings import LoadedSettings, load
from server.tools import discover
from vaults import registry
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import MemoryFields
from vaults.index import embeddings
from vaults.settings import HygieneSettings, IndexSettings
from vaults.vault import Vault

if TYPE_CHECKING:
    import numpy as np

BATCH = 2_000
"""Memories per transaction while a vault is filled."""

UNLIMITED = {"limits.calls_per_minute": 10**9, "limits.vault_calls_per_minute": 10**9}
"""The limits are counted for every call as always; only their height lets a load test through."""

ACTOR = Actor(identity="local|bench", name="bench", workspace=None)


CLOSED_VAULT = cast("Vault", SimpleNamespace(shared=SimpleNamespace(index=IndexSettings(), hygiene=HygieneSettings())))
"""What ``storage.prepare`` asks of a vault, for rows written where none is open."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A data folder, and the tokens of those who may enter, by subject."""

    data: Path
    tokens: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SeedMemory:
    """A memory to fill a vault with; ``vector`` is float32 in bytes."""

    fields: MemoryFields
    vector: bytes


def default_settings(data: Path, **flags: Any) -> LoadedSettings:
    """The defaults, whatever the environment says."""
    return load(data, flags={**UNLIMITED, **flags}, environment={})


def prepare_folder(data: Path, subjects: Mapping[str, Sequence[str]], role: Role = Role.WRITER) -> DataFolder:
    """A folder with the vaults the subjects have grants for, and a token for each subject."""
    return asyncio.run(_prepare_folder(data, subjects, role))


async def _prepare_folder(data: Path, subjects: Mapping[str, Sequence[str]], role: Role) -> DataFolder:
    loaded = default_settings(data)
    data.mkdir(parents=True, exist_ok=True)
    control = Database(data / CONTROL_DB, loaded.settings.storage)
    try:
        await migrate(control, "control")
        for name in dict.fromkeys(name for names in subjects.values() for name in names if name != "*"):
            await vault_admin.register(control, data, loaded.settings.storage, name)
        ring, instance = open_key_ring(data / KEYS_FOLDER), await registry.instance_id(control)
        tokens = {}
        for subject, names in subjects.items():
            request = TokenRequest(subject, tuple(names), role, 86_400)
            tokens[subject] = (await control.write(partial(_issue_token, ring, instance, request))).token
    finally:
        await control.close()
    return DataFolder(data, tokens)


def _issue_token(ring: KeyRing, instance: str, request: TokenRequest, tx: Writer) -> IssuedToken:
    return create_token(tx, ring, instance, request)


def fill(data: Path, vault: str, items: Iterable[SeedMemory]) -> None:
    """Store ``items`` as the server would, but in big transactions, and leave a snapshot of the vectors."""
    asyncio.run(_fill(data, vault, items))


async def _fill(data: Path, vault: str, items: Iterable[SeedMemory]) -> None:
    loaded = default_settings(data)
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.registry_cache.entry(vault)) as opened,
    ):
        await fill_open(services, opened, items)


async def fill_open(services: Services, vault: Vault, items: Iterable[SeedMemory]) -> None:
    """``fill`` for an open vault."""
    model = await services.embedder.warm()
    await vault.adopt_model()
    batch: list[SeedMemory] = []

    def write(tx: Writer) -> None:
        for item in batch:
            storage.insert(tx, ACTOR, storage.prepare(vault, ACTOR, item.fields), [item.vector], model.key)

    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            await vault.db.write(write)
            batch.clear()
    await vault.db.write(write)
    last = await vault.db.read(embeddings.last_change)
    index = await vault.projection.current(model, last)
    await asyncio.to_thread(index.rebuild)  # does nothing where none is due; waits for one that is under way
    await vault.settle()
    await vault.db.checkpoint()


def mixtures(real: np.ndarray, count: int, seed: int = 7) -> Iterable[bytes]:
    """``count`` vectors that cluster as real ones do: two real ones mixed, with noise, at unit length."""
    import numpy as np

    chance = np.random.default_rng(seed)
    width = real.shape[1]
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        first, second = chance.integers(0, len(real), (2, size))
        noise = chance.standard_normal((size, width), dtype=np.float32) * (0.6 / width**0.5)
        mixed = real[first] + 0.35 * real[second] + noise
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        yield from (row.tobytes() for row in mixed.astype(np.float32))
