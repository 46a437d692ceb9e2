"""Members of a folder, of a zip or of a single file, read alike."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.files.folders import VaultRoot
from vaults.sources.archive_member import ArchiveMember, to_moment
from vaults.sources.folder_members import walk_folder
from vaults.sources.zip_members import open_zip, walk_zip

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class Archive:
    """An opened archive. ``walk`` lists it anew each time, in the order of names; hidden files, and folders that only
    programs write to, are not in it."""

    walk: Callable[[], Iterator[ArchiveMember]]


@contextmanager
def open_archive(path: Path, *, zips: re.Pattern[str] | None = None) -> Iterator[Archive]:
    """The members of a folder or a zip; of any other file itself, as the only one. In a folder, zips whose names match
    ``zips`` count as folders. Raises ``InvalidArgument``."""
    with ExitStack() as held:
        try:
            archive = _open(path, zips, held)
        except OSError as failure:
            raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure
        yield archive


def has_members(path: Path, *patterns: str) -> bool:
    """Whether a zip has names that match each of the patterns: for finding exports among other downloads."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
    return all(any(re.search(pattern, name) for name in names) for pattern in patterns)


def _open(path: Path, zips: re.Pattern[str] | None, held: ExitStack) -> Archive:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        return _open_folder(path, zips, held)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidArgument("PATH", f"{path} is neither a file nor a folder")
    with path.open("rb") as file:
        start = file.read(4)
    if start in _ZIP_STARTS:
        packed = held.enter_context(open_zip(path))
        return Archive(lambda: walk_zip(packed))
    only = ArchiveMember(path.name, status.st_size, to_moment(status.st_mtime), lambda: path.open("rb"))
    return Archive(lambda: iter((only,)))


def _open_folder(path: Path, zips: re.Pattern[str] | None, held: ExitStack) -> Archive:
    root = VaultRoot(path)
    found = sorted(each for each in path.iterdir() if zips and zips.search(each.name) and not each.is_symlink())
    packed = {each.name: held.enter_context(open_zip(each)) for each in found}

    def walk() -> Iterator[ArchiveMember]:
        for member in walk_folder(root):
            inside = packed.get(member.path)
            yield from walk_zip(inside, f"{member.path}/") if inside else (member,)

    return Archive(walk)
