"""One conversation read whole, from the file that holds it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.transcripts.known import READERS
from vaults.transcripts.transcript import Conversation, ReadPlace

MAX_FILE = 64 << 20
"""Max bytes of a file of which memories are made: it is read whole whenever it grew."""


def path_of(home: Path, uri: str) -> Path:
    """The file that a document names."""
    return home / uri.removeprefix("~/") if uri.startswith("~/") else Path(uri)


def reader_of(transcript: str) -> str:
    """The name of the reader in a transcript's external id."""
    return transcript.split(":", 2)[1]


def read_conversation(path: Path, transcript: str) -> Conversation | None:
    """One conversation of a file, with all its turns; None where the file is too large or cannot be read."""
    reader = READERS[reader_of(transcript)]
    found: Conversation | None = None
    place, more = ReadPlace(), True
    try:
        if path.stat().st_size > MAX_FILE:
            return None
        while more:
            part = reader.read(path, place, MAX_FILE)
            for each in part.conversations:
                if f"transcript:{reader.name}:{each.id}" == transcript:
                    grown = found is not None and not each.whole
                    found = replace(each, turns=(*found.turns, *each.turns)) if found and grown else each
            place, more = part.place, part.more
    except (OSError, InvalidArgument):
        return None  # the pass itself says so
    return found
