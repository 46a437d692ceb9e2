"""Processes killed while they rename, copy or delete a vault, or change the signing key: either nothing has happened,
or the next start does the rest, and what was to be kept is whole. ``make crash``."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER, open_key_ring
from auth.local_issuer import LocalAuthenticator
from auth.passphrase_change import change_passphrase
from auth.token_claims import peek
from auth.tokens import list_tokens
from ops.vault_life import copies, folder_moves
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.conftest import QUIET
from tests.crash.child import Child, strace
from tests.crash.notes_work import ask, opened
from tests.crash.vault_life_work import FLAGS, NEW_PASSPHRASE, NOTE, PASSPHRASE, SECRET, SETTINGS, fill, work
from vaults.registry import folder_of

POINTS = int(os.environ.get("STRONGROOM_CRASH_POINTS", "6"))


@asynccontextmanager
async def _next_start(data: Path) -> AsyncIterator[Services]:
    """A server's services over what is there: no vault is made."""
    loaded = load(data, flags={**QUIET, **FLAGS}, environment={})
    async with open_services(loaded.settings, data, discover()) as services:
        yield services


async def _check_rename(data: Path, _token: str) -> bool:
    async with _next_start(data) as services:
        (name,) = services.registry_cache.names()
        other = {"main": "new", "new": "main"}[name]
        assert not await services.control.read(folder_moves.list_moves)
        assert [path.name for path in (data / "vaults").iterdir()] == [name]
        assert not folder_of(data, other, None).exists()
        async with services.pool.lease(services.registry_cache.entry(name)) as vault:
            assert await vault.db.read(lambda tx: tx.value("SELECT content FROM memories")) == "kept through every kill"
        assert (folder_of(data, name, None) / NOTE).read_bytes() == b"as it was\n"
        (token,) = await services.control.read(list_tokens)
        assert token.vaults == (name,)
        assert set(services.access_cache.current.grants.get("local", {}).get("alice", ())) == {name}
    return name == "new"


async def _check_delete(data: Path, _token: str) -> bool:
    async with _next_start(data) as services:
        assert not await services.control.read(folder_moves.list_moves)
        left = [path.name for path in (data / "vaults").iterdir()]
        names = list(services.registry_cache.names())
        assert left == names
        (token,) = await services.control.read(list_tokens)
        assert list(token.vaults) == names
        assert set(services.access_cache.current.grants.get("local", {}).get("alice", ())) == set(names)
    if names:
        async with opened(data, FLAGS) as services:
            assert (await ask(services, "recall", query="kill")).content["hits"]
        assert (folder_of(data, "main", None) / NOTE).read_bytes() == b"as it was\n"
    return not names


async def _check_copy(data: Path, _token: str) -> bool:
    async with _next_start(data) as services:
        names = sorted(services.registry_cache.names())
        assert not await services.control.read(folder_moves.list_moves)
        for name in names:
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                memory = await vault.db.read(lambda tx: tx.value("SELECT content FROM memories"))
                assert memory == "kept through every kill"
            assert (folder_of(data, name, None) / NOTE).read_bytes() == b"as it was\n"
        await copies.copy(services.control, data, "main", "third", SETTINGS)
        left = sorted(path.name for path in (data / "vaults").iterdir() if path.name != copies.SCRATCH)
        assert left == sorted([*names, "third"]), "what the killed one had begun is gone"
        assert not [path for path in (data / "vaults" / copies.SCRATCH).iterdir() if path.is_dir()]
    return "second" in names


async def _check_rotate(data: Path, token: str) -> bool:
    ring = open_key_ring(data / KEYS_FOLDER)
    assert {path.suffix for path in (data / KEYS_FOLDER).iterdir() if path.suffix in (".pem", ".pub")} == {".pem"}
    async with _next_start(data) as services:
        door = LocalAuthenticator(ring, services.instance_id, 0)
        assert (await door.authenticate(peek(token))) is not None, "a token signed before verifies"
    return len(ring.keys) == 2


async def _check_encrypt(data: Path, token: str) -> bool:
    lay_encrypted = (data / KEYS_FOLDER / "0001.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED")
    ring = open_key_ring(data / KEYS_FOLDER, str(data / PASSPHRASE))
    assert [key.kid for key in ring.keys] == [peek(token).kid]
    return lay_encrypted


async def _check_passphrase(data: Path, token: str) -> bool:
    folder, file = data / KEYS_FOLDER, str(data / PASSPHRASE)
    left = change_passphrase(folder, None, NEW_PASSPHRASE)  # the call is made again
    assert [key.kid for key in open_key_ring(folder, file).keys] == [peek(token).kid]
    assert len(open_secret(folder, SECRET, file)) == 32
    assert all(path.read_bytes().startswith(b"-----BEGIN ENCRYPTED") for path in folder.glob("[!.]*"))
    return not left


CHECKS = {
    "rename": _check_rename,
    "copy": _check_copy,
    "delete": _check_delete,
    "rotate": _check_rotate,
    "encrypt": _check_encrypt,
    "passphrase": _check_passphrase,
}


@pytest.mark.crash
@strace
@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("rename", "pwrite64"), ("rename", "fsync"), ("rename", "renameat2"), ("rename", "unlinkat"),
        ("delete", "pwrite64"), ("delete", "fsync"), ("delete", "rename"), ("delete", "write"), ("delete", "unlinkat"),
        ("rotate", "pwrite64"), ("rotate", "fsync"), ("rotate", "link"), ("rotate", "unlink"),
        ("copy", "pwrite64"), ("copy", "fsync"), ("copy", "rename"), ("copy", "renameat2"),
        ("encrypt", "write"), ("encrypt", "fsync"), ("encrypt", "rename"),
        ("passphrase", "write"), ("passphrase", "rename"),
    ],
)  # fmt: skip
async def test_a_kill_at_any_call_leaves_the_old_state_or_the_new_one(tmp_path: Path, kind: str, call: str) -> None:
    template = tmp_path / "template"
    template.mkdir()
    token = await fill(template)
    shutil.copytree(template, tmp_path / "count")
    whole = await asyncio.to_thread(Child, work, tmp_path / "count", kind, (call, 0))
    assert not whole.killed
    assert await CHECKS[kind](tmp_path / "count", token)
    killed = 0
    for point in sorted({1 + round(n * (whole.calls - 1) / max(1, POINTS - 1)) for n in range(POINTS)}):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        killed += (await asyncio.to_thread(Child, work, data, kind, (call, point))).killed
        await CHECKS[kind](data, token)
        shutil.rmtree(data)
    assert killed, "the sweep killed nothing: is the call still made?"
