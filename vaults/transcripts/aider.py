"""Aider: ``.aider.chat.history.md`` in the folder of a project, all of its chats one below the other.

Chats that are over are read once. The last one is read anew when the file has grown: whether an answer goes on, nobody
can tell before the next line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from vaults.errors import InvalidArgument
from vaults.files.ignore_rules import is_left_out
from vaults.transcripts.file_walk import scan_folder
from vaults.transcripts.grown_lines import mark_of, open_regular
from vaults.transcripts.rewritten import leave_out_seen, parse_state
from vaults.transcripts.transcript import Conversation, ReadPlace, ToolUse, TranscriptPart, TranscriptReader
from vaults.transcripts.turn_log import TurnLog

_NAME = "aider"
_FILE = ".aider.chat.history.md"
_DEPTH, _MAX_FOLDERS = 4, 5_000
"""How far below the home folder, and in how many folders, projects are looked for."""

_MAX_CHAT = 16 << 20
"""Max bytes of a chat; the rest of a longer one is passed over."""

_TITLE = "# aider chat started at "
_HEAD = re.compile(rb"^# aider chat started at ", re.MULTILINE)
_SAID, _ASKED = "> ", "#### "
_APPLIED, _RUNNING = re.compile(r"Applied edit to (.+)"), re.compile(r"Running (?:`([^`]+)`|(.+))")
_COMMITTED = re.compile(r"Commit ([0-9a-f]{7,40}) (.+)")


def _find(home: Path) -> Iterator[Path]:
    folders = [(home, 0)]
    for folder, depth in islice(folders, _MAX_FOLDERS):  # grows while it is gone through: the nearest first
        for entry in scan_folder(folder):
            if entry.name == _FILE and entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            elif depth < _DEPTH and not is_left_out(entry.name) and entry.is_dir(follow_symlinks=False):
                folders.append((Path(entry.path), depth + 1))


def _read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        state = parse_state(place.state)
        known = place.offset <= found.st_size and state.get("inode") == found.st_ino
        if not known or mark_of(file, place.offset) != place.mark:
            place, state = ReadPlace(), {}
        chats, end = _read_chats(file, place.offset, max_bytes)
        more = end < found.st_size
        if place.offset == 0 and end and not more and not any(_HEAD.match(data) for _, data in chats):
            raise InvalidArgument("PATH", f"{path} holds no chats of Aider")
        conversations, last = _to_conversations(path, chats, state.get("last"))
        # The place stays at the beginning of the last chat until another one has begun.
        offset = end if more or not chats else chats[-1][0]
        state = {"inode": found.st_ino, "last": None if more else last}
        return TranscriptPart(conversations, ReadPlace(offset, mark_of(file, offset), json.dumps(state)), more)


def _to_conversations(
    path: Path, chats: list[tuple[int, bytes]], last: Any
) -> tuple[tuple[Conversation, ...], list[Any] | None]:
    """What is new in chats, and what was seen of the last of them; ``last`` is that of the time before."""
    found = list[Conversation]()
    for _, data in chats:
        conversation, seen = _parse(path, data.decode("utf-8", "replace")), None
        if conversation is not None:
            before = last[1] if isinstance(last, list) and last[0] == conversation.id else None
            new, seen = leave_out_seen(conversation, before)
            found += [new] if new is not None else []
        last = [conversation.id, seen] if conversation is not None else None
    return tuple(found), last


def _read_chats(file: BinaryIO, start: int, max_bytes: int) -> tuple[list[tuple[int, bytes]], int]:
    """Chats from ``start`` on with their offsets, and where the next one begins: the end of the file, if the last of
    them is the last there is."""
    file.seek(start)
    data = file.read(max_bytes)
    at_end = len(data) < max_bytes
    begins = [found.start() for found in _HEAD.finditer(data)]
    if not at_end and not any(begins):
        data += file.read(max(0, _MAX_CHAT - len(data)))
        at_end = len(data) < max(max_bytes, _MAX_CHAT)
        begins = [found.start() for found in _HEAD.finditer(data)]
    if not at_end and not any(begins):
        return [(start, data)], _find_next(file)
    edges = [*dict.fromkeys((0, *begins)), *([len(data)] if at_end else [])]
    chats = [(start + begin, data[begin:end]) for begin, end in pairwise(edges)]
    return chats, start + edges[-1]


def _find_next(file: BinaryIO) -> int:
    """Where the next chat begins, or the end of the file."""
    kept = b""
    while piece := file.read(1 << 20):
        data = kept + piece
        if (found := _HEAD.search(data, 1)) is not None:
            return file.tell() - len(data) + found.start()
        kept = data[-100:]
    return file.tell()


def _parse(path: Path, text: str) -> Conversation | None:
    """A chat as the conversation it was. Blocks are told apart by how their lines begin."""
    head, _, body = text.partition("\n")
    if not head.startswith(_TITLE):
        return None
    started = head[len(_TITLE) :].strip()
    at = _to_zone(started)
    log = TurnLog()
    log.note("project", str(path.parent))
    for mark, group in groupby(body.split("\n"), _mark_of_line):
        lines = [line[len(mark) :].rstrip() for line in group]
        if mark == _ASKED:
            log.say("user", "\n".join(lines), at)
        elif mark == _SAID:
            for line in lines:
                _take_notice(line, at, log)
        else:
            log.say("assistant", "\n".join(lines), at)
    key = hashlib.blake2b(str(path.parent).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
    return log.to_conversation(f"{key}:{started}", _NAME, whole=True)


def _to_zone(started: str) -> str | None:
    """When a chat began; the program writes the time of the place, without a zone."""
    try:
        return datetime.fromisoformat(started).astimezone().isoformat()
    except (ValueError, OverflowError):
        return None


def _mark_of_line(line: str) -> str:
    return next((mark for mark in (_SAID, _ASKED) if line.startswith(mark)), "")


def _take_notice(line: str, at: str | None, log: TurnLog) -> None:
    """What the program says it did."""
    if found := _APPLIED.match(line):
        log.did(ToolUse("edit", {"path": found[1]}, failed=False), at)
    elif found := _RUNNING.match(line):
        log.did(ToolUse("run", {"command": found[1] or found[2]}), at)
    elif found := _COMMITTED.match(line):
        log.did(ToolUse("commit", {"description": f"{found[1]} {found[2]}"}, failed=False), at)
    elif line.startswith("Model: "):
        log.facts["agent"] = line.removeprefix("Model: ").split(" ")[0]


READER = TranscriptReader(_NAME, "Aider", _find, _read)
