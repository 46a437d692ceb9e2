"""The archives of a vault that lie where backups go, newest first."""

from __future__ import annotations

from pathlib import Path

from ops.backup.archive_names import parse_name
from ops.backup.back_up import ARCHIVES_FOLDER
from ops.settings import BackupSettings


def archives_folder(settings: BackupSettings, data: Path) -> Path:
    """Where archives are; those in a bucket are fetched by ``strongroom restore``."""
    if settings.to is None or "://" in settings.to:
        return data / ARCHIVES_FOLDER
    return Path(settings.to)


def find_archives(folder: Path, vault: str) -> list[Path]:
    """By name: whether one is of this very vault and whole is seen when it is read."""
    found = []
    for path in folder.glob("*.tar.zst*") if folder.is_dir() else ():
        name = parse_name(path.name)
        if name is not None and name.vault == vault:
            found.append((name.at, path))
    return [path for _, path in sorted(found, reverse=True)]
