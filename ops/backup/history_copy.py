"""The Git history of a vault's own, beside its database.

A reference is copied before the objects it needs, and objects are there before a reference names them; so what is
copied is whole, whoever commits meanwhile. It is copied after the database, so it knows at least what the database says
is committed. History in a repository of the owner is the owner's to back up.
"""

from __future__ import annotations

import os
from pathlib import Path

from ops.backup.file_copy import NotAFile, Restless, copy_file
from ops.backup.manifest import ManifestMember
from ops.backup.member_paths import HISTORY, why_unusable
from ops.backup.pace import Pace
from vaults.history.locations import OWN_FOLDER, has_own

ROUNDS = 8
"""Looks at the objects: packing them moves them meanwhile."""

OBJECTS = "objects"


def copy_history(state: Path, into: Path, pace: Pace) -> list[ManifestMember]:
    """Copy the history in the state folder, if there is any."""
    if not has_own(state):
        return []
    root = state / OWN_FOLDER
    members: dict[str, ManifestMember] = {}
    _copy_new(root, into, members, pace, objects=False)
    for _ in range(ROUNDS):
        known = len(members)
        moved = _copy_new(root, into, members, pace, objects=True)
        if not moved and len(members) == known:
            break
    return list(members.values())


def _copy_new(root: Path, into: Path, members: dict[str, ManifestMember], pace: Pace, *, objects: bool) -> bool:
    """Copy what is not copied yet; returns whether anything went away meanwhile."""
    moved = False
    for here, folders, names in os.walk(root):
        above = Path(here).relative_to(root).as_posix()
        prefix = "" if above == "." else f"{above}/"
        if not prefix:
            folders[:] = [name for name in folders if (name == OBJECTS) is objects]
            names = [] if objects else names
        try:
            folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            moved = True
            continue
        try:
            for name in sorted(names):
                path = f"{HISTORY}/{prefix}{name}"
                if path in members or _is_passing(name) or why_unusable(path):
                    continue
                try:
                    members[path] = copy_file(folder, name, into / prefix / name, path, pace)
                except FileNotFoundError:
                    moved = True
                except (NotAFile, Restless):
                    continue  # nothing that Git or strongroom makes there
        finally:
            os.close(folder)
    return moved


def _is_passing(name: str) -> bool:
    return name.endswith((".lock", ".tmp")) or name.startswith(("tmp_", "."))
