"""Notes in a cluster: what was acknowledged is there on whichever server has the vault.

Covers server.cluster.note_folders.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from server.cluster.vault_departure import move_out
from tests.cluster.open_servers import OpenServer, open_servers
from tests.vaults.domain.notes.kept_notes import files_below, kept_in
from tests.work import PATIENCE_S
from vaults.domain.maintenance.verification import verify
from vaults.settings import StorageSettings

HAND_OVER_S = 30.0


async def notes_of(server: OpenServer) -> tuple[Path, dict[str, bytes]]:
    """The folder of notes where the vault is open, once it is what the rows say; taken there if need be."""
    async with server.services.pool.lease(server.entry()) as vault:
        assert await vault.notes.wait_for_index(PATIENCE_S)
        assert await vault.db.read(kept_in) == files_below(vault.notes.root)
        return vault.notes.root, files_below(vault.notes.root)


async def test_notes_go_where_their_vault_goes(url: str, tmp_path: Path) -> None:
    async with open_servers(tmp_path, url) as servers:
        a, b = servers.opened
        for n in range(5):
            written = await a.asking()("note_write", path=f"deep/n{n}.md", content=f"harbour {n} [[n{n + 1}]]\n")
            assert written.ok, written.text
        assert (await a.asking()("note_move", path="deep/n1.md", to="moved.md")).ok
        _, before = await notes_of(a)
        assert await a.cluster.held.hand_over(a.entry().vault_id, HAND_OVER_S, b.cluster.membership.id)
        root, there = await notes_of(b)
        assert there == before
        assert str(root).startswith(str(tmp_path / "b"))
        assert "harbour 3" in (await b.asking()("note_read", path="deep/n3.md")).text
        assert (await b.asking()("note_edit", path="moved.md", content="said on b")).ok
        assert (await b.asking()("history", action="undo", ref=(await last_change(b)))).ok
        async with b.services.pool.lease(b.entry()) as vault:
            report = await verify(vault)
            assert report.agrees, report.findings


async def last_change(server: OpenServer) -> str:
    return str((await server.asking()("history", action="log", limit=1)).content["changes"][0]["id"])


async def test_what_somebody_removed_from_a_copy_is_not_removed_from_the_vault(url: str, tmp_path: Path) -> None:
    async with open_servers(tmp_path, url, **{"notes.watch": "off"}) as servers:
        a, b = servers.opened
        assert (await a.asking()("note_write", path="a.md", content="kept\n")).ok
        root, before = await notes_of(a)
        await asyncio.to_thread(shutil.rmtree, root)
        assert await a.cluster.held.hand_over(a.entry().vault_id, HAND_OVER_S, b.cluster.membership.id)
        assert (await notes_of(b))[1] == before


async def test_a_backup_that_is_looked_at_is_a_folder_and_no_view(url: str, tmp_path: Path) -> None:
    """One that was made before the installation joined has no rows of its notes."""
    async with open_servers(tmp_path, url) as servers:
        a, _ = servers.opened
        async with a.services.pool.lease(a.entry()) as vault:
            assert vault.keeps_note_files
        apart = tmp_path / "apart"
        await move_out(a.cluster.connections, a.entry(), apart, StorageSettings())
        async with a.services.pool.open_apart(a.entry(), apart) as vault:
            assert not vault.keeps_note_files
