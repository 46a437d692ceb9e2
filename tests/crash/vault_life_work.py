"""The process that renames or deletes a vault, or changes the signing key, and is killed."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from auth import key_rotation
from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER, open_key_ring
from auth.passphrase_change import change_passphrase
from auth.roles import Role
from auth.tokens import TokenRequest, create_token
from ops.vault_life import copies, deletion, renames
from ops.vault_life.copies import CopySettings
from tests.crash.notes_work import ask, opened
from tests.crash.traced import be_traced
from vaults.db.connection import Database
from vaults.registry import instance_id
from vaults.settings import NotesSettings, StorageSettings

FLAGS = {"notes.watch": "off", "embedding.engine": "off"}
NOTE, PASSPHRASE, SECRET = "notes/kept.md", "passphrase", "social.key"
NEW_PASSPHRASE = b"of the keys"


SETTINGS = CopySettings("0", StorageSettings(), NotesSettings())


async def fill(data: Path) -> str:
    """A vault with a memory and a note, and a token for it; the token."""
    (data / PASSPHRASE).write_bytes(NEW_PASSPHRASE)
    async with opened(data, FLAGS) as services:
        assert (await ask(services, "remember", content="kept through every kill")).ok
        assert (await ask(services, "note_write", path="kept.md", content="as it was\n")).ok
        await asyncio.to_thread(open_secret, data / KEYS_FOLDER, SECRET, None)
        ring = await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER)
        instance = await instance_id(services.control)
        request = TokenRequest("alice", ("main",), Role.READER, 86_400)
        return (await services.control.write(lambda tx: create_token(tx, ring, instance, request))).token


def work(data: str, kind: str, _flags: dict[str, Any], pipe: Connection) -> None:
    """Do what ``kind`` says once the word comes."""
    be_traced()
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
        elif kind == "passphrase":
            await asyncio.to_thread(change_passphrase, data / KEYS_FOLDER, None, NEW_PASSPHRASE)
        elif kind == "encrypt":
            await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER, str(data / PASSPHRASE))
        else:
            ring = await asyncio.to_thread(open_key_ring, data / KEYS_FOLDER)
            await key_rotation.rotate(control, ring)
    finally:
        await control.close()
