"""A client's configuration file: read whole, and replaced only if nobody else has changed it meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from vaults.errors import Conflict, TooLarge
from vaults.files.atomic import write_atomic
from vaults.files.file_stamps import FileStamp, stamp_of

BYTES_MAX = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as it was read. ``target`` is the file itself where ``path`` is a link; ``stamp`` None: there is none.
    ``owner``: ids of user and group; None where there is no file."""

    path: Path
    target: Path
    data: bytes
    stamp: FileStamp | None
    mode: int
    owner: tuple[int, int] | None

    @property
    def text(self) -> str:
        """The text, without a byte order mark. Raises ``Conflict`` if it is not UTF-8."""
        try:
            return self.data.removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError:
            raise Conflict(f"{self.path} is not UTF-8, and was left as it is") from None

    def encode(self, text: str) -> bytes:
        """A text as bytes of this file: with a byte order mark if it has one."""
        return (_BOM if self.data.startswith(_BOM) else b"") + text.encode("utf-8")


def read_config(path: Path) -> ConfigFile:
    """Read a configuration file, which may be absent. Links are followed. Raises ``Conflict`` where something else than
    a file stands there, ``TooLarge``; other ``OSError`` passes through."""
    try:
        target = path.resolve()
        status = target.stat()
    except FileNotFoundError:
        return ConfigFile(path, target, b"", None, 0o600, None)
    except (RuntimeError, OSError) as failure:  # RuntimeError: ELOOP before Python 3.13
        if isinstance(failure, OSError) and failure.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise Conflict(f"{path} leads nowhere") from None
    if not stat.S_ISREG(status.st_mode):
        raise Conflict(f"{path} is not a file")
    if status.st_size > BYTES_MAX:
        raise TooLarge(f"{path} is larger than {BYTES_MAX // 1024 // 1024} MB")
    owner = (status.st_uid, status.st_gid)
    return ConfigFile(path, target, target.read_bytes(), stamp_of(status), stat.S_IMODE(status.st_mode), owner)


def replace_config(file: ConfigFile, data: bytes) -> None:
    """Put ``data`` in place of what was read, with the same permissions and owner; a new file is for its owner alone. A
    reader sees the old bytes or the new ones. Raises ``Conflict`` if the file has changed since it was read, or belongs
    to somebody who would lose it."""

    def last_look(descriptor: int) -> None:
        _give_to_owner(file, descriptor)
        _check_unchanged(file)

    file.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(file.target, data, file.mode, last_look)


def keep_copy(file: ConfigFile, copy: Path) -> None:
    """Keep what was read in another file, for the same owner alone."""
    write_atomic(copy, file.data, before_replace=lambda descriptor: _give_to_owner(file, descriptor))


def remove_config(file: ConfigFile) -> None:
    """Remove what was read. Raises ``Conflict`` if the file has changed since."""
    _check_unchanged(file)
    file.target.unlink()


def _give_to_owner(file: ConfigFile, descriptor: int) -> None:
    """A file that replaces another belongs to whoever wrote it: root takes a user's file from the user's client."""
    status = os.fstat(descriptor)
    if file.owner in (None, (status.st_uid, status.st_gid)):
        return
    user, group = file.owner
    try:
        os.fchown(descriptor, user, group)
    except PermissionError:
        if status.st_uid != user:
            raise Conflict(f"{file.path} belongs to another user, and was left as it is") from None


def _check_unchanged(file: ConfigFile) -> None:
    try:
        now = stamp_of(file.target.stat())
    except FileNotFoundError:
        now = None
    same = now is file.stamp if now is None or file.stamp is None else now.same(file.stamp)
    if not same:
        raise Conflict(
            f"{file.path} was changed by another program meanwhile, and was left as it is",
            hint="close the client and try again",
        )
