"""The passphrase that signing keys lie encrypted with, in a file of its own: it must not lie beside them."""

from __future__ import annotations

from pathlib import Path

from vaults.errors import InvalidArgument

PASSPHRASE_SETTING = "auth.key_passphrase_file"  # noqa: S105  a name
LONGEST = 1023  # what OpenSSL takes


def read_passphrase(file: str | None, named_by: str = PASSPHRASE_SETTING) -> bytes | None:
    """The file's content without the line end; None where no file is set. Raises ``InvalidArgument`` for the setting
    or option that names it. Blocking."""
    if file is None:
        return None
    try:
        with Path(file).expanduser().open("rb") as opened:
            passphrase = opened.read(LONGEST + 3).rstrip(b"\r\n")
    except OSError as failure:
        raise InvalidArgument(named_by, f"cannot be read: {failure.strerror}") from failure
    except ValueError as failure:
        raise InvalidArgument(named_by, "is no name of a file") from failure
    if not 0 < len(passphrase) <= LONGEST:
        raise InvalidArgument(named_by, f"must hold 1 to {LONGEST} bytes")
    return passphrase
