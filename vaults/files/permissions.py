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


def deny_reason(folder: Path, wanted: int) -> str | None:
    """Why this process may not use a folder that is there as ``os.R_OK``, ``W_OK`` and ``X_OK`` say; None: it may."""
    if os.access(folder, wanted):
        return None
    if wanted & os.W_OK and os.statvfs(folder).f_flag & os.ST_RDONLY:
        return "its disk is mounted to be read only"
    found = folder.stat()
    mode = stat.S_IMODE(found.st_mode)
    return f"it belongs to user {found.st_uid} with mode {mode:04o}, and this is user {os.geteuid()}"
