"""Transcripts read in passes, and what a reader's user knows after them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptReader, Turn

PLENTY = 4 << 20


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def make_tables(path: Path, *statements: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    for each in statements:
        db.execute(each)
    return db


class Follower:
    """Reads a file as it is, time after time, and knows what its conversations are by then."""

    def __init__(self, reader: TranscriptReader, path: Path, max_bytes: int = PLENTY) -> None:
        self.reader, self.path, self.max_bytes = reader, path, max_bytes
        self.place = ReadPlace()
        self.last: list[Conversation] = []
        self.turns: dict[str, list[Turn]] = {}

    def look(self) -> list[Conversation]:
        """What is new, read to its end."""
        self.last, more = [], True
        while more:
            part = self.reader.read(self.path, self.place, self.max_bytes)
            self.place, more = part.place, part.more
            for each in part.conversations:
                self._take(each)
        return self.last

    def _take(self, conversation: Conversation) -> None:
        self.last.append(conversation)
        known = [] if conversation.whole else self.turns.get(conversation.id, [])
        self.turns[conversation.id] = [*known, *conversation.turns]
        positions = [turn.position for turn in self.turns[conversation.id]]
        assert positions == list(range(len(positions)))


def read_once(reader: TranscriptReader, path: Path) -> Conversation:
    """The one conversation of a file."""
    (conversation,) = Follower(reader, path).look()
    return conversation


def shown(conversation: Conversation) -> list[tuple[str, str]]:
    """Who said or did what."""
    return [
        ("thinking" if turn.thinking else turn.role, turn.tool.name if turn.tool else turn.text)
        for turn in conversation.turns
    ]
