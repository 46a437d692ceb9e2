"""Whether the keys open, and lie as the settings say. Blocking; nothing is changed."""

from __future__ import annotations

import stat
from pathlib import Path

from auth.encrypted_keys import from_pem, is_encrypted
from auth.kept_secrets import list_secrets, read_secret
from auth.key_passphrase import read_passphrase
from auth.keys import KEYS_FOLDER, list_key_files
from ops.doctor.check import DoctorCheck
from vaults.errors import StrongroomError

NAME = "keys"


def check_keys(data: Path, passphrase_file: str | None) -> DoctorCheck:
    """Whether every key and secret opens, is encrypted where it should be, and the passphrase lies apart from it."""
    folder = data / KEYS_FOLDER
    if not folder.is_dir():
        return DoctorCheck(NAME, "notice", "there are no keys yet", "the first start makes one")
    try:
        passphrase = read_passphrase(passphrase_file)
        clear = [name for name in _open_all(folder, passphrase) if passphrase is not None]
    except StrongroomError as failure:
        todo = failure.hint or "let it name the file with the passphrase they were encrypted with"
        return DoctorCheck(NAME, "error", failure.message.removeprefix("Validation error: "), todo)
    except OSError as failure:
        return DoctorCheck(NAME, "error", f"{folder} cannot be read: {failure.strerror}", "check its owner and mode")
    if passphrase_file is None:
        return DoctorCheck(NAME, "ok", "the keys open; they lie in the clear, for their owner alone")
    return _check_passphrase(Path(passphrase_file).expanduser(), data, clear)


def _check_passphrase(file: Path, data: Path, clear: list[str]) -> DoctorCheck:
    if data.resolve() in file.resolve().parents:
        todo = "move it to where backups of the data folder do not go, and set auth.key_passphrase_file"
        return DoctorCheck(NAME, "warning", f"the passphrase of the keys lies beside them, in {file}", todo)
    if clear:
        todo = "run: strongroom key passphrase"
        return DoctorCheck(NAME, "notice", f"{len(clear):,} keys lie in the clear", todo, clear)
    if file.stat().st_mode & stat.S_IROTH:
        todo = f"chmod 600 {file}, unless this is a container of its own"
        return DoctorCheck(NAME, "notice", "the passphrase of the keys can be read by every user here", todo)
    return DoctorCheck(NAME, "ok", "the keys open, and lie encrypted")


def _open_all(folder: Path, passphrase: bytes | None) -> list[str]:
    """The names of those that are not encrypted. Raises what opening raises."""
    clear, known = [], [] if passphrase is None else [passphrase]
    readers = {**dict.fromkeys(list_key_files(folder), from_pem), **dict.fromkeys(list_secrets(folder), read_secret)}
    for name, read in readers.items():
        data = (folder / name).read_bytes()
        read(name, data, known)
        if not is_encrypted(data):
            clear.append(name)
    return clear
