"""Folders of Markdown are carried file by file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.vaults.sources.sqlite_fixtures import read_source
from vaults.errors import InvalidArgument
from vaults.sources import markdown
from vaults.sources.markdown import SOURCE
from vaults.sources.source import SearchPlaces


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """An Obsidian vault, with what lies in one."""
    folder = tmp_path / "vault"
    for name, data in {
        "Home.md": b"---\ntags: [a]\nodd: '{{x}}'\n---\r\n# Home\r\n[[plans/Plan]]\r\n",
        "plans/Plan.markdown": b"\xef\xbb\xbf# Plan\n",
        "plans/Empty.md": b"",
        "old/Windows.md": "# Größe".encode("utf-16"),
        "plans/photo.png": b"\x89PNG",
        "plans/board.canvas": b"{}",
        "LICENSE": b"x",
        ".obsidian/app.json": b"{}",
        ".git/HEAD": b"x",
        ".trash/Old.md": b"x",
        "node_modules/x/README.md": b"x",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_each_file_is_a_note_with_its_text_as_it_is(vault: Path) -> None:
    found = read_source(SOURCE, vault)
    assert {line["path"]: line["content"] for line in found.of("note")} == {
        "Home.md": "---\ntags: [a]\nodd: '{{x}}'\n---\r\n# Home\r\n[[plans/Plan]]\r\n",
        "old/Windows.md": "# Größe",
        "plans/Empty.md": "",
        "plans/Plan.markdown": "# Plan\n",
    }
    assert found.line("markdown:note:Home.md")["modified_at"].endswith("Z")
    assert (found.total, found.unreadable) == (4, [])


def test_other_files_are_counted_and_hidden_ones_are_not_looked_at(vault: Path) -> None:
    (vault / "link.md").symlink_to(vault / "Home.md")
    (vault / "attachments").symlink_to(vault / "plans", target_is_directory=True)
    found = read_source(SOURCE, vault)
    assert found.left == {".png files": 1, ".canvas files": 1, "files that are no Markdown": 1, "symbolic links": 1}
    assert [(each.place, each.reason) for each in found.unreadable] == [("link.md", "is a symbolic link")]


def test_what_cannot_be_read_is_said(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "NOTE_BYTES", 100)
    (vault / "latin.md").write_bytes(b"caf\xe9")
    (vault / "binary.md").write_bytes(b"a\0b")
    (vault / "large.md").write_bytes(b"x" * 101)
    found = read_source(SOURCE, vault)
    assert {each.place: each.reason for each in found.unreadable} == {
        "binary.md": "holds NUL bytes",
        "large.md": "file is larger than 100 bytes",
        "latin.md": "not UTF-8 at byte 3",
    }
    assert len(found.lines) == 4


def test_a_zip_is_read_alike(vault: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "vault.zip", "w") as packed:
        for path in sorted(vault.rglob("*")):
            packed.write(path, str(path.relative_to(vault)))
        packed.writestr("../../climbs.md", "x")
    folder, zipped = read_source(SOURCE, vault), read_source(SOURCE, tmp_path / "vault.zip")
    assert [line["external_id"] for line in zipped.lines] == [line["external_id"] for line in folder.lines]
    assert [each.reason for each in zipped.unreadable] == ["has a path that leads out of the archive"]


def test_a_folder_without_notes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no Markdown"), SOURCE.open(tmp_path):
        pass


def test_names_that_differ_in_space_stay_two_notes(tmp_path: Path) -> None:
    for name in ("a b.md", "a  b.md"):
        (tmp_path / name).write_text(name)
    assert len(read_source(SOURCE, tmp_path).lines) == 2


def test_obsidian_vaults_are_found(vault: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "Documents").mkdir(parents=True)
    assert list(SOURCE.find(SearchPlaces(home, tmp_path))) == [vault]
    assert list(SOURCE.find(SearchPlaces(home, vault))) == [vault]
