"""A server whose own disk is too small, full or gone: what does not fit is refused by name, and all else goes on.

Of vaults.cluster.local_copies.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cluster.open_servers import OpenServer, OpenServers, open_servers
from vaults.db.sql import Writer

DISK_MB = 12


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "b"
    folder.mkdir(mode=0o700)
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
async def servers(url: str, tmp_path: Path, small_disk: Path, unbalanced: None) -> AsyncIterator[OpenServers]:
    async with open_servers(tmp_path, url, vaults=("small", "large")) as opened:
        yield opened


async def test_a_vault_that_does_not_fit_is_refused_by_name_and_others_are_served(servers: OpenServers) -> None:
    a, b = servers.opened
    await remember(a, "small", "tea is at four")
    async with a.services.pool.lease(a.entry("large")) as vault:
        await vault.db.write(lambda tx: fill(tx, DISK_MB))
    for name in ("large", "small"):
        assert await a.cluster.held.hand_over(a.entry(name).vault_id, 5.0, b.id)
    refused = await b.asking("large")("memory_list")
    assert (refused.ok, refused.content["error"]["code"]) == (False, "storage_full"), refused.text
    await remember(b, "small", "cake is at five")
    assert len((await b.asking("small")("memory_list")).content["memories"]) == 2
    assert (await a.asking("large")("memory_list")).ok, "where there is room"


async def test_a_disk_that_fills_up_under_a_holder_loses_nothing(servers: OpenServers, small_disk: Path) -> None:
    a, b = servers.opened
    assert await a.cluster.held.hand_over(a.entry("small").vault_id, 5.0, b.id)
    await remember(b, "small", "tea is at four")
    rest = small_disk / "rest"
    fill_up(rest)
    refused = [await b.asking("small")("remember", content="word " * 500 + str(n)) for n in range(8)]
    codes = [each.content["error"]["code"] if not each.ok else "ok" for each in refused]
    assert "storage_full" in codes
    assert set(codes) <= {"ok", "storage_full", "vault_unavailable"}, codes
    assert (await b.asking("small")("memory_list")).ok
    rest.unlink()
    await remember(b, "small", "cake is at five")
    found = await b.asking("small")("memory_list", limit=100)
    assert len(found.content["memories"]) == 2 + codes.count("ok")


async def test_files_that_are_gone_under_a_holder_lose_nothing(servers: OpenServers) -> None:
    a, b = servers.opened
    entry = b.entry("small")
    assert await a.cluster.held.hand_over(entry.vault_id, 5.0, b.id)
    await remember(b, "small", "tea is at four")
    shutil.rmtree(b.cluster.held.folder_of(entry))
    answers = [await b.asking("small")("remember", content=f"cake number {number}") for number in range(5)]
    codes = ["ok" if each.ok else each.content["error"]["code"] for each in answers]
    assert set(codes) == {"ok", "vault_unavailable"}
    for server in (b, a):
        found = await server.asking("small")("memory_list", limit=100)
        assert len(found.content["memories"]) == 1 + codes.count("ok")
        await server.cluster.held.hand_over(entry.vault_id, 5.0)


async def remember(server: OpenServer, vault: str, text: str) -> None:
    stored = await server.asking(vault)("remember", content=text)
    assert stored.ok, stored.text


def fill(tx: Writer, megabytes: int) -> None:
    tx.run("INSERT INTO vault_info VALUES ('filling', :value)", {"value": secrets.token_hex(megabytes * 512 * 1024)})


def fill_up(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return
