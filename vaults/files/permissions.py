"""What only this server's user may read: databases, their logs, locks and folders, whatever the umask says.

Notes are the user's own and get the permissions that new files get.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing; put right one that is there."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            folder.mkdir(FOLDER_MODE)
    tighten_permissions(path, FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file where there is none; put right one that is there."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    tighten_permissions(path, FILE_MODE)


def tighten_permissions(path: Path, mode: int) -> None:
    """Take every permission away that ``mode`` has not. Somebody else's file, and one that is not there, stay."""
    with suppress(OSError):
        # By its name: to open and close a database's file would drop the locks this process holds on it.
        held = stat.S_IMODE(path.stat().st_mode)
        if held & ~mode:
            path.chmod(held & mode)
