"""The licence file of an installation, followed while the server runs."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from auth.licence import Licence, LicenceVerdict, expired_verdict
from auth.settings import LimitSettings

NAME = "licence.jwt"
FILE_LIMIT = 64 * 1024
"""Bytes above which a file is no licence and no key."""

_Seen: TypeAlias = tuple[int, int, int] | None

ABSENT = LicenceVerdict("absent", "there is no licence")
NO_KEY = LicenceVerdict("no_key", "a licence is there, but limits.licence_key_file is not set")
BAD_KEY = LicenceVerdict(
    "bad_key", "limits.licence_key_file holds no public key of Ed25519 or RSA of 2048 bits and more"
)
UNREADABLE = LicenceVerdict("unreadable", "the licence cannot be read")


class LicenceFile:
    """``refresh`` follows licence and key on disk, on a thread; look-ups never touch the disk. A licence that does not
    hold stops nothing: plans apply as without it. ``now`` gives seconds since the epoch."""

    def __init__(
        self, data: Path, limits: LimitSettings, instance: str, *, now: Callable[[], float] = time.time
    ) -> None:
        self._file = data / NAME if limits.licence_file is None else data / limits.licence_file
        self._key = None if limits.licence_key_file is None else data / limits.licence_key_file
        self._instance = instance
        self._now = now
        self._seen: tuple[_Seen, _Seen] | None = None
        self._verdict = ABSENT

    @property
    def verdict(self) -> LicenceVerdict:
        """Whether the licence holds now."""
        licence = self._verdict.licence
        if licence is not None and self._now() >= licence.expires_at:
            return expired_verdict(licence.expires_at)
        return self._verdict

    def current(self) -> Licence | None:
        """The licence, if it holds now."""
        return self.verdict.licence

    def refresh(self) -> None:
        """Look at the files again; two system calls when nothing changed. Blocking; never raises."""
        seen = _look(self._file), None if self._key is None else _look(self._key)
        # One that does not hold yet may do so later.
        if seen != self._seen or self._verdict.state == "early":
            self._verdict = self._judged()
            self._seen = seen

    def _judged(self) -> LicenceVerdict:
        if _look(self._file) is None:
            return ABSENT
        if self._key is None:
            return NO_KEY
        # Imported only if there is a licence: the code that checks signatures takes a while to load.
        from auth.licence_check import check_licence, public_key

        pem = _read(self._key)
        key = None if pem is None else public_key(pem)
        if key is None:
            return BAD_KEY
        raw = _read(self._file)
        if raw is None:
            return UNREADABLE
        return check_licence(raw.decode("ascii", "replace").strip(), key, self._instance, self._now())


def _look(path: Path) -> _Seen:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _read(path: Path) -> bytes | None:
    """The content; None if this is no plain file, unreadable or too large. A pipe must not hold us up."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            raw = file.read(FILE_LIMIT + 1)
    except (OSError, ValueError):
        return None
    return raw if len(raw) <= FILE_LIMIT else None
