"""Folders, zips and files are read alike, within bounds and without following anything out of them.

Covers vaults.sources.archives, vaults.sources.archive_member, vaults.sources.folder_members,
vaults.sources.zip_members.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from pathlib import Path

import pytest

from tests.vaults.sources.sqlite_fixtures import see_folder
from vaults.errors import InvalidArgument
from vaults.sources import zip_members
from vaults.sources.archive_member import UNREADABLE, explain
from vaults.sources.archives import has_members, open_archive


def pack(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name.replace("__", "/"), text)
    return path


def listed(path: Path) -> dict[str, str]:
    """Each member with its text, or with why it is not read."""
    with open_archive(path) as archive:
        return {member.path: member.refused or member.read(1000).decode() for member in archive.walk()}


def test_a_folder_and_a_zip_of_it_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.json").write_text("[]")
    (folder / "sub" / "a.md").write_text("# A")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    before = see_folder(folder)
    packed = pack(tmp_path / "export.zip", **{"b.json": "[]", "sub__a.md": "# A", ".git__config": "x"})
    assert listed(folder) == listed(packed) == {"b.json": "[]", "sub/a.md": "# A"}
    assert see_folder(folder) == before


def test_a_file_is_its_own_only_member(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text("[1]")
    assert listed(tmp_path / "conversations.json") == {"conversations.json": "[1]"}


def test_links_and_devices_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(b"\xff.md")).write_text("x")
    assert listed(folder) == {
        "link.md": "is a symbolic link",
        "pipe": "is no regular file",
        "up": "is a symbolic link",
        "?.md": "has a name that is not UTF-8",
    }


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("inside")
    (tmp_path / "a.md").write_text("outside")
    with open_archive(folder) as archive:
        (member,) = archive.walk()
        (folder / "sub" / "a.md").unlink()
        (folder / "sub").rmdir()
        (folder / "sub").symlink_to(tmp_path, target_is_directory=True)
        with pytest.raises(OSError):
            member.read(100)


def test_paths_that_climb_out_of_a_zip_are_refused(tmp_path: Path) -> None:
    names = ["../up.md", "a/../../up.md", "/etc/passwd", "C:up.md", "a\\..\\up.md"]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        for name in names:
            packed.writestr(zipfile.ZipInfo(name), "x")
        packed.writestr("fine.md", "x")
    found = listed(tmp_path / "x.zip")
    assert found.pop("fine.md") == "x"
    assert set(found.values()) == {"has a path that leads out of the archive"}
    assert len(found) == len(names)


def test_odd_members_of_a_zip_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("twice.md", "one")
        with pytest.warns(UserWarning, match="Duplicate name"):
            packed.writestr("twice.md", "two")
        packed.writestr("lzma.md", "x", zipfile.ZIP_LZMA)
        packed.writestr("bomb.md", "0" * 5_000_000, zipfile.ZIP_DEFLATED)
    with open_archive(tmp_path / "x.zip") as archive:
        assert [(member.path, member.refused) for member in archive.walk()] == [
            ("bomb.md", "is packed smaller than text can be"),
            ("link.md", "is a symbolic link"),
            ("lzma.md", "is packed in a way that is not read"),
            ("twice.md", None),
            ("twice.md", "has the name of another file"),
        ]


@pytest.mark.parametrize("limit", ["MAX_MEMBERS", "MAX_UNPACKED"])
def test_a_zip_beyond_bounds_is_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    path = pack(tmp_path / "x.zip", a="1", b="2")
    monkeypatch.setattr(zip_members, limit, 1)
    with pytest.raises(InvalidArgument):
        listed(path)


def test_damage_in_a_zip_is_said_of_the_member(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", **{"a.md": "alpha " * 100})
    data = bytearray(path.read_bytes())
    data[40:48] = b"\xff" * 8
    path.write_bytes(bytes(data))
    with open_archive(path) as archive:
        (member,) = archive.walk()
        with pytest.raises(UNREADABLE) as failure:
            member.read(10_000)
        assert explain(failure.value) == "is damaged"


def test_a_member_larger_than_asked_for_is_refused(tmp_path: Path) -> None:
    with open_archive(pack(tmp_path / "x.zip", a="12345")) as archive:
        (member,) = archive.walk()
        with pytest.raises(InvalidArgument):
            member.read(4)


@pytest.mark.parametrize("data", [b"PK\x03\x04 half a download", b"PK\x05\x06"])
def test_half_a_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(InvalidArgument, match="damaged or not fully"):
        listed(tmp_path / "x.zip")


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="No such file"):
        listed(tmp_path / "nothing")


def test_named_zips_of_a_folder_count_as_folders(tmp_path: Path) -> None:
    pack(tmp_path / "part-000.zip", **{"a.json": "1"})
    pack(tmp_path / "other.zip", **{"b.json": "2"})
    with open_archive(tmp_path, zips=re.compile(r"^part-\d+\.zip$")) as archive:
        assert [member.path for member in archive.walk()] == ["other.zip", "part-000.zip/a.json"]


def test_exports_are_told_from_other_downloads(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.zip", **{"chat.html": "", "conversations-000.json": "[]"})
    assert has_members(path, r"^chat\.html$", r"^conversations")
    assert not has_members(path, r"^users\.json$")
    assert not has_members(tmp_path / "nothing.zip", "x")
