"""Backups that somebody asks for, by the command line or the tool: where they go and how they are closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from auth.keys import KEYS_FOLDER, SigningKey, open_key_ring
from server.version import version
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from ops.backup.archive_reader import Opener
    from ops.backup.back_up import ArchiveOrder, Installation
    from ops.settings import BackupSettings
    from server.settings import Settings
    from vaults.db.transactions import Transactions

MAX_PASSPHRASE = 4096


def describe_installation(
    control: Transactions, data: Path, config: Path, settings: Settings, niceness: int = 0
) -> Installation:
    """The installation, as backups need to know it."""
    from ops.backup.back_up import Installation

    return Installation(data, control, config, version(), settings.storage, settings.notes, niceness)


def make_order(
    settings: BackupSettings,
    data: Path,
    *,
    to: Path | None = None,
    recipients: tuple[str, ...] = (),
    passphrase: str | None = None,
    key_passphrase_file: str | None = None,
) -> ArchiveOrder:
    """What an archive is to be like: as given, else as set. Blocking. Raises ``InvalidArgument``."""
    from ops.backup.archive_writer import Seal
    from ops.backup.back_up import ArchiveOrder

    if recipients and passphrase is not None:
        raise InvalidArgument("--passphrase-file", "and --recipient exclude each other")
    key = _signing_key(data, key_passphrase_file) if settings.sign else None
    seal = Seal(recipients or (settings.recipients if passphrase is None else ()), passphrase, key)
    seal.check()
    return ArchiveOrder(to or _configured_folder(settings, data), seal, settings.bytes_per_s)


def make_opener(settings: Settings, data: Path) -> Opener:
    """What opens backups in a server, which nobody gives a key by hand: that of its drills, and for signatures the keys
    that sign here or did before. Blocking. Raises ``InvalidArgument`` for a file that cannot be read."""
    from ops.backup.archive_reader import Opener

    file = settings.backup.drill_identity_file
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines() if file else []
    except (OSError, RuntimeError, UnicodeDecodeError):
        raise InvalidArgument("backup.drill_identity_file", "cannot be read") from None
    return Opener(
        identities=tuple(line.strip() for line in lines if line.strip() and not line.startswith("#")),
        trusted=trusted_here(data, settings.auth.key_passphrase_file),
    )


def trusted_here(data: Path, key_passphrase_file: str | None) -> dict[str, Ed25519PublicKey]:
    """The keys that backups of this installation may be signed with. Blocking."""
    from ops.backup.signature import trusted_keys

    return trusted_keys(open_key_ring(data / KEYS_FOLDER, key_passphrase_file))


def read_passphrase(path: Path) -> str:
    """The first line of a file. Raises ``InvalidArgument``."""
    try:
        with path.open("rb") as file:
            first = file.readline(MAX_PASSPHRASE + 1).rstrip(b"\r\n")
        text = first.decode()
    except OSError as failure:
        raise InvalidArgument("--passphrase-file", f"{path} cannot be read: {failure.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidArgument("--passphrase-file", f"{path} holds no text") from None
    if not text or len(first) > MAX_PASSPHRASE:
        raise InvalidArgument("--passphrase-file", f"{path} must hold a line of 1 to {MAX_PASSPHRASE} bytes")
    return text


def _configured_folder(settings: BackupSettings, data: Path) -> Path:
    from ops.backup.back_up import default_target

    if settings.to is None or settings.to.startswith("s3://"):  # archives are files; scheduled backups go to buckets
        return default_target(data)
    return Path(settings.to)


def _signing_key(data: Path, passphrase_file: str | None) -> SigningKey:
    return open_key_ring(data / KEYS_FOLDER, passphrase_file).newest
