"""Folders of other programs are looked through without leaving them."""

from __future__ import annotations

from pathlib import Path

from vaults.transcripts.file_walk import editor_folders, folders_in, walk_files


def test_links_are_not_followed_and_depth_is_kept(tmp_path: Path) -> None:
    for name in ("a/b/c/deep.json", "a/x.json", "a/y.txt", "z.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "link.json").symlink_to(tmp_path / "z.json")
    assert [path.name for path in walk_files(tmp_path, ".json", 2)] == ["z.json", "x.json"]
    assert [path.name for path in walk_files(tmp_path, ".json", 9)] == ["z.json", "x.json", "deep.json"]
    assert [path.name for path in folders_in(tmp_path / "a")] == ["b"]
    assert folders_in(tmp_path / "nowhere") == []


def test_a_folder_that_is_a_link_itself_is_looked_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.json").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [path.name for path in walk_files(tmp_path / "link", ".json", 0)] == ["x.json"]


def test_editors_are_looked_for_where_systems_have_them(tmp_path: Path) -> None:
    places = [".config/Code/User", "Library/Application Support/Cursor/User", ".vscode-server/data/User"]
    for place in places:
        (tmp_path / place).mkdir(parents=True)
    assert [str(path.relative_to(tmp_path)) for path in editor_folders(tmp_path)] == places
