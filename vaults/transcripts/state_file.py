"""Small private databases in which a harvest keeps what it has to know."""

from __future__ import annotations

from pathlib import Path

from vaults.db.engine import sqlite
from vaults.files.permissions import make_private_file


def open_state(path: Path, schema: str) -> sqlite.Connection:
    """The database at ``path``, made where there is none. A damaged one is put aside: what it said is lost, and costs
    work that is done once more."""
    try:
        return _open(path, schema)
    except sqlite.OperationalError:
        raise  # somebody else's lock, or a full disk: the file is sound
    except sqlite.DatabaseError:
        path.replace(path.with_name(f"{path.name}.damaged"))
        return _open(path, schema)


def _open(path: Path, schema: str) -> sqlite.Connection:
    make_private_file(path)
    db = sqlite.connect(path, check_same_thread=False)
    try:
        db.executescript(schema)
    except BaseException:
        db.close()
        raise
    return db
