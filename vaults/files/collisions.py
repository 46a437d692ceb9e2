"""Finds names that some system takes for the same: another case, another Unicode normal form, on any level."""

from __future__ import annotations

import errno
import os
import unicodedata

from vaults.errors import InvalidArgument
from vaults.files.failures import blocked_error, occupied_error, spelling_clash_error, translate_os_errors
from vaults.files.file_stamps import status_at
from vaults.files.folders import VaultRoot, open_subfolder, path_segments
from vaults.files.paths import collision_key, join_path


def find_collision(root: VaultRoot, path: str) -> str | None:
    """What is in the way of a new ``path``: an entry of another spelling on any level, a file or link where a folder
    would have to be, or ``path`` itself. None if the path is free."""
    names = path_segments(path)
    if not names:
        raise InvalidArgument("path", "names the vault's own folder")
    with translate_os_errors(path):
        descriptor = root.open()
        try:
            for level, name in enumerate(names):
                here = "/".join(names[:level])
                spelled = _find_spelling(descriptor, name)
                if spelled is None:
                    return None
                if spelled != name or level == len(names) - 1:
                    return join_path(here, spelled)
                try:
                    deeper = open_subfolder(descriptor, name)
                except OSError as failure:
                    if failure.errno in (errno.ENOTDIR, errno.ELOOP):
                        return join_path(here, name)
                    raise
                os.close(descriptor)
                descriptor = deeper
        finally:
            os.close(descriptor)
    return None


def refuse_collision(root: VaultRoot, path: str, own: str = "") -> None:
    """Raises AlreadyExists or Conflict if something is in the way of ``path``, unless that is ``own``, another
    spelling of it."""
    existing = find_collision(root, path)
    if existing is None or existing == own != path:
        return
    if existing == path:
        raise occupied_error(path)
    raise blocked_error(path, existing) if path.startswith(f"{existing}/") else spelling_clash_error(path, existing)


def _find_spelling(folder: int, name: str) -> str | None:
    """How the entry that is, or collides with, ``name`` is spelled; None without one. The folder is listed only if
    the exact name is not there, or the file system may not care for case."""
    try:
        status = status_at(folder, name)
    except FileNotFoundError:
        pass
    else:
        if not _is_same_file(folder, _respell(name), status):
            return name
    wanted = collision_key(name)
    found = [entry for entry in os.listdir(folder) if collision_key(entry) == wanted]
    return name if name in found else min(found, default=None)


def _respell(name: str) -> str | None:
    """Another name with the same key, if there is one."""
    forms = (name.swapcase(), unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name))
    return next((form for form in forms if form != name), None)


def _is_same_file(folder: int, other: str | None, status: os.stat_result) -> bool:
    """Whether ``other`` leads to the same file, as it does where the file system ignores case."""
    if other is None:
        return False
    try:
        return os.path.samestat(status_at(folder, other), status)
    except OSError:
        return False
