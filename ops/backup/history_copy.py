"""The Git history of a vault's own, beside its database.

A reference is copied before the objects it needs, and objects are there before a reference names them; so what is
copied is whole, whoever commits meanwhile. It is copied after the database, so it knows at least what the database says
is committed. History in a repository of the owner is the owner's to back up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
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
    copy = _HistoryCopy(state / OWN_FOLDER, into, pace)
    for name in sorted(os.listdir(copy.root)):  # noqa: PTH208  names, not paths
        if name != OBJECTS:
            copy.take_new(name)
    for _ in range(ROUNDS):
        known, moved = len(copy.members), copy.take_new(OBJECTS)
        if not moved and len(copy.members) == known:
            break
    return list(copy.members.values())


@dataclass(slots=True)
class _HistoryCopy:
    """Members by path, so far."""

    root: Path
    into: Path
    pace: Pace
    members: dict[str, ManifestMember] = field(default_factory=dict)

    def take_new(self, name: str) -> bool:
        """Copy what is not copied yet of a file or folder of the repository; returns whether anything went away
        meanwhile."""
        moved = not (self.root / name).is_dir() and self._take(name)
        for here, _, names in os.walk(self.root / name):
            above = Path(here).relative_to(self.root).as_posix()
            for each in sorted(names):
                moved |= self._take(f"{above}/{each}")
        return moved

    def _take(self, path: str) -> bool:
        """Copy one file; returns whether it is gone."""
        member = f"{HISTORY}/{path}"
        if member in self.members or _is_passing(path.rpartition("/")[2]) or why_unusable(member):
            return False
        source = self.root / path
        try:
            folder = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            self.members[member] = copy_file(folder, source.name, self.into / path, member, self.pace)
        except FileNotFoundError:
            return True
        except (NotAFile, Restless):
            return False  # nothing that Git or strongroom makes there
        finally:
            os.close(folder)
        return False


def _is_passing(name: str) -> bool:
    return name.endswith((".lock", ".tmp")) or name.startswith(("tmp_", "."))
