"""A stdio server as a script: ``stdio_server.py DATA VAULT [PRESET [WRITE_MODE]]``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from auth.principal import owner
from server import vault_admin
from server.services import open_services
from server.settings import load
from server.stdio import run_stdio
from server.tools import discover_kept


def make_noise() -> None:
    print("another stray print", flush=True)
    os.write(1, b"a stray write\n")


async def main(data: str, vault: str, preset: str = "", write_mode: str = "auto") -> None:
    flags = {"storage.reserve_mb": 0, "embedding.engine": "off"}
    loaded = load(Path(data), flags=flags, environment={})
    loaded.data.mkdir(mode=0o700, parents=True, exist_ok=True)  # as the command does, before it opens the rest
    async with open_services(loaded.settings, loaded.data, discover_kept(loaded.data)) as services:
        if not services.registry_cache.known(vault):
            await vault_admin.create(services, vault)
        print("a stray print")
        asyncio.get_running_loop().call_later(0, make_noise)
        await run_stdio(services, owner("stdio"), vault, preset or None, write_mode)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
