"""The passphrase that signing keys lie encrypted with, in a file of its own: it must not lie beside them."""

from __future__ import annotations

from pathlib import Path

from vaults.errors import InvalidArgument

PASSPHRASE_SETTING = "auth.key_passphrase_file"  # noqa: S105  a name
LONGEST = 1023  # what OpenSSL takes


def read_passphrase(file: str | None) -> bytes | None:
    """The file's content without the line end; None where no file is set. Raises ``InvalidArgument`` naming the
    setting. Blocking."""
    if file is None:
        return None
    try:
        passphrase = Path(file).expanduser().read_bytes().rstrip(b"\r\n")
    except OSError as failure:
        raise InvalidArgument(PASSPHRASE_SETTING, f"cannot be read: {failure.strerror}") from failure
    if not 0 < len(passphrase) <= LONGEST:
        raise InvalidArgument(PASSPHRASE_SETTING, f"must hold 1 to {LONGEST} bytes")
    return passphrase
