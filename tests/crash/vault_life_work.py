"""The process that renames or deletes a vault, or changes the signing key, and is killed."""

from __future__ import annotations

import asyncio
import ctypes
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from auth import key_rotation
from auth.keys import KEYS_FOLDER, open_key_ring
from auth.roles import Role
from auth.tokens import TokenRequest, create_token
from ops.vault_life import copies, deletion, renames
from ops.vault_life.copies import CopySettings
from tests.crash.notes_work import PR_SET_PTRACER, ask, opened
from vaults.db.connection import Database
from vaults.registry import instance_id
from vaults.settings import NotesSettings, StorageSettings

FLAGS = {"notes.watch": "off", "embedding.engine": "off"}
NOTE, PASSPHRASE = "notes/kept.md", "passphrase"


SETTINGS = CopySettings("0", StorageSettings(), NotesSettings())


async def fill(data: Path) -> str:
    """A vault with a memory and a note, and a token for it; the token."""
    (data / PASSPHRASE).write_text("of the keys")
    async with opened(data, FLAGS) as services:
        assert (await ask(services, "remember", content="kept through every kill")).ok
        assert (await ask(services, "note_write", path="kept.md", content="as it was\n")).ok
        ring = await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER)
        instance = await instance_id(services.control)
        request = TokenRequest("alice", ("main",), Role.READER, 86_400)
        return (await services.control.write(lambda tx: create_token(tx, ring, instance, request))).token


def work(data: str, kind: str, _flags: dict[str, Any], pipe: Connection) -> None:
    """Do what ``kind`` says once the word comes."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(_work(Path(data), kind, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, kind: str, pipe: Connection) -> None:
    control = Database(data / "control.db", StorageSettings())
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
    try:
        if kind == "rename":
            await renames.rename(control, data, "main", "new")
        elif kind == "delete":
            await deletion.delete(control, data, "main", confirm="main", last_backup=None)
        elif kind == "copy":
            await copies.copy(control, data, "main", "second", SETTINGS)
        elif kind == "encrypt":
            await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER, str(data / PASSPHRASE))
        else:
            ring = await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER)
            await key_rotation.rotate(control, ring)
    finally:
        await control.close()
