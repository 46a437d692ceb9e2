"""The store that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ops.backup.folder_store import FolderStore
from ops.backup.store import BackupStore
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from ops.settings import BackupSettings


def place_of(settings: BackupSettings) -> str:
    """What ``backup.to`` is called in the log of runs: the same for every spelling."""
    to = settings.to or ""
    if to.startswith("/"):
        return str(Path(to))
    address = urlsplit(to)
    return "/".join(filter(None, ("s3:/", address.netloc, address.path.strip("/"))))


def open_store(settings: BackupSettings) -> BackupStore:
    """Where ``backup.to`` is; nothing is asked of it yet. Raises ``InvalidArgument`` for a setting that is missing or a
    key that cannot be read, ``VaultUnavailable`` where a library is not installed."""
    to = settings.to
    if to is None:
        raise InvalidArgument("backup.to", "is not set", hint="set a folder, or s3://bucket/prefix")
    if to.startswith("/"):
        return FolderStore(Path(to))
    from ops.backup.s3_store import BucketAddress, S3Store

    address = urlsplit(to)
    return S3Store(
        BucketAddress(
            bucket=address.netloc,
            prefix=address.path.strip("/"),
            endpoint=settings.endpoint or f"https://s3.{settings.region}.amazonaws.com",
            region=settings.region,
            access_key=settings.access_key or "",
            secret_key=_read_secret(settings),
        )
    )


def _read_secret(settings: BackupSettings) -> str:
    name, secret = "backup.secret_key", settings.secret_key or ""
    if settings.secret_key_file:
        name = "backup.secret_key_file"
        try:
            secret = Path(settings.secret_key_file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, RuntimeError, UnicodeDecodeError):
            raise InvalidArgument(name, "cannot be read") from None
    if not (secret and secret.isascii() and secret.isprintable()):
        raise InvalidArgument(name, "holds no key: it must be one line of printable ASCII")
    return secret
