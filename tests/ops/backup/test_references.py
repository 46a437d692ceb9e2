"""Which backup somebody means."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.backup import references
from ops.backup.references import KnownBackups, open_source
from ops.settings import BackupSettings
from vaults.errors import InvalidArgument, NotFound

VAULT_ID = "0190a1b2-0000-7000-8000-000000000001"
OLD, NEW = "main-20260101T000000Z-s15-v1.tar.zst", "main-20260102T000000Z-s15-v1.tar.zst.age"
SNAPSHOT, LATER = "00000001-20260101T120000Z.snapshot", "00000002-20260103T000000Z.snapshot"


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources that only say what was opened."""
    monkeypatch.setattr(references, "open_archive", lambda path, _: path.name)
    monkeypatch.setattr(references, "open_snapshot", lambda _store, vault, name, _: (vault, name))


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
        ((OLD, "main-2-20260105T000000Z-s15-v1.tar.zst", f".{NEW}.partial", "notes.txt"), OLD),
    ],
)
def test_latest_is_the_newest_of_this_vault_whatever_its_form(
    tmp_path: Path, names: tuple[str, ...], found: object
) -> None:
    assert open_source("latest", _known(tmp_path, *names)) == found


def test_a_name_of_the_list_is_found_in_the_folder_or_the_store(tmp_path: Path) -> None:
    known = _known(tmp_path, OLD, SNAPSHOT)
    assert open_source(OLD, known) == OLD
    assert open_source(str(tmp_path / OLD), KnownBackups(BackupSettings(), Path("/nowhere"))) == OLD
    assert open_source(SNAPSHOT, known) == (VAULT_ID, SNAPSHOT)
    whole = f"{tmp_path}/vaults/other-id/snapshots/{LATER}"
    assert open_source(whole, known) == ("other-id", LATER), "also of a vault this installation does not have"


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
