"""Translates failures of file operations into the errors callers know.

Messages name paths inside the vault, as the caller gave them, and nothing else.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from vaults.errors import (
    AlreadyExists,
    Conflict,
    InvalidArgument,
    NotFound,
    Overloaded,
    ReadOnly,
    StorageFull,
    StrongroomError,
    VaultUnavailable,
)

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM}
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_LOST = {errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTDOWN}
_UNNAMEABLE = {errno.EINVAL, errno.EILSEQ}


def disk_failure(failure: OSError) -> StrongroomError | None:
    """The error for a disk that is full or read-only; None for any other failure."""
    if failure.errno in _FULL:
        return StorageFull("the disk is full; nothing was written", hint="free space and try again")
    if failure.errno == errno.EROFS:
        return ReadOnly("the vault's files cannot be written", hint="the operator must check the mount")
    return None


@contextmanager
def translate_os_errors(path: str) -> Iterator[None]:
    """Raise every expected ``OSError`` inside as a typed error with the vault-relative ``path``; others pass."""
    try:
        yield
    except OSError as failure:
        error = disk_failure(failure) or _path_failure(failure, path)
        if error is None:
            raise
        raise error from failure


@contextmanager
def translate_machine_errors() -> Iterator[None]:
    """Raise an ``OSError`` inside as a typed error where the disk or the machine failed, whatever the path; others
    pass."""
    try:
        yield
    except OSError as failure:
        error = disk_failure(failure) or machine_failure(failure)
        if error is None:
            raise
        raise error from failure


def _path_failure(failure: OSError, path: str) -> StrongroomError | None:
    code = failure.errno
    if code in (errno.ENOENT, errno.ENOTDIR):
        return not_found_error(path)
    if code in _REFUSED:
        return ReadOnly(
            f"the server may not open or change '{path}'", hint="the operator must check its permissions", path=path
        )
    if code == errno.ENAMETOOLONG:
        return InvalidArgument("path", "has a name longer than the file system allows")
    if code == errno.ELOOP:
        return InvalidArgument("path", f"leads through a symbolic link: '{path}'")
    if code in _UNNAMEABLE:
        return InvalidArgument("path", "has a name that this file system does not accept")
    return machine_failure(failure)


def machine_failure(failure: OSError) -> StrongroomError | None:
    """The error for a failure of the machine rather than of one path; None for any other."""
    if failure.errno in _EXHAUSTED:
        return Overloaded("the server has too many files open, or too little memory")
    if failure.errno in _LOST:
        return VaultUnavailable("the vault's disk does not answer", hint="the operator must check it")
    return None


def not_found_error(path: str) -> NotFound:
    return NotFound(f"there is no file '{path}'", path=path)


def not_a_file_error(path: str, mode: int) -> InvalidArgument:
    """The error for anything at ``path`` but a regular file, which is never read or written."""
    if stat.S_ISLNK(mode):
        return InvalidArgument("path", f"is a symbolic link, which is never followed: '{path}'")
    if stat.S_ISDIR(mode):
        return InvalidArgument("path", f"is a folder: '{path}'")
    return InvalidArgument("path", f"is not a regular file: '{path}'")


def changed_error(path: str, kept: str | None = None) -> Conflict:
    """``path`` is not the expected version any more; ``kept`` is where a further version was put."""
    if kept:
        return Conflict(
            f"'{path}' was changed by another program, twice at once; one version stands there, the other in '{kept}'",
            hint="read both and try again",
            path=path,
            kept=kept,
        )
    return Conflict(f"'{path}' has changed since it was read", hint="read it again and repeat the change", path=path)


def gone_error(path: str) -> Conflict:
    return Conflict(f"'{path}' was removed or moved since it was read", hint="look where it went", path=path)


def occupied_error(path: str) -> AlreadyExists:
    return AlreadyExists(f"'{path}' exists already", hint="edit it, or choose another name", path=path)


def blocked_error(path: str, existing: str) -> Conflict:
    return Conflict(
        f"'{path}' cannot be made: '{existing}' is a file or a link, not a folder",
        hint="choose another folder",
        path=path,
        existing=existing,
    )


def spelling_clash_error(path: str, existing: str) -> Conflict:
    """Another spelling of the same name, in case or Unicode form, is there already."""
    rest = path.split("/")[existing.count("/") + 1 :]  # not by length: spellings of one name differ in it
    return Conflict(
        f"'{path}' cannot be made: '{existing}' exists, and some systems take the two names for one",
        hint=f"use the existing spelling: '{'/'.join([existing, *rest])}'",
        path=path,
        existing=existing,
    )
