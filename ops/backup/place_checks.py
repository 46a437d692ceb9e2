"""Whether a vault can be restored where it lies: looked at before anything is extracted, let alone replaced."""

from __future__ import annotations

import os
from pathlib import Path

from vaults.errors import Conflict, VaultUnavailable
from vaults.registry import VaultEntry
from vaults.vault_gate import GATE_FILE, INTENT_FILE

MOUNTS = Path("/proc/self/mountinfo")
_MOUNT_POINT = 4
"""Field of a line of that file."""


def refuse_unfit(entry: VaultEntry, folder: Path, *, registered: bool) -> None:
    """Raise ``Conflict`` for a folder of a vault's state that cannot change places with another, ``VaultUnavailable``
    for that of a registered vault that looks like the place of a disk that is not mounted. Blocking."""
    if is_fixed(folder):
        raise fixed_error(folder)
    if not registered:
        return
    if entry.path is not None:
        _refuse_empty_path(entry.name, entry.path, folder)
    elif folder.is_dir() and _is_empty(folder):
        raise VaultUnavailable(
            f"the folder of vault {entry.name} is empty, as the place of a disk that is not mounted is: {folder}",
            hint="mount its disk; or remove the folder, and the vault is restored there",
            reason="empty_place",
        )


def is_fixed(folder: Path) -> bool:
    """Whether a folder is a link, or something is mounted on it: then no other can take its place in one step."""
    return folder.is_symlink() or folder.is_mount() or str(folder.resolve()) in _mount_points()


def fixed_error(folder: Path) -> Conflict:
    """The error for such a folder."""
    return Conflict(
        f"{folder} is a link, or a disk is mounted on it: no restored folder can take its place in one step",
        hint="restore it --as another vault; or give the disk to the folder above, and restore again",
        reason="fixed_place",
    )


def _refuse_empty_path(name: str, path: Path, state: Path) -> None:
    if state.is_dir() or path.is_mount() or (path.is_dir() and not _is_empty(path)):
        return
    raise VaultUnavailable(
        f"{path}, which vault {name} serves, is empty or not there, as where a disk is not mounted",
        hint=f"mount its disk; or have everything made anew there: mkdir -p {state}",
        reason="empty_place",
    )


def _is_empty(folder: Path) -> bool:
    """Whether it holds nothing but the gate, which whoever asks for a vault leaves in an empty folder too."""
    with os.scandir(folder) as entries:
        return all(each.name in (GATE_FILE, INTENT_FILE) for each in entries)


def _mount_points() -> set[str]:
    """Where something is mounted, also from the same disk, which ``is_mount`` does not see; empty where the system
    does not say."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return set()
    return {os.fsdecode(_unescape(line.split()[_MOUNT_POINT])) for line in lines}


def _unescape(name: bytes) -> bytes:
    """The kernel writes blanks and backslashes in octal."""
    for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        name = name.replace(escaped, plain)
    return name
