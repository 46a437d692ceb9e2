"""What the disks say that a backup is put together on and written to, as our errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from vaults.errors import ReadOnly, StorageFull, VaultUnavailable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def translate_target_errors() -> Iterator[None]:
    """Raise ``StorageFull``, ``ReadOnly`` or ``VaultUnavailable`` (reason ``target``) for what the system says."""
    try:
        yield
    except OSError as failure:
        if failure.errno in _FULL:
            raise StorageFull("there is no room for the backup; older ones stay", hint="free space") from failure
        if failure.errno in _REFUSED:
            raise ReadOnly(
                "the backup cannot be written there", hint="the operator must check mount, owner and permissions"
            ) from failure
        raise VaultUnavailable(
            "the place for backups is gone or does not answer", hint="is it mounted?", reason="target"
        ) from failure


@contextmanager
def translate_scratch_errors() -> Iterator[None]:
    """The same for the disk of the data folder, where a backup is put together."""
    try:
        yield
    except OSError as failure:
        if failure.errno in _FULL:
            raise StorageFull(
                "there is no room to put a backup together", hint="free space on the data disk"
            ) from failure
        if failure.errno in _REFUSED:
            raise ReadOnly(
                "a file that is to be backed up cannot be read, or the data folder cannot be written",
                hint="the operator must check mount, owner and permissions",
            ) from failure
        raise VaultUnavailable(
            "the disk of the data folder does not answer as it should", hint="the operator must check it", reason="disk"
        ) from failure
