"""Folders of other programs, looked through without following links out of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_CONFIGURATIONS = (".config", "Library/Application Support", "AppData/Roaming")
_SERVERS = (".vscode-server/data/User", ".vscode-server-insiders/data/User", ".cursor-server/data/User")


def walk_files(folder: Path, ending: str, depth: int) -> Iterator[Path]:
    """Files below a folder whose names end so, at most ``depth`` folders down, in order."""
    below: list[Path] = []
    for entry in scan_folder(folder):
        if entry.is_dir(follow_symlinks=False):
            below.append(Path(entry.path))
        elif entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
    if depth:
        for each in below:
            yield from walk_files(each, ending, depth - 1)


def scan_folder(folder: Path | str) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing in one that is not there or may not be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []


def folders_in(folder: Path) -> list[Path]:
    """The folders in a folder, by name; links are left out."""
    return [Path(entry.path) for entry in scan_folder(folder) if entry.is_dir(follow_symlinks=False)]


def editor_folders(home: Path) -> list[Path]:
    """Where VS Code and its relatives keep what belongs to a user, as far as it is there."""
    places = [home / place / editor / "User" for place in _CONFIGURATIONS for editor in EDITORS]
    return [place for place in (*places, *(home / server for server in _SERVERS)) if place.is_dir()]
