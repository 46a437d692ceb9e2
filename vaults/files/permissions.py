"""Keeps databases, their logs, locks and folders readable by this server's user only, whatever the umask says.

Notes are the user's own and get the permissions that new files get.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing; tighten one that is there."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            folder.mkdir(FOLDER_MODE)
    tighten_permissions(path, FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file where there is none; tighten one that is there."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    tighten_permissions(path, FILE_MODE)


def tighten_permissions(path: Path, mode: int) -> None:
    """Remove every permission that ``mode`` lacks. Somebody else's file stays as it is; a missing one is no error."""
    with suppress(OSError):
        # By its name: opening and closing a database's file would drop the locks this process holds on it.
        current = stat.S_IMODE(path.stat().st_mode)
        if current & ~mode:
            path.chmod(current & mode)
