"""Data folders with nothing in them, made once per process: to make one takes as long as half a test."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from uuid_utils import uuid7

from auth.roles import Role
from ops.audit.chain_files import file_of
from server import vault_admin
from server.audience import audience_of
from server.services import open_services
from server.settings import load
from server.tools import discover_kept
from tests.tool_list import registry_with
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Writer
from vaults.registry import DATABASE_FILE, folder_of
from vaults.settings import StorageSettings

T = TypeVar("T")

CONTROL = "control.db"


def lay_out(data: Path, vaults: Iterable[str]) -> None:
    """Put them where a server finds them, unless there are some. Opened, they get ids of their own like any new one."""
    _place(data / CONTROL, "control")
    for name in vaults:
        _place(folder_of(data, name, None) / DATABASE_FILE, "vault")


def lay_out_used(data: Path, vaults: tuple[str, ...]) -> None:
    """What a server leaves that made these vaults, opened each and was asked nothing; with ids of its own. Where there
    are databases already, as ``lay_out``."""
    if (data / CONTROL).exists() or any(folder_of(data, name, None).exists() for name in vaults):
        lay_out(data, vaults)
        return
    used = _used(vaults)
    fresh = [str(uuid7()).encode() for _ in used.ids]  # made one after another, as those were: indexes stay in order
    for folder in ("", *used.folders):
        (data / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, content in used.files.items():
        stamped = bytearray(content)
        for number, at in used.places[path]:
            stamped[at : at + ID_BYTES] = fresh[number]
        (data / path).write_bytes(stamped)
        (data / path).chmod(0o600)


ID_BYTES = 36


@dataclass(frozen=True)
class _UsedFolder:
    """``places`` of each file: which of the ids stands where in it."""

    folders: list[str]
    files: dict[str, bytes]
    ids: list[bytes]
    places: dict[str, list[tuple[int, int]]]


@cache
def _used(vaults: tuple[str, ...]) -> _UsedFolder:
    data = Path(tempfile.mkdtemp())
    lay_out(data, vaults)

    async def use() -> list[bytes]:
        loaded = load(data, flags={"storage.reserve_mb": 0, "embedding.engine": "off"}, environment={})
        async with open_services(loaded.settings, data, registry_with()) as services:
            entries = [await vault_admin.create(services, name) for name in vaults]
            for entry in entries:
                async with services.pool.lease(entry) as vault:
                    await vault.notes.wait_for_index(60)
            return [each.encode() for each in (services.instance_id, *(entry.vault_id for entry in entries))]

    try:
        ids = _run_apart(use)
        found = [path for path in sorted(data.rglob("*")) if not path.name.startswith(".")]
        files = {str(path.relative_to(data)): path.read_bytes() for path in found if path.is_file()}
        places = {path: [*_places_in(content, ids)] for path, content in files.items()}
        return _UsedFolder([str(path.relative_to(data)) for path in found if path.is_dir()], files, ids, places)
    finally:
        shutil.rmtree(data)


def _places_in(content: bytes, ids: list[bytes]) -> Iterable[tuple[int, int]]:
    for number, each in enumerate(ids):
        at = content.find(each)
        while at >= 0:
            yield number, at
            at = content.find(each, at + ID_BYTES)


def lay_out_audit(data: Path, chains: Iterable[str]) -> None:
    """The same for chains of the audit."""
    for name in chains:
        _place(file_of(data, name), "audit")


def lay_out_listings(data: Path) -> None:
    """What a server keeps of its tools for the next start. To make it is half of the first start of a process, which
    loads every tool and its models for it."""
    folder = data / "cache" / "listings"
    for each in (data, folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    for name, content in _listings().items():
        if not (folder / name).exists():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)


@cache
def _listings() -> dict[str, bytes]:
    """Of this very code, as the client of an administrator asks for it."""
    from server.http.mcp_route import _declares_header
    from server.mcp_bridge.catalogue import ToolCatalogue

    with tempfile.TemporaryDirectory() as place:
        registry = discover_kept(Path(place))
        registry.kept.get("header arguments", lambda: [each.name for each in registry if _declares_header(each)])
        for preset in ("agent", "full"):
            audience_of(registry, (Role.ADMIN, preset, "auto"))
            ToolCatalogue(registry).page((Role.ADMIN, preset, "auto"), None)
        return {file.name: file.read_bytes() for file in (Path(place) / "cache" / "listings").iterdir()}


def _place(path: Path, kind: str) -> None:
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(blank_database(kind))


@cache
def blank_database(kind: str) -> bytes:
    folder = Path(tempfile.mkdtemp())

    async def make() -> None:
        database = Database(folder / "blank.db", StorageSettings())
        await migrate(database, kind)
        await database.close()

    try:
        _run_apart(make)
        return (folder / "blank.db").read_bytes()
    finally:
        shutil.rmtree(folder)


def _run_apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """In a loop of its own, on a thread of its own: the test's is running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def empty_tables() -> Writer:
    """Every table of a vault, empty, in memory; outside of a transaction."""
    raw = sqlite.connect(":memory:", isolation_level=None)
    _migrated().backup(raw)
    raw.execute("PRAGMA foreign_keys=ON")
    return Writer(raw)


@cache
def _migrated() -> sqlite.Connection:
    raw = sqlite.connect(":memory:", isolation_level=None)
    for step in load_migrations("vault"):
        raw.executescript(step.sql)
    return raw
