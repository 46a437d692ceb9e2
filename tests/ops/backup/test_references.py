"""Which backup somebody means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ops.backup import references
from ops.backup.references import KnownBackups, open_source
from ops.settings import BackupSettings
from vaults.errors import InvalidArgument, NotFound

VAULT_ID = "0190a1b2-0000-7000-8000-000000000001"
STRANGER, BROKEN = "main-20260104T000000Z-s15-v1.tar.zst", "main-20260106T000000Z-s15-v1.tar.zst"
OLD, NEW = "main-20260101T000000Z-s15-v1.tar.zst", "main-20260102T000000Z-s15-v1.tar.zst.age"
SNAPSHOT, LATER = "00000001-20260101T120000Z.snapshot", "00000002-20260103T000000Z.snapshot"


SAYS = {STRANGER: "another-vault", BROKEN: None}
"""Of which vault archives say they are, if not of ours; None: they say nothing."""


@dataclass(frozen=True)
class _Opened:
    """A source that only says what was opened, and of which vault it is."""

    name: object

    def read_manifest(self) -> Any:
        said = SAYS.get(str(self.name), VAULT_ID)
        if said is None:
            raise InvalidArgument("archive", "is damaged")
        return SimpleNamespace(vault_id=said)


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "open_archive", lambda path, _: _Opened(path.name))
    monkeypatch.setattr(references, "open_snapshot", lambda _store, vault, name, _: _Opened((vault, name)))


def _known(folder: Path, *names: str) -> KnownBackups:
    for name in names:
        place = folder / (f"vaults/{VAULT_ID}/snapshots/{name}" if name.endswith(".snapshot") else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return KnownBackups(BackupSettings(to=str(folder)), folder, vault="main", vault_id=VAULT_ID)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ((OLD, NEW), NEW),
        ((OLD, SNAPSHOT), (VAULT_ID, SNAPSHOT)),
        ((OLD, NEW, SNAPSHOT), NEW),
        ((NEW, SNAPSHOT, LATER), (VAULT_ID, LATER)),
        ((OLD, STRANGER), OLD),
        ((OLD, BROKEN), BROKEN),
        ((OLD, "main-2-20260105T000000Z-s15-v1.tar.zst", f".{NEW}.partial", "notes.txt"), OLD),
    ],
)
def test_latest_is_the_newest_of_this_vault_whatever_its_form(
    tmp_path: Path, names: tuple[str, ...], found: object
) -> None:
    assert open_source("latest", _known(tmp_path, *names)) == _Opened(found)


def test_a_name_of_the_list_is_found_in_the_folder_or_the_store(tmp_path: Path) -> None:
    known = _known(tmp_path, OLD, SNAPSHOT)
    assert open_source(OLD, known) == _Opened(OLD)
    assert open_source(str(tmp_path / OLD), KnownBackups(BackupSettings(), Path("/nowhere"))) == _Opened(OLD)
    assert open_source(SNAPSHOT, known) == _Opened((VAULT_ID, SNAPSHOT))
    whole = f"{tmp_path}/vaults/other-id/snapshots/{LATER}"
    assert open_source(whole, known) == _Opened(("other-id", LATER)), "also of a vault this installation does not have"


def test_archives_that_were_written_elsewhere_are_found_by_the_record(tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    renamed = stick / "before-20260103T000000Z-s15-v1.tar.zst"
    known = replace(_known(tmp_path, OLD), recorded=(renamed, stick / NEW))
    assert open_source("latest", known) == _Opened(OLD), "the disk they are on is not mounted"
    renamed.touch()
    assert open_source("latest", known) == _Opened(renamed.name)
    assert open_source(renamed.name, known) == _Opened(renamed.name)
    assert open_source("latest", replace(known, until="20260102T000000Z")) == _Opened(OLD)


def test_where_there_is_none_it_is_said_where_was_looked_and_what_is_missing(tmp_path: Path) -> None:
    known = _known(tmp_path)
    with pytest.raises(NotFound, match=f"no backup of main in {tmp_path}$") as refused:
        open_source("latest", known)
    assert "by its path" in str(refused.value.hint)
    away = Path("/nowhere") / NEW
    with pytest.raises(NotFound, match=f"not there now are {away}"):
        open_source("latest", replace(known, recorded=(away,)))


def test_a_vault_that_is_not_known_here_has_the_backups_of_its_name(tmp_path: Path) -> None:
    known = replace(_known(tmp_path, OLD, STRANGER), vault_id=None)
    assert open_source("latest", known) == _Opened(STRANGER)


@pytest.mark.parametrize(
    ("reference", "known", "error"),
    [
        ("latest", KnownBackups(BackupSettings(to="/nowhere"), Path("/nowhere")), InvalidArgument),
        ("latest", KnownBackups(BackupSettings(to="/nowhere"), Path("/nowhere"), vault="main"), NotFound),
        (SNAPSHOT, KnownBackups(BackupSettings(to="/nowhere"), Path("/nowhere")), InvalidArgument),
        ("nothing", KnownBackups(BackupSettings(), Path("/nowhere")), NotFound),
        ("../no/such", KnownBackups(BackupSettings(to="/nowhere"), Path("/nowhere")), NotFound),
    ],
)
def test_what_cannot_be_meant_is_refused(reference: str, known: KnownBackups, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_source(reference, known)
