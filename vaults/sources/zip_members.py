"""Lists a zip as the members of an archive, within bounds. Nothing of it is unpacked to a disk."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO

from vaults import clock
from vaults.errors import InvalidArgument
from vaults.files.ignore_rules import is_left_out
from vaults.sources.archive_member import ArchiveMember, refuse

MAX_MEMBERS = 500_000
"""Max members: their list is held in memory."""

MAX_UNPACKED = 64 << 30
"""Max bytes of all members together, unpacked."""

MAX_RATIO = 200
"""How much smaller a large member may be packed: what people write stays below 20, zeros are at 1000."""

_LARGE = 1 << 20
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the ratio of the others has no bound
_CLIMBS = re.compile(r"(^|/)\.\.(/|$)|^/|^[A-Za-z]:|[\\\x00-\x1f\x7f\ud800-\udfff]")


def open_zip(path: Path) -> zipfile.ZipFile:
    """A zip. Raises ``InvalidArgument`` for what is none, or is too large."""
    try:
        packed = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is damaged or not fully downloaded"
        raise InvalidArgument("PATH", f"{path} cannot be read: {reason}") from failure
    listed = packed.infolist()
    if len(listed) > MAX_MEMBERS or sum(each.file_size for each in listed) > MAX_UNPACKED:
        packed.close()
        raise InvalidArgument("PATH", f"{path} holds more than {MAX_MEMBERS} files or {MAX_UNPACKED >> 30} GB")
    return packed


def walk_zip(packed: zipfile.ZipFile, prefix: str = "") -> Iterator[ArchiveMember]:
    """Every file in a zip but for hidden ones, in the order of names; paths begin with ``prefix``."""
    seen: set[str] = set()
    for info in sorted(packed.infolist(), key=lambda each: each.filename):
        path = f"{prefix}{info.filename}"
        if info.is_dir() or any(is_left_out(name) for name in info.filename.split("/") if name != ".."):
            continue
        if reason := "has the name of another file" if info.filename in seen else _find_reason(info):
            yield refuse(path, reason)
        else:
            yield ArchiveMember(path, info.file_size, _find_moment(info), partial(_open_member, packed, info))
        seen.add(info.filename)


def _find_reason(info: zipfile.ZipInfo) -> str | None:
    """Why a member is not read."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    reasons = (
        (_CLIMBS.search(info.filename), "has a path that leads out of the archive"),
        (kind not in (0, stat.S_IFREG), "is a symbolic link" if kind == stat.S_IFLNK else "is no regular file"),
        (info.flag_bits & _ENCRYPTED, "is encrypted"),
        (info.compress_type not in _METHODS, "is packed in a way that is not read"),
        (info.file_size > max(_LARGE, MAX_RATIO * info.compress_size), "is packed smaller than text can be"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _find_moment(info: zipfile.ZipInfo) -> str | None:
    try:
        return clock.to_text(datetime(*info.date_time))  # noqa: DTZ001  a zip does not say of which zone it is
    except ValueError:
        return None


def _open_member(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return packed.open(info)
    except (RuntimeError, NotImplementedError, ValueError) as failure:
        raise zipfile.BadZipFile(str(failure)) from failure
