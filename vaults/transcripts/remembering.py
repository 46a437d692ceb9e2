"""What a harvest remembers of conversations besides their words: the memories made of them, new, changed and void."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vaults import clock
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS
from vaults.transcripts.extraction.to_lines import MemoryLineMaker
from vaults.transcripts.memory_state import MemoryState
from vaults.transcripts.model_extraction.model_share import ModelShare, WindowResult, divide
from vaults.transcripts.transcript import Conversation
from vaults.transcripts.whole_conversation import path_of, read_conversation, reader_of

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
    """How memories are made. ``redact`` and ``workspace_of``: as for the documents of a harvest. ``share_of``: what a
    model has read of a transcript, None where there is no model; ``replaced``: kinds it answers instead of the
    rules."""

    home: Path
    state: MemoryState
    redact: Callable[[str], str]
    workspace_of: Callable[[str], str]
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS
    share_of: Callable[[str], ModelShare] | None = None
    replaced: frozenset[ExtractionKind] = frozenset()

    def changed_memories(
        self, documents: Sequence[dict[str, Any]], known: Mapping[str, Conversation] = NONE_KNOWN
    ) -> Iterator[ChangedMemories]:
        """What becomes of the transcripts that these lines are of. Reads their files whole, but for those of ``known``
        conversations, by external id."""
        wanted = {line["external_id"]: line["uri"] for line in documents if line.get("uri")}
        for transcript, uri in wanted.items():
            conversation = known.get(transcript) or read_conversation(path_of(self.home, uri), transcript)
            if conversation is not None:
                changed = self.compare(transcript, conversation)
                if changed.lines:
                    yield changed

    def compare(
        self, transcript: str, conversation: Conversation, result: WindowResult | None = None
    ) -> ChangedMemories:
        """The memories of a conversation beside those that were sent. ``result``: what a model has just made of it."""
        former = self.state.read(transcript)
        found = extract(conversation, reader_of(transcript), kinds=self.kinds)
        kept = list(self.to_line_maker(conversation).to_lines(conversation, found.memories, transcript))
        if self.share_of is not None:
            share = result.share if result else self.share_of(transcript).checked(conversation)
            kept = divide(kept, former, share, self.replaced, result)
        lines = [line for line in kept if former.get(line["external_id"]) != line]
        now, names = clock.now(), {line["external_id"] for line in kept}
        lines += [
            former[name] | {"archived_at": now, "archived_reason": VOID} for name in sorted(former) if name not in names
        ]
        return ChangedMemories(transcript, lines, kept)

    def to_line_maker(self, conversation: Conversation) -> MemoryLineMaker:
        """What makes lines of memories of this conversation."""
        workspace = self.workspace_of(conversation.project) if conversation.project else None
        return MemoryLineMaker(self.redact, workspace=workspace)

    def confirm(self, changed: Iterable[ChangedMemories]) -> None:
        """Keep that the lines are stored."""
        self.state.store({each.transcript: each.kept for each in changed})
