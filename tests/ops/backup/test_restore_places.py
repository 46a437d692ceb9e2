"""What a killed restore leaves, and what the next sweep makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ops.backup import restore_places
from ops.backup.restore_places import UNFINISHED, RestorePlace, finish, hold_place, put_back, put_in_place, sweep
from vaults.db.engine import sqlite
from vaults.files.writes import renames


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
    clear, restore_places._clear = restore_places._clear, lambda _: None
    try:
        with hold_place(folder / "main") as place:
            _vault(place.scratch, "new")
            where(place)
            raise Killed
    except Killed:
        restore_places._clear = clear


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
