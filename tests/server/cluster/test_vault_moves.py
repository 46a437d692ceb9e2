"""Vaults move into the cluster and out of it, and are the same on both sides.

Covers server.cluster.vault_arrival and server.cluster.vault_departure.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from server.cluster.cluster_seat import ClusterSeat
from server.cluster.release import release
from server.cluster.vault_arrival import move_in
from server.cluster.vault_departure import move_out
from server.services import Services
from tests.conftest import Opening, asker
from tests.noted import folder, put
from tests.vaults.cluster.logged_vault import endless_lease
from tests.vaults.domain.notes.kept_notes import files_below, times_below
from vaults import registry
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.servers import Servers
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.commit import note_files
from vaults.errors import Conflict, InvalidArgument, VaultQuarantined
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings

STORAGE = StorageSettings(reserve_mb=0)
QUIET = {"notes.watch": "off", "embedding.engine": "off"}


@pytest.fixture
def seat(connections: Connections) -> ClusterSeat:
    Servers(connections, 60.0).join("a", "", release())
    return ClusterSeat(connections, "a", endless_lease())


async def filled(services: Services) -> VaultEntry:
    """Memories, notes, their history, and files besides."""
    ask = asker(services)
    for n in range(5):
        assert (await ask("remember", content=f"harbour number {n} opens at {n}")).ok
        assert (await ask("note_write", path=f"deep/n{n}.md", content=f"# N {n}\n\n[[n{n + 1}]]\n")).ok
    assert (await ask("note_move", path="deep/n1.md", to="moved.md")).ok
    put(folder(services.data), {"pic.png": bytes(range(256)), ".obsidian/app.json": "{}"})
    return services.registry_cache.entry("main")


async def test_a_vault_that_moves_in_while_it_is_served_moves_out_the_same(
    opening: Opening, seat: ClusterSeat, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    async with opening(QUIET) as services:
        entry = await filled(services)
        first = await move_in(seat, entry, tmp_path, STORAGE)
        for _ in range(5):  # what it still writes by itself comes to an end
            again = await move_in(seat, entry, tmp_path, STORAGE)
            if not again.moved:
                break
            first = again
        assert (again.moved, again.head, again.digest) == (0, first.head, first.digest), "repeated for nothing"
        assert (await asker(services)("remember", content="the last word before the stop")).ok
        assert (await asker(services)("note_write", path="late.md", content="late\n")).ok
    last = await move_in(seat, entry, tmp_path, STORAGE)
    assert 0 < last.moved < first.moved
    assert last.head > first.head
    gone = await move_out(seat.connections, entry, registry.folder_of(out, "main", None), STORAGE)
    assert (gone.head, gone.digest, gone.notes, gone.files) == (last.head, last.digest, last.notes, last.files)
    assert files_below(folder(out)) == files_below(folder(tmp_path))
    assert times_below(folder(out)) == times_below(folder(tmp_path))

    shutil.copy(tmp_path / "control.db", out / "control.db")
    async with opening(QUIET, data=out) as services:
        ask = asker(services)
        hits = (await ask("recall", query="the last word")).content
        assert "the last word before the stop" in str(hits)
        assert (await ask("history", action="undo")).ok, "its history came along"
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await vault.db.read(note_files.is_empty)
            report = await verify(vault)
            assert report.agrees, report.findings
            assert report.memories == 6


async def test_a_vault_moves_out_in_the_place_of_what_an_attempt_before_has_left(
    opening: Opening, seat: ClusterSeat, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = registry.folder_of(tmp_path_factory.mktemp("out"), "main", None)
    async with opening(QUIET) as services:
        entry = await filled(services)
    await move_in(seat, entry, tmp_path, STORAGE)
    one = await move_out(seat.connections, entry, out, STORAGE)
    (out / "vault.db-wal").write_bytes(b"torn")
    (out / "notes" / "deep" / "n2.md").write_text("half")
    assert await move_out(seat.connections, entry, out, STORAGE) == one
    assert files_below(out / "notes") == files_below(folder(tmp_path))


async def test_what_a_cluster_cannot_keep_is_named_and_what_it_leaves_out_is_told(
    opening: Opening, seat: ClusterSeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening(QUIET) as services:
        entry = await filled(services)
        (folder(tmp_path) / "link.md").symlink_to("moved.md")
        arrived = await move_in(seat, entry, tmp_path, STORAGE)
        assert [(each.path, each.reason) for each in arrived.left_out] == [("link.md", "symbolic link")]
        with monkeypatch.context() as patch:
            patch.setattr(note_files, "MAX_BYTES", 255)
            with pytest.raises(InvalidArgument, match=r"pic\.png is larger"):
                await move_in(seat, entry, tmp_path, STORAGE)
        async with services.pool.lease(entry) as vault:
            await vault.db.write(
                lambda tx: tx.run(
                    "INSERT INTO collections (name, kind, root, include, exclude, context, workspace, watch, revision,"
                    " removed, added_by, created_at, modified_at)"
                    " VALUES ('papers', 'documents', '/srv', '[]', '[]', '', '', 0, 1, 0, 'owner', '', '')"
                )
            )
        with pytest.raises(InvalidArgument, match="vault main follows the folder of collection papers"):
            await move_in(seat, entry, tmp_path, STORAGE)


async def test_a_vault_that_a_server_has_and_foreign_files_are_refused(
    opening: Opening, seat: ClusterSeat, tmp_path: Path
) -> None:
    async with opening(QUIET) as services:
        entry = await filled(services)
    await move_in(seat, entry, tmp_path, STORAGE)
    Servers(seat.connections, 60.0).join("b", "", release())
    held = Placements(seat.connections).take(entry.vault_id, "b")
    assert held is not None
    with pytest.raises(Conflict, match="has vault main already"):
        await move_in(seat, entry, tmp_path, STORAGE)
    Placements(seat.connections).release(held)
    foreign = VaultEntry("main", "another", None, "active", "agent", "auto", "")
    with pytest.raises(VaultQuarantined, match="belong to another vault"):
        await move_in(seat, foreign, tmp_path, STORAGE)
