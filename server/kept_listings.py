"""What listings say, kept in the data folder from one start to the next: making it takes importing every tool, and the
pydantic models of all of them.

A file is believed only if its digest fits what it says, its name and the stamp of the code that would say it now. One
that is older, torn or changed is made anew, as if it were not there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pydantic

from server.version import version
from vaults.errors import StrongroomError
from vaults.files.atomic import write_atomic

PACKAGES = ("auth", "ops", "server", "vaults")
_ROOT = Path(__file__).resolve().parents[1]


class KeptListings:
    """Values by name, each a JSON file of ``folder``; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, stamp: str = "") -> None:
        self._folder = folder
        self._stamp = stamp

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """What is kept under the name; else what ``make`` returns, which must be JSON, and which is kept from then
        on."""
        if self._folder is None:
            return make()
        file = self._folder / f"{_digest(name.encode())}.json"
        with suppress(OSError):
            digest, _, text = file.read_bytes().partition(b"\n")
            if digest.decode("ascii", "replace") == self._sign(name, text):
                return json.loads(text)
        value = make()
        text = json.dumps(value, ensure_ascii=False).encode()
        with suppress(
            OSError, StrongroomError
        ):  # a folder that cannot be written costs the next start its time, and nothing else
            for folder in (self._folder.parent, self._folder):  # not the one above: whose it is, others decide
                folder.mkdir(mode=0o700, exist_ok=True)
            write_atomic(file, b"%s\n%s" % (self._sign(name, text).encode(), text))
        return value

    def _sign(self, name: str, text: bytes) -> str:
        return _digest(self._stamp.encode(), name.encode(), text)


KEEP_NOTHING = KeptListings(None)


def keep_in(data: Path, *about: str) -> KeptListings:
    """The listings kept in a data folder, of this very code and of ``about``: whatever else they depend on."""
    running = (version(), sys.version, pydantic.VERSION)
    files = (f"{path} {at.st_size} {at.st_mtime_ns}" for path, at in _sources())
    return KeptListings(data / "cache" / "listings", _digest(*(each.encode() for each in (*running, *about, *files))))


def _sources() -> Iterator[tuple[str, os.stat_result]]:
    """Every file the listings could come from; told by size and time, as the interpreter tells that byte code is old. A
    thousand take 10 ms: less than reading them, and a checkout changes without its version."""
    folders = [str(_ROOT / package) for package in PACKAGES]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if not entry.is_dir():
                    yield entry.path, entry.stat()
                elif entry.name != "__pycache__":
                    folders.append(entry.path)


def _digest(*parts: bytes) -> str:
    hashed = blake2b(digest_size=20)
    for part in parts:
        hashed.update(b"%d:%s" % (len(part), part))
    return hashed.hexdigest()
