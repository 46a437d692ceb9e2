"""A data folder that a newer version wrote is refused by that version's name, before anything is written.

Covers server.control_state.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from server.control_database import migrate_control
from server.version import version
from tests.blanks import lay_out
from tests.conftest import Opening
from tests.server.cli.command import Strongroom
from vaults import registry
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Writer
from vaults.errors import VaultQuarantined
from vaults.settings import StorageSettings


async def _write_as_newer(data: Path, wrote: str | None) -> bytes:
    lay_out(data, ())
    control = Database(data / "control.db", StorageSettings())
    await migrate_control(control, StorageSettings())
    assert await control.read(registry.written_by) == version()

    def write(tx: Writer) -> None:
        tx.run("INSERT INTO schema_steps VALUES (99, 'control', '0099_x.sql', 'now')")
        if wrote is None:
            tx.run("DELETE FROM installation WHERE key = 'version'")
        else:
            registry.note_version(tx, wrote)

    await control.write(write)
    await control.close()
    return (data / "control.db").read_bytes()


@pytest.mark.parametrize(("wrote", "said"), [("9.8.7", "strongroom 9.8.7"), (None, "of a newer version")])
async def test_a_newer_control_database_is_refused_untouched(
    opening: Opening, tmp_path: Path, wrote: str | None, said: str
) -> None:
    before = await _write_as_newer(tmp_path, wrote)
    with pytest.raises(VaultQuarantined, match=said) as refused:
        async with opening():
            pass
    assert refused.value.details["reason"] == "future"
    assert version() in refused.value.message
    assert (tmp_path / "control.db").read_bytes() == before


async def test_an_audit_of_a_newer_version_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert (await asyncio.to_thread(Strongroom(data), "vault", "create", "main")).code == 0
    audit = Database(data / "audit" / "installation.db", StorageSettings())
    await audit.write(lambda tx: tx.run("INSERT INTO schema_steps VALUES (99, 'audit', '0099_x.sql', 'now')"))
    await audit.close()
    before = {path: path.read_bytes() for path in (data / "audit" / "installation.db", data / "control.db")}
    for command in (("vault", "list"), ("serve", "--port", "0"), ("vault", "create", "x")):
        ran = await asyncio.to_thread(Strongroom(data), *command)
        assert (ran.code, "last used by strongroom" in ran.err) == (1, True)
    assert {path: path.read_bytes() for path in before} == before


async def test_a_damaged_audit_keeps_nobody_from_reading(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert (await asyncio.to_thread(Strongroom(data), "vault", "create", "main")).code == 0
    (data / "audit" / "installation.db").write_bytes(b"no database")
    assert (await asyncio.to_thread(Strongroom(data), "vault", "list")).code == 0


async def test_control_db_is_copied_before_it_is_brought_up_to_date(tmp_path: Path) -> None:
    chain = load_migrations("control")
    control = Database(tmp_path / "control.db", StorageSettings())
    await migrate(control, "control", chain[:-1])
    await migrate_control(control, StorageSettings())
    await control.close()
    kept = Database(tmp_path / f"control.db.before-{len(chain) - 1}", StorageSettings())
    assert await kept.read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_steps")) == len(chain) - 1
    await kept.close()


async def test_the_command_says_which_version_wrote_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    before = await _write_as_newer(data, "9.8.7")
    for command in (("vault", "list"), ("serve", "--port", "0"), ("vault", "create", "x")):
        ran = await asyncio.to_thread(Strongroom(data), *command)
        assert ran.code == 1
        assert "last used by strongroom 9.8.7" in ran.err
    assert (data / "control.db").read_bytes() == before
    assert not (data / "vaults").exists()


async def test_a_database_of_another_kind_is_still_called_that(tmp_path: Path) -> None:
    control = Database(tmp_path / "control.db", StorageSettings())
    await control.write(lambda tx: tx.run("CREATE TABLE notes (n INTEGER)"))
    with pytest.raises(VaultQuarantined) as refused:
        await migrate_control(control, StorageSettings())
    assert refused.value.details["reason"] == "foreign"
    await control.close()
