"""A whole vault is restored out of a backup while servers serve: in the place of what is there, as a new one, or as one
that was deleted; from a backup of the cluster or of one machine.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from ops.backup.restore import LivingInstallation, RestoreRequest, restore
from ops.backup.staging import stage
from ops.backup.subject import read_subject
from server import vault_admin
from server.cli import restores, vault_life
from server.cli.backup_keys import make_opener
from server.cli.restore_orders import RestoreOrder
from server.cluster.vault_restore import put_in_cluster
from server.settings import load
from tests.cluster.open_servers import OpenServer, OpenServers, contents
from tests.conftest import QUIET, Opening
from tests.ops.backup.restoring import as_owner_of, back_up
from tests.ops.backup.staged import Staged
from vaults import registry
from vaults.cluster.postgres import vault_schemas
from vaults.db.sql import Writer
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, VaultUnavailable
from vaults.registry import VaultRules


def place_of(server: OpenServer) -> LivingInstallation:
    services = server.services
    storage = services.settings.storage
    put = partial(put_in_cluster, services.control, server.cluster, storage)
    return LivingInstallation(services.data, services.control, services.pool, storage, put)


async def backed_up(server: OpenServer, to: Path) -> Staged:
    """What the holder of the vault main backs up."""
    services, entry, settings = server.services, server.entry(), server.services.settings
    subject = await read_subject(
        services.control, services.data, entry, version="0", storage=settings.storage, notes=settings.notes
    )
    to.mkdir()
    done = await asyncio.to_thread(stage, replace(subject, folder=server.cluster.held.folder_of(entry)), to)
    return Staged(done.folder, done.manifest)


async def contents_now(server: OpenServer, vault: str = "main") -> set[str]:
    """Also of a vault that was made a moment ago."""
    await server.services.registry_cache.refresh()
    return await contents(server, vault)


async def two_moments(server: OpenServer, to: Path) -> Staged:
    """A backup, and a vault that has changed since."""
    ask = server.asking()
    assert (await ask("remember", content="tea is at four")).ok
    assert (await ask("note_write", path="plan.md", content="# Plan\n\nbuild the quay\n")).ok
    await server.services.control.write(lambda tx: set_grant(tx, "ann", LOCAL, "main", Role.READER))
    await server.services.control.write(lambda tx: registry.set_rules(tx, "main", VaultRules("ask", "ask")))
    await server.services.registry_cache.refresh()
    made = await backed_up(server, to)
    assert (await ask("remember", content="came later")).ok
    assert (await ask("note_write", path="plan.md", content="other\n", mode="overwrite")).ok
    assert (await ask("note_write", path="more.md", content="more\n")).ok
    return made


async def test_a_vault_that_a_server_has_is_again_as_it_was_and_goes_on(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    made, vault = await two_moments(a, tmp_path / "made"), a.entry().vault_id
    report = await restore(place_of(b), made, RestoreRequest())
    assert (report.vault, report.vault_id, report.replaced, report.is_new) == ("main", vault, True, False)
    assert report.complete
    assert await contents_now(a) == {"tea is at four"}
    assert "build the quay" in (await a.asking()("note_read", path="plan.md")).text
    assert not (await a.asking()("note_read", path="more.md")).ok
    assert (await a.asking()("remember", content="supper is at eight")).ok
    assert await a.cluster.held.hand_over(vault, 5.0, b.id)
    assert await contents_now(b) == {"tea is at four", "supper is at eight"}
    assert "build the quay" in (await b.asking()("note_read", path="plan.md")).text
    assert (await b.asking()("recall", query="supper")).content["hits"]


async def test_a_server_that_has_the_vault_itself_restores_it_too(servers: OpenServers, tmp_path: Path) -> None:
    a, _ = servers.opened
    made = await two_moments(a, tmp_path / "made")
    await restore(place_of(a), made, RestoreRequest(vault="main"))
    assert await contents_now(a) == {"tea is at four"}


async def test_a_vault_whose_log_is_damaged_is_served_again(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    made = await two_moments(a, tmp_path / "made")
    await a.cluster.held.hand_over(a.entry().vault_id, 5.0)
    with a.cluster.connections.use() as connection:
        connection.execute("DELETE FROM strongroom.vault_log WHERE seq % 2 = 0")
    assert (await a.asking()("memory_list")).content["error"]["code"] == "vault_quarantined"
    await restore(place_of(b), made, RestoreRequest())
    assert await contents_now(b) == {"tea is at four"}


async def test_a_backup_becomes_a_new_vault_beside_the_one_it_is_of(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    made = await two_moments(a, tmp_path / "made")
    report = await restore(place_of(b), made, RestoreRequest(as_new="second"))
    assert (report.is_new, report.replaced, list(report.grants)) == (True, False, ["ann reader"])
    assert await contents_now(a, "second") == {"tea is at four"}
    assert a.entry("second").write_mode == "ask"
    assert await contents_now(a) == {"tea is at four", "came later"}
    with pytest.raises(AlreadyExists):
        await restore(place_of(b), made, RestoreRequest(as_new="second"))


async def test_a_try_changes_nothing(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened
    made = await two_moments(a, tmp_path / "made")
    assert (await restore(place_of(b), made, RestoreRequest(dry_run=True))).dry_run
    assert a.cluster.held.is_here(a.entry().vault_id)
    assert await contents_now(a) == {"tea is at four", "came later"}


async def test_a_vault_that_was_renamed_meanwhile_is_not_replaced(
    servers: OpenServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    made = await two_moments(a, tmp_path / "made")

    async def renamed(*_: object) -> None:
        await vault_admin.rename(a.services, "main", "chief")

    monkeypatch.setattr("server.cluster.vault_restore.begin_schema", renamed)
    with pytest.raises(Conflict):
        await restore(place_of(b), made, RestoreRequest())
    assert await contents_now(a, "chief") == {"tea is at four", "came later"}


async def test_nothing_is_restored_that_servers_of_an_older_release_could_not_serve(
    servers: OpenServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = servers.opened
    made = await two_moments(a, tmp_path / "made")

    def reach(*_: object) -> None:
        raise VaultUnavailable("an older one serves")

    monkeypatch.setattr(vault_schemas, "reach", reach)
    with pytest.raises(VaultUnavailable):
        await restore(place_of(b), made, RestoreRequest())
    assert await contents_now(a) == {"tea is at four", "came later"}


async def test_a_backup_of_one_machine_is_restored_with_its_notes(
    servers: OpenServers, tmp_path: Path, opening: Opening
) -> None:
    a, b = servers.opened
    async with opening() as services:
        entry = await vault_admin.create(services, "alone")
        ask = as_owner_of(services, "alone")
        await ask("remember", content="the harbour opens at nine")
        await ask("note_write", path="deep/plan.md", content="build the quay\n")
        made = await back_up(services, tmp_path / "made", "alone")
    report = await restore(place_of(b), made, RestoreRequest())
    assert (report.vault_id, report.is_new) == (entry.vault_id, True)
    assert await contents_now(a, "alone") == {"the harbour opens at nine"}
    assert "build the quay" in (await a.asking("alone")("note_read", path="deep/plan.md")).text


async def test_a_vault_that_follows_a_folder_of_one_machine_stays_out(servers: OpenServers, tmp_path: Path) -> None:
    a, b = servers.opened

    def follow(tx: Writer) -> None:
        columns = {"name": "papers", "kind": "markdown", "root": "/papers", "include": "[]", "exclude": "[]"}
        columns |= {"context": "", "workspace": "", "added_by": "x", "created_at": "x", "modified_at": "x"}
        tx.run(
            f"INSERT INTO collections ({', '.join(columns)}, watch, revision, removed)"
            f" VALUES ({', '.join(f':{each}' for each in columns)}, 0, 1, 0)",
            columns,
        )

    async with a.services.pool.lease(a.entry()) as vault:
        await vault.db.write(follow)
    made = await backed_up(a, tmp_path / "made")
    with pytest.raises(InvalidArgument, match="papers"):
        await restore(place_of(b), made, RestoreRequest(as_new="second"))


async def test_the_command_brings_a_deleted_vault_back_under_its_own_id(servers: OpenServers) -> None:
    a, b = servers.opened
    assert (await a.asking()("remember", content="tea is at four")).ok
    vault = a.entry().vault_id
    loaded = load(
        servers.folder / "command", flags={**QUIET, "cluster.url": servers.url, "cluster.lease_s": 1.0}, environment={}
    )
    gone = await vault_life._delete(loaded, "main", "main", keep=True)
    order = RestoreOrder(str(gone.backup), make_opener(loaded, None, None), None, None, False, False, None, None, False)
    answer = await restores._restore_vault(loaded, order)
    assert answer.complete
    assert "vault main, as it was then, is there" in answer.lines
    assert await contents_now(b) == {"tea is at four"}
    assert b.entry().vault_id == vault
