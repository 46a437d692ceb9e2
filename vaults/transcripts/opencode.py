"""OpenCode: files for sessions, messages and parts below ``~/.local/share/opencode/storage``, or a database beside it.

What stands in both is read from the database: the files were copied into it and stayed behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.transcripts import opencode_database
from vaults.transcripts.file_walk import folders_in, scan_folder, walk_files
from vaults.transcripts.opencode_messages import PROGRAM, take_message, take_session
from vaults.transcripts.rewritten import load_json, load_json_or_none, read_rewritten
from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_MAX_PART = 32 << 20


def _find(home: Path) -> Iterator[Path]:
    base = home / ".local" / "share" / "opencode"
    databases = [path for path in walk_files(base, ".db", 0) if path.name.startswith("opencode")]
    yield from databases
    if databases:
        return
    yield from walk_files(base / "storage" / "session", ".json", 1)
    for project in folders_in(base / "project"):  # as the first versions had it
        yield from walk_files(project / "storage" / "session" / "info", ".json", 0)


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    if path.suffix == ".db":
        return opencode_database.read(path, place, max_bytes)
    return read_rewritten(path, place, _load)


def _beside(path: Path) -> Iterator[Path]:
    """The journal of a database; the messages of a session, and the parts of the last one: a message is written once
    more when all of its parts are."""
    if path.suffix == ".db":
        yield path.with_name(f"{path.name}-wal")
        return
    messages, parts = _folders_of(path)
    yield messages
    names = [entry for entry in scan_folder(messages) if entry.name.endswith(".json")]
    yield from (Path(entry.path) for entry in names)
    if names:
        last = parts(names[-1].name.removesuffix(".json"))
        yield last
        yield from (Path(entry.path) for entry in scan_folder(last))


def _folders_of(path: Path) -> tuple[Path, Any]:
    """Where the messages of a session stand, and where the parts of a message do."""
    session, storage = path.stem, path.parents[2]
    if path.parent.name == "info":
        return path.parents[1] / "message" / session, lambda name: path.parents[1] / "part" / session / name
    return storage / "message" / session, lambda name: storage / "part" / name


def _load(path: Path) -> Conversation | None:
    session = load_json(path)
    if not isinstance(session, dict) or not isinstance(session.get("id"), str):
        raise InvalidArgument("PATH", f"{path} is no session of OpenCode")
    messages, parts = _folders_of(path)
    log = TurnLog()
    take_session(session, log)
    for name, message in _objects_in(messages):
        take_message(message, [part for _, part in _objects_in(parts(name))], log)
    return log.to_conversation(session["id"], PROGRAM, whole=True)


def _objects_in(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects in a folder, each with its file's name. Names rise with time."""
    for entry in scan_folder(folder):
        if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
            value = load_json_or_none(Path(entry.path), _MAX_PART)
            if isinstance(value, dict):
                yield entry.name.removesuffix(".json"), value


READER = TranscriptReader(PROGRAM, "OpenCode", _find, _read, _beside)
