"""Options of commands that read backups: what opens them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from server.settings import LoadedSettings

PassphraseFile = Annotated[
    Path | None, typer.Option(help="file whose first line is the passphrase of an encrypted backup")
]
IdentityFile = Annotated[Path | None, typer.Option(help="file of age with the secret keys of an encrypted backup")]


def make_opener(loaded: LoadedSettings, passphrase_file: Path | None, identity_file: Path | None) -> Opener:
    """What opens backups here. Signatures are checked with the keys of this installation, where it has any. Raises
    ``InvalidArgument`` for a file that cannot be read."""
    from auth.keys import KEYS_FOLDER
    from ops.backup.archive_reader import Opener
    from server import backups

    lines = (line.strip() for line in _read("--identity-file", identity_file).splitlines())
    keys, passphrase = loaded.data / KEYS_FOLDER, loaded.settings.auth.key_passphrase_file
    return Opener(
        identities=tuple(line for line in lines if line and not line.startswith("#")),
        passphrase=None if passphrase_file is None else backups.read_passphrase(passphrase_file.expanduser()),
        trusted=backups.trusted_here(loaded.data, passphrase) if keys.is_dir() else {},
    )


def _read(option: str, file: Path | None) -> str:
    from vaults.errors import InvalidArgument

    if file is None:
        return ""
    try:
        return file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(option, f"{file} cannot be read") from None
