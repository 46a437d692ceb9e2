"""Commit objects: written with the changed paths in a header of strongroom's own, read from any repository."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.history.errors import HistoryUnavailable

# git ignores headers it does not know. With the paths at hand, a log needs no trees, which are large in flat vaults.
_PATHS = b"strongroom-paths "
_MOST_PATHS = 1000
_LONGEST_MESSAGE = 64 * 1024
_LAST_SECOND = 253_402_300_799  # of the year 9999, the last one that dates can have

_UNFIT_IN_NAME = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]+")
_UNFIT_IN_EMAIL = re.compile(r"[^A-Za-z0-9._+-]+")
_SIGNATURE = re.compile(rb"(.*?) ?<[^>]*> (-?\d{1,12})(?: [+-]\d+)?$")


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The content of a commit."""

    tree: str
    parents: tuple[str, ...]
    author: str
    at: int  # seconds since the epoch
    message: str
    paths: tuple[str, ...] = ()  # changed paths, from the header
    all_paths: bool = False  # whether ``paths`` is complete


def encode(record: CommitRecord) -> bytes:
    """The commit object's bytes."""
    signature = _signature(record.author, record.at)
    header = {"paths": record.paths[:_MOST_PATHS], "more": max(0, len(record.paths) - _MOST_PATHS)}
    lines = [
        b"tree " + record.tree.encode(),
        *(b"parent " + parent.encode() for parent in record.parents),
        b"author " + signature,
        b"committer " + signature,
        _PATHS + json.dumps(header).encode("ascii"),
    ]
    message = record.message.replace("\0", "").strip()[:_LONGEST_MESSAGE]
    return b"\n".join(lines) + b"\n\n" + message.encode("utf-8", "replace") + b"\n"


def decode(data: bytes) -> CommitRecord:
    """Read any commit. Raises HistoryUnavailable when it is not one."""
    head, _, message = data.partition(b"\n\n")
    fields = [line.partition(b" ") for line in head.split(b"\n")]
    trees = _ids(fields, b"tree")
    author = next((_SIGNATURE.match(value) for key, _, value in fields if key == b"author"), None)
    if len(trees) != 1 or author is None:
        raise HistoryUnavailable("an object of the history is damaged")
    listed = next((line for line in head.split(b"\n") if line.startswith(_PATHS)), None)
    paths, complete = _parse_paths(listed) if listed else ((), False)
    return CommitRecord(
        tree=trees[0],
        parents=tuple(_ids(fields, b"parent")),
        author=author[1].decode("utf-8", "replace"),
        at=min(max(0, int(author[2])), _LAST_SECOND),
        message=message.decode("utf-8", "replace").strip("\n"),
        paths=paths,
        all_paths=complete,
    )


def _ids(fields: Sequence[tuple[bytes, bytes, bytes]], name: bytes) -> list[str]:
    found = [value.decode("ascii", "replace") for key, _, value in fields if key == name]
    if not all(re.fullmatch(r"[0-9a-f]{40}", oid) for oid in found):
        raise HistoryUnavailable("an object of the history is damaged")
    return found


def _parse_paths(line: bytes) -> tuple[tuple[str, ...], bool]:
    try:
        header = json.loads(line.removeprefix(_PATHS))
        paths = tuple(str(path).encode("utf-8", "replace").decode() for path in header["paths"])
        return paths, header["more"] == 0
    except (ValueError, LookupError, TypeError, RecursionError):
        return (), False


def _signature(author: str, at: int) -> bytes:
    """``Name <principal@strongroom.invalid> seconds +0000``; nothing in the name can start another field."""
    name = " ".join(_UNFIT_IN_NAME.sub(" ", author).split()).strip(" .,:;\"'\\")[:128].strip() or "unknown"
    local = _UNFIT_IN_EMAIL.sub("-", author).strip(".-")[:64] or "unknown"
    return f"{name} <{local}@strongroom.invalid> {min(max(0, at), _LAST_SECOND)} +0000".encode()
