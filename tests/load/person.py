"""A person at an editor: reads a note, adds a line, saves as real editors do. Another process than any server.

``python -m tests.load.person FOLDER SECONDS SEED`` prints each line it added once the save is over.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

TYPING_S = 0.03
"""From reading to saving, at most: an editor that looks at the file before it saves does both at once."""


def in_vim(path: Path, data: bytes) -> None:
    """The old file becomes the backup, a new one is written under its name, the backup goes."""
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    _write(path, data, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    backup.unlink()


def in_code(path: Path, data: bytes) -> None:
    """VS Code: cut to nothing and written anew, in place."""
    _write(path, data, os.O_WRONLY | os.O_TRUNC | os.O_CREAT)


def in_pieces(path: Path, data: bytes) -> None:
    """In place, in two writes with a breath between them."""
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, data[: len(data) // 2])
        time.sleep(0.002)
        os.write(descriptor, data[len(data) // 2 :])
    finally:
        os.close(descriptor)


def in_obsidian(path: Path, data: bytes) -> None:
    """Another file takes its name, as sync programs and many editors save."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _write(temporary, data, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    temporary.replace(path)


def in_emacs(path: Path, data: bytes) -> None:
    """A lock that is a dangling link, an auto-save file, a backup by copying, and the file in place."""
    lock, auto = path.with_name(f".#{path.name}"), path.with_name(f"#{path.name}#")
    lock.symlink_to("person@desk.1234:5678")
    try:
        _write(auto, data, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        with suppress(FileNotFoundError):
            path.with_name(path.name + "~").write_bytes(path.read_bytes())
        _write(path, data, os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
        auto.unlink()
    finally:
        lock.unlink()


def _write(path: Path, data: bytes, flags: int) -> None:
    descriptor = os.open(path, flags, 0o644)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


EDITORS: list[Callable[[Path, bytes], None]] = [in_vim, in_code, in_pieces, in_obsidian, in_emacs]


def edited(data: bytes, line: str, order: random.Random) -> bytes:
    """With one line more, somewhere below the frontmatter."""
    lines = data.split(b"\n")
    above = lines.index(b"---", 1) + 1 if data.startswith(b"---\n") and b"---" in lines[1:] else 0
    lines.insert(order.randint(above, len(lines)), line.encode())
    return b"\n".join(lines)


def main(folder: Path, seconds: float, seed: int) -> None:
    order, until, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        notes = [
            path for path in folder.rglob("*.md") if not path.name.startswith(".") and ".conflict-" not in path.name
        ]
        path, save = order.choice(notes), order.choice(EDITORS)
        with suppress(FileNotFoundError):  # moved away since: a person opens it anew
            data = path.read_bytes()
            line = f"person{seed}x{count}"
            time.sleep(order.uniform(0, TYPING_S))
            save(path, edited(data, line, order))
            print(line, flush=True)
            count += 1
        time.sleep(order.uniform(0, 0.1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
