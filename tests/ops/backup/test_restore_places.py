"""What a killed restore leaves, and what the next sweep makes of it.

Covers ops.backup.extraction, ops.backup.restore_leftovers.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ops.backup import restore_places
from ops.backup.extraction import extract
from ops.backup.pace import Pace
from ops.backup.restore_leftovers import sweep
from ops.backup.restore_places import (
    UNFINISHED,
    RestorePlace,
    finish,
    held_place,
    hold_place,
    put_back,
    put_in_place,
)
from tests.work import PATIENCE_S
from vaults.db.engine import sqlite
from vaults.files.writes import renames
from vaults.vault_gate import VaultGate


def _vault(folder: Path, says: str) -> None:
    """A folder that passes for a vault."""
    folder.mkdir(exist_ok=True)
    with closing(sqlite.connect(folder / "vault.db")) as raw:
        raw.executescript(
            "CREATE TABLE vault_info (key TEXT, value TEXT); INSERT INTO vault_info VALUES ('vault_id', 'x')"
        )
    (folder / "says").write_text(says)


class Killed(BaseException):
    """Stands for a kill: nothing after it is done, and the lock is nobody's."""


def _kill_at(where: Callable[[RestorePlace], None], folder: Path, *, stood: bool = True) -> None:
    """Restore "new" over "old" as far as ``where`` goes, and leave everything as it is."""
    if stood:
        _vault(folder / "main", "old")
    with suppress(Killed), pytest.MonkeyPatch.context() as patched, hold_place(folder / "main") as place:
        patched.setattr(restore_places, "_clear", lambda _: None)
        _vault(place.scratch, "new")
        where(place)
        raise Killed


def _says(folder: Path) -> str:
    return (folder / "main" / "says").read_text()


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def _exchange_only(place: RestorePlace) -> None:
    """As a kill between the exchange and the new name of what stood there."""
    put_in_place(place)
    place.replaced.rename(place.scratch)


def _first_rename_only(place: RestorePlace) -> None:
    """As a kill where the system cannot exchange names."""
    place.target.rename(place.replaced)


def _rejected_only(place: RestorePlace) -> None:
    put_in_place(place)
    (place.target / restore_places.REJECTED).touch()


def _half_removed(place: RestorePlace) -> None:
    put_in_place(place)
    (place.target / UNFINISHED).unlink()
    (place.replaced / "vault.db").unlink()


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (lambda place: None, "old"),
        (_exchange_only, "new"),
        (_first_rename_only, "old"),
        (put_in_place, "new"),
        (_rejected_only, "old"),
        (lambda place: (put_in_place(place), put_back(place)), "old"),
        (_half_removed, "new"),
        (lambda place: (put_in_place(place), finish(place)), "new"),
    ],
)
def test_after_a_kill_the_sweep_leaves_one_whole_vault_and_nothing_else(
    tmp_path: Path, where: Callable[[RestorePlace], None], says: str
) -> None:
    _kill_at(where, tmp_path)
    sweep(tmp_path)
    assert _says(tmp_path) == says
    assert _names(tmp_path) == ["main"]
    assert not (tmp_path / "main" / UNFINISHED).exists() or says == "old"


def test_a_vault_restored_where_none_stood_is_there_or_not(tmp_path: Path) -> None:
    _kill_at(lambda place: None, tmp_path, stood=False)
    sweep(tmp_path)
    assert _names(tmp_path) == []
    _kill_at(put_in_place, tmp_path, stood=False)
    sweep(tmp_path)
    assert _names(tmp_path) == ["main"]
    assert not (tmp_path / "main" / UNFINISHED).exists(), "a later restore would take it for one that is under way"


def test_a_new_vault_that_was_not_registered_yet_is_not_left_behind(tmp_path: Path) -> None:
    _kill_at(put_in_place, tmp_path, stood=False)
    gate = VaultGate(tmp_path / "main")
    gate.enter()
    assert sweep(tmp_path, {"other"}) == [], "somebody has it open"
    gate.leave()
    assert "main" in sweep(tmp_path, {"other"})
    assert _names(tmp_path) == []
    _kill_at(put_in_place, tmp_path, stood=False)
    assert sweep(tmp_path, {"main"}) == []
    assert _names(tmp_path) == ["main"]


def test_the_old_vault_stays_as_long_as_what_took_its_place_is_not_sound(tmp_path: Path) -> None:
    _kill_at(put_in_place, tmp_path)
    (tmp_path / "main" / "vault.db").write_bytes(b"garbage" * 1000)
    assert sweep(tmp_path) == []
    (replaced,) = (each for each in tmp_path.iterdir() if each.name.startswith(".replaced-"))
    assert (replaced / "says").read_text() == "old"
    shutil.rmtree(tmp_path / "main")
    _vault(tmp_path / "main", "mended")
    sweep(tmp_path)
    assert _names(tmp_path) == ["main"]


def test_what_a_living_restore_uses_is_left_alone(tmp_path: Path) -> None:
    _vault(tmp_path / "main", "old")
    with hold_place(tmp_path / "main") as place:
        assert sweep(tmp_path) == []
        assert place.scratch.is_dir()
        put_in_place(place)
        assert sweep(tmp_path) == []
        finish(place)
    assert _names(tmp_path) == ["main"]


def test_a_rejected_vault_that_somebody_has_open_stays_until_they_close_it(tmp_path: Path) -> None:
    _kill_at(_rejected_only, tmp_path)
    gate = VaultGate(tmp_path / "main")
    gate.enter()
    assert sweep(tmp_path) == []
    assert _says(tmp_path) == "new"
    gate.leave()
    sweep(tmp_path)
    assert _says(tmp_path) == "old"


def test_what_cannot_be_removed_keeps_nobody_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _kill_at(put_in_place, tmp_path)

    remove = shutil.rmtree

    def refuse(path: Path) -> None:
        if path.name.startswith(".replaced"):
            raise PermissionError(errno.EACCES, "not yours", str(path))
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", refuse)
        assert sweep(tmp_path) == []
        with hold_place(tmp_path / "other") as place:
            _vault(place.scratch, "new")
            place.replaced.mkdir()
            put_in_place(place)
            assert finish(place) == place.replaced
    assert _says(tmp_path) == "new"
    sweep(tmp_path)
    assert _names(tmp_path) == ["main", "other"]


def test_a_lock_of_a_restore_that_was_killed_before_it_began_goes(tmp_path: Path) -> None:
    (tmp_path / ".restoring-x.lock").touch()
    assert sweep(tmp_path) == []
    assert _names(tmp_path) == []


async def test_what_was_extracted_goes_although_its_caller_was_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, cleared, clear = threading.Event(), threading.Event(), restore_places._clear
    order: list[str] = []

    class Endless:
        def read_manifest(self) -> Any: ...

        def extract(self, into: Path, _: object = None, pace: Pace | None = None) -> Any:
            assert pace is not None
            try:
                while True:
                    (into / "notes").mkdir(parents=True, exist_ok=True)
                    started.set()
                    pace.check()
            finally:
                cleared.wait(0.1)  # whoever does not wait for us has cleared up by then
                order.append("stopped")

    def clear_and_say(place: RestorePlace) -> None:
        order.append("cleared")
        cleared.set()
        clear(place)

    monkeypatch.setattr(restore_places, "_clear", clear_and_say)

    async def restore() -> None:
        async with held_place(tmp_path / "main") as place:
            await extract(Endless(), place.scratch)

    restoring = asyncio.create_task(restore())
    await asyncio.to_thread(started.wait, PATIENCE_S)
    restoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await restoring
    assert order == ["stopped", "cleared"]
    assert _names(tmp_path) == []


@pytest.mark.parametrize("text", ["../outside", "", "..", "a/b"])
def test_a_lock_file_that_names_no_neighbour_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / ".restoring-x.lock").write_text(text)
    (tmp_path / ".restoring-x").mkdir()
    assert sweep(tmp_path) == []


def test_two_names_are_exchanged_by_renames_where_the_system_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renames, "exchange", lambda *_: False)
    _vault(tmp_path / "main", "old")
    with hold_place(tmp_path / "main") as place:
        _vault(place.scratch, "new")
        assert put_in_place(place)
        assert _says(tmp_path) == "new"
        put_back(place)
        assert _says(tmp_path) == "old"
    assert _names(tmp_path) == ["main"]
