"""A file that grows whenever the collections of a vault change, so that the process that follows them notices at once,
and looks at no database to learn that nothing did."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_FILE = ".collections-changed"
_MOST_BYTES = 4096


NO_SIGNAL = (0, 0)
"""What is read before the first change."""


def signal_change(folder: Path) -> None:
    """Tell whoever follows the collections of the vault in ``folder``. Blocking, for a moment."""
    path = folder / _FILE
    with suppress(OSError):  # then it is noticed when the vault is next opened
        full = read_signal(folder)[0] >= _MOST_BYTES
        with path.open("wb" if full else "ab") as file:
            file.write(b".")


def read_signal(folder: Path) -> tuple[int, int]:
    """What is another after each change."""
    try:
        status = (folder / _FILE).stat()
    except OSError:
        return NO_SIGNAL
    return (status.st_size, status.st_mtime_ns)
