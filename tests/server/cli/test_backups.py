"""``strongroom backup``, beside what others keep in the same group.

Covers server.cli.backup_making, server.cli.backups, server.backups.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.backup.archive_reader import Opener, open_archive
from tests.blanks import lay_out
from tests.noted import folder
from tests.server.cli.command import Strongroom
from vaults.errors import StorageFull

pytestmark = pytest.mark.usefixtures("cheap_passphrases")


@pytest.fixture
def house(strongroom: Strongroom) -> Strongroom:
    """Vaults main and other."""
    lay_out(strongroom.data, ("main", "other"))
    for name in ("main", "other"):
        assert strongroom("vault", "create", name).code == 0
    return strongroom


def test_the_path_of_the_archive_is_printed(house: Strongroom) -> None:
    ran = house("backup", "--vault", "main")
    assert (ran.code, ran.err) == (0, "")
    assert open_archive(Path(ran.out.strip())).verify().vault == "main"
    assert Path(ran.out.strip()).parent == house.data / "backups"


def test_every_vault_goes_where_one_says(house: Strongroom, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    house("vault", "archive", "other")
    said = house("backup", "--all", "--to", str(tmp_path / "to"), "--json").json
    assert said["failed"] == {}
    assert [each["vault"] for each in said["backups"]] == ["main", "other"]
    assert {each["path"] for each in said["backups"]} == {str(each) for each in (tmp_path / "to").iterdir()}
    assert all(each["of_bytes"] > each["bytes"] > 0 for each in said["backups"])


def test_files_that_are_not_in_it_are_named(house: Strongroom) -> None:
    notes = folder(house.data)
    for number in range(22):
        (notes / f"link{number:02}.md").symlink_to("/etc/hostname")
    ran = house("backup", "--vault", "main")
    lines = ran.err.splitlines()
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert lines[0] == "strongroom: main: 22 files are not in it as they lie in the notes folder:"
    assert (lines[1], lines[-1]) == ("  link00.md: symbolic link", "  … and 2 more: --json names them")
    (made,) = house("backup", "--vault", "main", "--json").json["backups"]
    assert (made["remark_count"], made["remarks"][21]["path"]) == (22, "link21.md")


def test_a_vault_that_cannot_be_backed_up_keeps_no_other_from_it(house: Strongroom) -> None:
    (house.data / "vaults/main/.damaged").write_text("memories")
    ran = house("backup", "--all")
    assert ran.code == 1
    assert [Path(line).name.partition("-")[0] for line in ran.out.splitlines()] == ["other"]
    assert ran.err.startswith("strongroom: main: the vault's database is damaged")
    assert house("backup", "--vault", "main").code == 1


def test_settings_say_where_to_and_for_whom(house: Strongroom, tmp_path: Path) -> None:
    pyrage = pytest.importorskip("pyrage")
    key = pyrage.x25519.Identity.generate()
    (tmp_path / "to").mkdir()
    settings = {
        "STRONGROOM_BACKUP__TO": str(tmp_path / "to"),
        "STRONGROOM_BACKUP__RECIPIENTS": f'["{key.to_public()}"]',
        "STRONGROOM_BACKUP__SIGN": "true",
        "STRONGROOM_BACKUP__BANDWIDTH": "1GB",
    }
    path = Path(house("backup", "--vault", "main", **settings).out.strip())
    assert path.parent == tmp_path / "to"
    source = open_archive(path, Opener(identities=(str(key),)))
    assert source.verify().vault == "main"
    control = house("backup", "--control", **settings)
    assert Path(control.out.strip()).name.startswith("_control-")
    assert path.read_bytes().startswith(b"age-encryption.org/v1")


def test_keys_only_leave_encrypted(house: Strongroom, tmp_path: Path) -> None:
    refused = house("backup", "--control", "--vault", "main")
    assert (refused.code, "keys" in refused.err, "--recipient" in refused.err) == (2, True, True)
    assert not list((house.data / "backups").glob("*"))
    (tmp_path / "words").write_text("of the harbour\nsecond line\n")
    ran = house("backup", "--control", "--passphrase-file", str(tmp_path / "words"))
    path = Path(ran.out.strip())
    assert "keys" not in ran.err
    assert open_archive(path, Opener(passphrase="of the harbour")).verify().kind == "control"


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ((), "--vault"),
        (("--vault", "main", "--all"), "--all"),
        (("--vault", "main", "--recipient", "age1x"), "age1x"),
        (("--vault", "main", "--passphrase-file", "/nowhere"), "/nowhere"),
        (("--vault", "main", "--recipient", "age1x", "--passphrase-file", "{words}"), "exclude"),
        (("--vault", "main", "--passphrase-file", "{empty}"), "1 to"),
        (("--vault", "main", "--passphrase-file", "{binary}"), "no text"),
    ],
)
def test_what_does_not_fit_is_named(strongroom: Strongroom, tmp_path: Path, args: tuple[str, ...], word: str) -> None:
    files = {"words": b"x\n", "empty": b"", "binary": b"\xff\xfe"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    ran = strongroom("backup", *(each.format(**{name: str(tmp_path / name) for name in files}) for each in args))
    assert ran.code == 2, ran.err
    assert word in ran.err


def test_what_was_made_before_another_failed_is_printed(
    house: Strongroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StorageFull("full")

    (tmp_path / "words").write_text("x\n")
    monkeypatch.setattr("ops.backup.back_up.back_up_control", fail)
    ran = house("backup", "--vault", "main", "--control", "--passphrase-file", str(tmp_path / "words"))
    assert ran.code == 1
    assert Path(ran.out.strip()).name.startswith("main-")
    assert "--control: full" in ran.err


def test_without_room_for_the_copy_the_command_says_how_much_is_missing(
    house: Strongroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaults.disk_reserve.free_bytes", lambda _: 1000)
    ran = house("backup", "--vault", "main")
    assert ran.code == 1
    assert "bytes of free disk; 1,000 are free" in ran.err


def test_what_is_not_there_is_said(house: Strongroom, tmp_path: Path) -> None:
    assert "no vault none" in house("backup", "--vault", "none").err
    assert "not there" in house("backup", "--vault", "main", "--to", str(tmp_path / "mnt")).err
    assert not (tmp_path / "mnt").exists()


def test_runs_are_listed(house: Strongroom) -> None:
    made = house("backup", "--vault", "main").out.strip()
    assert made in house("backup", "list", "--vault", "main").out
