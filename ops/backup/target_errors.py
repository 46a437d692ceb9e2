"""What the folder or disk that archives are written to says, as our errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from vaults.errors import ReadOnly, StorageFull, VaultUnavailable


@contextmanager
def translate_target_errors() -> Iterator[None]:
    """Raise ``StorageFull``, ``ReadOnly`` or ``VaultUnavailable`` (reason ``target``) for what the system says."""
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StorageFull("there is no room for the backup; older ones stay", hint="free space") from failure
        if failure.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise ReadOnly(
                "the backup cannot be written there", hint="the operator must check mount, owner and permissions"
            ) from failure
        raise VaultUnavailable(
            "the place for backups is gone or does not answer", hint="is it mounted?", reason="target"
        ) from failure
