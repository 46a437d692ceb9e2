"""Every source there is, from its system's files into a vault and out again, field by field.

Each has a fixture of the shape its system leaves, and ``fixtures/expected`` says what an export has to hold then. A new
source without a fixture fails here. Of vaults.sources.known, vaults.domain.import_export.vault_import,
vaults.domain.import_export.exports and vaults.domain.import_export.run_undo, too.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.sources.fixtures.databases import DATABASES
from tests.vaults.sources.fixtures.exports import EXPORTS
from tests.vaults.sources.fixtures.fixture import EXPECTED, SourceFixture, read_expected
from tests.vaults.sources.fixtures.texts import TEXTS
from tests.vaults.sources.sqlite_fixtures import see_folder
from vaults import clock
from vaults.domain.actors import Actor
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.exports import export
from vaults.domain.import_export.source_import import ImportPlan, ImportTally
from vaults.domain.import_export.vault_import import import_into_vault
from vaults.domain.maintenance.verification import verify
from vaults.sources.jsonl import SOURCE as LINES
from vaults.sources.known import SOURCES
from vaults.vault import Vault

OWNER = Actor("owner", "owner")
FIXTURES: dict[str, SourceFixture] = DATABASES | EXPORTS | TEXTS
SAME_EVERYWHERE = {"author": "owner", "who": "owner", "workspace": "global", "applies_to": "global",
                   "visibility": "shared", "tier": "warm"}  # fmt: skip
"""What the lines of an export have where their source says nothing else."""

each_source = pytest.mark.parametrize("name", sorted(SOURCES))


KEPT = {"telemetry.keep": "36500d"}
"""Events older than this go within the hour, imported ones as well; those of the fixtures have fixed times."""


@pytest.fixture
async def vault(opening: Opening) -> AsyncIterator[Vault]:
    async with opening(KEPT) as services, services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


@dataclass
class SystemFiles:
    """A fixture on a disk: all of it in ``folder``, of which ``path`` is imported."""

    name: str
    folder: Path
    path: Path

    async def bring_into(self, vault: Vault) -> ImportTally:
        tally = await import_into_vault(vault, OWNER, ImportPlan(SOURCES[self.name], self.path))
        assert (tally.rejected, tally.unwritten) == (0, [])
        return tally


@pytest.fixture
def files(name: str, tmp_path: Path) -> SystemFiles:
    folder = tmp_path / "there"
    folder.mkdir()
    return SystemFiles(name, folder, FIXTURES[name].make(folder))


async def write_out(vault: Vault, folder: Path) -> dict[str, bytes]:
    await export(vault, folder, ["jsonl"])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def to_lines(files: dict[str, bytes], since: str) -> list[dict[str, Any]]:
    """What an export says; ``now`` are times after ``since``, which what has none of its own gets when it comes."""
    until = clock.now()
    lines = [json.loads(line) for name in sorted(files) for line in files[name].splitlines()]
    return [
        {name: "now" if name.endswith("_at") and since <= value <= until else value
         for name, value in line.items() if SAME_EVERYWHERE.get(name) != value}
        for line in lines
    ]  # fmt: skip


def list_notes(data: Path) -> dict[str, str]:
    """The files of the notes folder with their text, as bytes have it."""
    folder = data / "vaults" / "main" / "notes"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_source_has_a_fixture_and_an_expected_export() -> None:
    assert set(FIXTURES) == set(SOURCES) == {path.stem for path in EXPECTED.iterdir()}


@each_source
async def test_it_comes_whole_and_once_and_leaves_its_files_alone(
    name: str, files: SystemFiles, vault: Vault, tmp_path: Path
) -> None:
    expected, before, since = read_expected(name), see_folder(files.folder), clock.now()
    first = await files.bring_into(vault)
    assert first.left == expected.left
    again = await files.bring_into(vault)
    assert (again.stored, again.count("updated"), again.known) == (0, 0, first.stored)
    assert see_folder(files.folder) == before
    assert to_lines(await write_out(vault, tmp_path / "out"), since) == expected.lines
    assert list_notes(tmp_path) == expected.files
    await vault.background.wait()
    assert (await verify(vault)).agrees


@each_source
async def test_its_export_brings_the_same_into_another_vault(
    name: str, files: SystemFiles, vault: Vault, tmp_path: Path, opening: Opening
) -> None:
    await files.bring_into(vault)
    out = await write_out(vault, tmp_path / "out")
    async with opening(KEPT, data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            tally = await import_into_vault(other, OWNER, ImportPlan(LINES, tmp_path / "out"))
            assert tally.rejected == 0
            assert await write_out(other, tmp_path / "again") == out


@each_source
async def test_what_its_system_changed_comes_over_and_all_of_it_can_be_taken_back(
    name: str, files: SystemFiles, vault: Vault, tmp_path: Path
) -> None:
    expected = read_expected(name)
    await files.bring_into(vault)
    brought = _without_times(await write_out(vault, tmp_path / "before")), list_notes(tmp_path)
    FIXTURES[name].change(files.path)
    tally = await files.bring_into(vault)
    assert tally.stored + tally.count("updated") == 1
    lines, notes = _without_times(await write_out(vault, tmp_path / "after")), list_notes(tmp_path)
    assert [line for line in lines if line not in brought[0]] == expected.changed_lines
    assert {path: text for path, text in notes.items() if brought[1].get(path) != text} == expected.changed_files
    newest, oldest = await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 9))
    await run_undo.undo(vault, OWNER, newest)
    assert (_without_times(await write_out(vault, tmp_path / "undone")), list_notes(tmp_path)) == brought
    await run_undo.undo(vault, OWNER, oldest)
    assert set((await write_out(vault, tmp_path / "empty")).values()) == {b""}
    assert list_notes(tmp_path) == {}


def _without_times(files: dict[str, bytes]) -> list[dict[str, Any]]:
    """What an export says, but for times that a change of a record here changes."""
    return [{field: value for field, value in line.items() if field not in ("updated_at", "created_at")}
            for line in to_lines(files, clock.now())]  # fmt: skip
