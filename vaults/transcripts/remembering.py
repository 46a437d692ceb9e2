"""What a harvest remembers of conversations besides their words: the memories made of them, new, changed and void."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vaults import clock
from vaults.errors import InvalidArgument
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS
from vaults.transcripts.extraction.to_lines import MemoryLineMaker
from vaults.transcripts.known import READERS
from vaults.transcripts.memory_state import MemoryState
from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptReader

MAX_FILE = 64 << 20
"""Max bytes of a file of which memories are made: it is read whole whenever it grew."""

NONE_KNOWN: Mapping[str, Conversation] = MappingProxyType({})

VOID = "no longer so in the conversation it was made of"


@dataclass(frozen=True, slots=True)
class ChangedMemories:
    """The memories of one transcript. ``lines``: to be sent; ``kept``: what is to be remembered as sent."""

    transcript: str
    lines: list[dict[str, Any]]
    kept: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MemoryMaker:
    """How memories are made. ``redact`` and ``workspace_of``: as for the documents of a harvest."""

    home: Path
    state: MemoryState
    redact: Callable[[str], str]
    workspace_of: Callable[[str], str]
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS

    def changed_memories(
        self, documents: Sequence[dict[str, Any]], known: Mapping[str, Conversation] = NONE_KNOWN
    ) -> Iterator[ChangedMemories]:
        """What becomes of the transcripts that these lines are of. Reads their files whole, but for those of ``known``
        conversations, by external id."""
        wanted = {line["external_id"]: line["uri"] for line in documents if line.get("uri")}
        for transcript, uri in wanted.items():
            reader_name = transcript.split(":", 2)[1]
            path = self.home / uri.removeprefix("~/") if uri.startswith("~/") else Path(uri)
            conversation = known.get(transcript) or _read_conversation(READERS[reader_name], path, transcript)
            if conversation is not None:
                changed = self._compare(transcript, reader_name, conversation)
                if changed.lines:
                    yield changed

    def confirm(self, changed: Iterable[ChangedMemories]) -> None:
        """Keep that the lines are stored."""
        self.state.store({each.transcript: each.kept for each in changed})

    def _compare(self, transcript: str, reader: str, conversation: Conversation) -> ChangedMemories:
        former = self.state.read(transcript)
        found = extract(conversation, reader, former, self.kinds)
        workspace = self.workspace_of(conversation.project) if conversation.project else None
        maker = MemoryLineMaker(self.redact, workspace=workspace)
        kept = list(maker.to_lines(conversation, found.memories, transcript))
        lines = [line for line in kept if former.get(line["external_id"]) != line]
        now = clock.now()
        lines += [former[name] | {"archived_at": now, "archived_reason": VOID} for name in sorted(found.void)]
        return ChangedMemories(transcript, lines, kept)


def _read_conversation(reader: TranscriptReader, path: Path, transcript: str) -> Conversation | None:
    """One conversation of a file, with all its turns; None where the file is too large or cannot be read."""
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
