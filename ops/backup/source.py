"""Where a backup can be read from: an archive, or a snapshot in a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ops.backup.manifest import BackupManifest
from ops.backup.pace import Pace


def everything(path: str) -> bool:  # noqa: ARG001  the shape of ``wanted``
    """Wants every member."""
    return True


class BackupSource(Protocol):
    """A backup. Everything blocks: call it on a thread.

    Both methods raise ``InvalidArgument`` (field ``archive``) for what is damaged, forged or cut short,
    ``VaultQuarantined`` (reason ``future``) for what a newer strongroom wrote, ``NotFound``, ``VaultUnavailable``.
    """

    def read_manifest(self) -> BackupManifest:
        """What it says of itself. Proves nothing about the members."""

    def extract(
        self, into: Path, wanted: Callable[[str], bool] = everything, pace: Pace | None = None
    ) -> BackupManifest:
        """Write the wanted members below the folder ``into``, as regular files of mode 0600, and compare each byte with
        the manifest. Members that are not wanted are compared as well where that costs no extra transfer. On a failure
        what was written so far stays: ``into`` is the caller's scratch folder. Also raises ``StorageFull``, and
        ``Cancelled`` as soon as ``pace`` says so."""
