"""A vault's content is compared with its hashes once a week, in small parts that go on after a restart.

Covers ops.doctor.integrity.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ops.doctor.integrity import integrity
from server.services import Services
from tests.conftest import Opening, asker, open_at
from tests.work import PATIENCE_S
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.maintenance import integrity_round
from vaults.domain.maintenance.integrity_round import EVERY_S, IntegrityState, go_on, read_state
from vaults.domain.notes.sync import readiness
from vaults.vault import Vault


@pytest.fixture(autouse=True)
def undivided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round is one part, however slow the machine is: the next part would be begun in the background as well. There,
    no round that is due is begun either."""
    monkeypatch.setattr(integrity_round, "SPAN_S", PATIENCE_S)
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", ())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a vault with something of each kind: each test has a copy of it."""
    data = tmp_path_factory.mktemp("filled") / "data"

    async def fill() -> None:
        async with open_at(data) as services:
            await _fill(services)

    asyncio.run(fill())
    return data


@pytest.fixture
async def services(filled: Path, tmp_path: Path) -> AsyncIterator[Services]:
    async with open_at(Path(shutil.copytree(filled, tmp_path / "copy"))) as opened:
        async with opened.pool.lease(opened.registry_cache.entry("main")) as vault:
            await readiness.wait_until_synced(vault)  # copied files are other files: they are read first
        yield opened


async def _fill(services: Services) -> None:
    ask = asker(services)
    for at in range(12):
        await ask("remember", content=f"boat {at} in the harbour")
    await ask("ingest", content="The lease of a berth.", title="lease")
    await ask("note_write", path="berth.md", content="# Berth\n\nIt is free.\n")


async def _round(vault: Vault) -> IntegrityState:
    """A whole round."""
    await go_on(vault)
    return await vault.db.read(read_state)


async def test_a_sound_vault_has_nothing_to_tell(services: Services) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        state = await _round(vault)
        assert (state.stage, state.last, state.problems) == (None, {}, 0)
        assert (await integrity(vault)).status == "ok"


def _change_memory(vault: Vault, tx: Writer) -> None:
    tx.run("UPDATE memories SET content = 'boat X in the harbour' WHERE content LIKE 'boat 7 %'")


def _change_document(vault: Vault, tx: Writer) -> None:
    tx.run("UPDATE document_parts SET text = 'The lease of a barn.'")


def _change_version(vault: Vault, tx: Writer) -> None:
    tx.run("UPDATE note_versions SET data = x'00'")


def _rot_note(vault: Vault, tx: Writer) -> None:
    path = vault.notes.root / "berth.md"
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Vault, Writer], None]] = {
    "memories_changed": _change_memory,
    "documents_changed": _change_document,
    "versions_damaged": _change_version,
    "notes_changed_unseen": _rot_note,
}


@pytest.mark.parametrize("code", CHANGES)
async def test_what_changed_behind_everybodys_back_is_found(services: Services, code: str) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: CHANGES[code](vault, tx))
        assert (await _round(vault)).last == {code: 1}
        assert (await vault.db.read(integrity_round.read_figures)).problems == 1
        assert (await integrity(vault)).status == "warning"


@pytest.mark.parametrize("value", ["CAST(x'ff41' AS TEXT)", "'{'"], ids=["no text", "no JSON"])
async def test_a_row_that_cannot_be_read_is_found_and_does_not_end_the_round(services: Services, value: str) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        for table in ("memories", "documents"):
            sql = f"UPDATE {table} SET metadata = {value} WHERE seq = (SELECT MIN(seq) FROM {table})"
            await vault.db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
        assert (await _round(vault)).last == {"memories_changed": 1, "documents_changed": 1}


async def test_a_round_goes_on_where_it_was(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    step = integrity_round._STEPS["memories"][1]

    async def watched(vault: Vault, after: str) -> object:
        seen.append(after)
        return await step(vault, after)

    monkeypatch.setitem(integrity_round._STEPS, "memories", ("memories_changed", watched))
    left = IntegrityState(stage="memories", after="20", found={"memories_changed": 2})
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: integrity_round._write_state(tx, left))
        assert (await _round(vault)).last == {"memories_changed": 2}
    assert seen[0] == "20"


async def test_a_new_vault_is_looked_at_after_a_week_and_then_each_week(opening: Opening) -> None:
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert not await vault.db.read(integrity_round.is_due)

        def age(tx: Writer) -> None:
            made = clock.ago(EVERY_S + 60)
            tx.run(
                "INSERT INTO vault_info VALUES ('created_at', :made) ON CONFLICT (key) DO UPDATE SET value = :made",
                {"made": made},
            )

        await vault.db.write(age)
        assert await vault.db.read(integrity_round.is_due)
        await _round(vault)
        assert not await vault.db.read(integrity_round.is_due)


async def test_a_state_of_another_version_begins_anew(opening: Opening) -> None:
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        for said in ('{"of": "the future"}', '{"stage": "pictures"}'):
            await vault.db.write(
                lambda tx, said=said: tx.run(  # type: ignore[misc]
                    "INSERT INTO vault_info VALUES ('integrity', :said) ON CONFLICT (key) DO UPDATE SET value = :said",
                    {"said": said},
                )
            )
            assert await vault.db.read(read_state) == IntegrityState()
