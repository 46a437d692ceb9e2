"""The rows of files: what was read of each file of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Row, Writer
from vaults.files.file_stamps import FileStamp

_COLUMNS = ("path", "stamp", "hash", "size", "document", "left_out", "problem")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM collection_files WHERE collection = :seq"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was read. ``stamp``: empty where it may have changed since unseen; ``hash``: of its bytes, None if
    it was not read; ``document``: what came of it; ``left_out``: why it is none that is read, as its bytes show;
    ``problem``: why nothing came of it, or not all."""

    path: str
    stamp: str
    hash: str | None
    size: int
    document: int | None = None
    left_out: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FileTotals:
    """What the rows of a collection add up to."""

    files: int
    documents: int
    problems: int
    bytes: int


def to_stamp(stamp: FileStamp) -> str:
    """A version of a file as rows keep it. A disk's number may change with a remount, so it does not count."""
    return f"{stamp.size}:{stamp.mtime_ns}:{stamp.inode}"


def find_known(tx: Reader, seq: int, below: str = "") -> dict[str, KnownFile]:
    """The files of a collection by path: all, or one and what lies below it."""
    if not below:
        return _by_path(tx.all(_SELECT, {"seq": seq}))
    # "0" follows "/": together the range is what begins with the folder's path and a slash.
    where = " AND (path = :path OR (path > :first AND path < :beyond))"
    params = {"seq": seq, "path": below, "first": f"{below}/", "beyond": f"{below}0"}
    return _by_path(tx.all(_SELECT + where, params))


def find_file(tx: Reader, seq: int, path: str) -> KnownFile | None:
    """One file."""
    row = tx.one(f"{_SELECT} AND path = :path", {"seq": seq, "path": path})
    return None if row is None else KnownFile(*row)


def page_files(tx: Reader, seq: int, limit: int) -> list[KnownFile]:
    """Some files of a collection."""
    return [KnownFile(*row) for row in tx.all(f"{_SELECT} LIMIT :limit", {"seq": seq, "limit": limit})]


def list_problems(tx: Reader, seq: int, limit: int) -> list[KnownFile]:
    """Files of which nothing or not all came, by path."""
    rows = tx.all(f"{_SELECT} AND problem IS NOT NULL ORDER BY path LIMIT :limit", {"seq": seq, "limit": limit})
    return [KnownFile(*row) for row in rows]


def write_files(tx: Writer, seq: int, files: Iterable[KnownFile]) -> None:
    """Record files as they were read."""
    sets = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
    tx.many(
        f"INSERT INTO collection_files (collection, {', '.join(_COLUMNS)})"
        f" VALUES (:seq, {', '.join(f':{name}' for name in _COLUMNS)})"
        f" ON CONFLICT (collection, path) DO UPDATE SET {sets}",
        [{"seq": seq, **{name: getattr(each, name) for name in _COLUMNS}} for each in files],
    )


def forget_files(tx: Writer, seq: int, paths: Sequence[str]) -> None:
    """Delete the rows of files."""
    tx.many(
        "DELETE FROM collection_files WHERE collection = :seq AND path = :path",
        [{"seq": seq, "path": path} for path in paths],
    )


def forget_reading(tx: Writer, seq: int) -> None:
    """Have every file of a collection read again, whether or not it changed."""
    tx.run("UPDATE collection_files SET stamp = '', hash = NULL WHERE collection = :seq", {"seq": seq})


def count_files(tx: Reader, seq: int) -> FileTotals:
    """Counts and sizes. ``bytes``: of files of which a document came."""
    row = tx.one(
        "SELECT COUNT(*), COUNT(document), COUNT(problem), COALESCE(SUM(size) FILTER (WHERE document IS NOT NULL), 0)"
        " FROM collection_files WHERE collection = :seq",
        {"seq": seq},
    )
    return FileTotals(*map(int, row or (0, 0, 0, 0)))


def count_left_out(tx: Reader, seq: int) -> dict[str, int]:
    """Files left out for what their bytes show, by reason."""
    rows = tx.all(
        "SELECT left_out, COUNT(*) FROM collection_files WHERE collection = :seq AND left_out IS NOT NULL"
        " GROUP BY left_out",
        {"seq": seq},
    )
    return {reason: int(count) for reason, count in rows}


def _by_path(rows: Sequence[Row]) -> dict[str, KnownFile]:
    return {row[0]: KnownFile(*row) for row in rows}
