"""Which pieces were sent of a backup that is not done yet: one that was cut off goes on from there.

::

    <name of the store>
    <name of a piece> <SHA-256 of its stored form>
    …

A file on this machine, never synced: a line that is lost costs the sending of one piece. It is believed in nothing but
what to look for: each of these pieces is read back and compared before a backup that names it is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from vaults.files.permissions import make_private_file

_LINE = re.compile(r"([0-9a-f]{64}) ([0-9a-f]{64})\n", re.ASCII)


@dataclass(slots=True)
class SentPieces:
    """``known``: hash of the stored form by name, of an earlier backup that was cut off."""

    known: dict[str, str] = field(default_factory=dict)
    _file: TextIO | None = None

    def add(self, name: str, digest: str) -> None:
        """A piece was sent."""
        if self._file is not None:
            self._file.write(f"{name} {digest}\n")

    def forget(self) -> None:
        """The store did not keep what it took: next time everything is sent again."""
        self.known.clear()
        if self._file is not None:
            self._file.truncate(0)


@contextmanager
def remember_sent(path: Path, store: str) -> Iterator[SentPieces]:
    """What was sent to ``store`` before, and from now on. Where the block ends well the file goes: a backup names it
    all by then. ``OSError`` passes."""
    known = _read(path, store)
    make_private_file(path)
    # In whole lines: a kill leaves one line at most that says nothing.
    with path.open("a" if known else "w", encoding="utf-8", errors="surrogateescape", buffering=1) as file:
        file.write("\n" if known else f"{store}\n")
        yield SentPieces(known, file)
    path.unlink(missing_ok=True)


def _read(path: Path, store: str) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    if lines[:1] != [f"{store}\n"]:
        return {}
    return {found[1]: found[2] for line in lines[1:] if (found := _LINE.fullmatch(line))}
