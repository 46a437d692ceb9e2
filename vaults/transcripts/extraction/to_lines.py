"""What was made of a conversation as lines that ``import jsonl`` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from vaults.transcripts.transcript import Conversation

NAME_LENGTH = 200
"""Max characters of an author, as a memory takes it."""

APPLIES_TO_LENGTH = 500
"""Max characters of ``applies_to``, as a memory takes it."""


class MemoryOfTurns(Protocol):
    """A memory made of turns, by rules or by a model: fields as of ``ExtractedMemory``."""

    @property
    def kind(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def turns(self) -> tuple[int, ...]: ...
    @property
    def rule(self) -> str: ...
    @property
    def at(self) -> str | None: ...
    @property
    def by_agent(self) -> bool: ...
    @property
    def is_thinking(self) -> bool: ...
    @property
    def applies_to(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class MemoryLineMaker:
    """How lines are made. ``redact`` takes secrets out of a text; ``person``: whose words the user's turns are, whoever
    imports them if None; ``workspace``: where the memories belong, likewise."""

    redact: Callable[[str], str]
    person: str | None = None
    workspace: str | None = None

    def to_lines(
        self, conversation: Conversation, memories: Mapping[str, MemoryOfTurns], parent: str
    ) -> Iterator[dict[str, Any]]:
        """A line for each memory, by its external id. ``parent``: the external id of the transcript."""
        agent = (conversation.agent or conversation.program)[:NAME_LENGTH]
        for name, memory in memories.items():
            line = {
                "kind": "memory",
                "external_id": name,
                "type": memory.type,
                "title": self.redact(memory.title),
                "content": self.redact(memory.content),
                "confidence": memory.confidence,
                "parent": parent,
                "position": memory.turns[-1],
                "metadata": {"turns": list(memory.turns), "extracted": memory.kind, "rule": memory.rule},
                "tags": ["transcript", "thinking" if memory.is_thinking else "episodic"],
                "occurred_at": memory.at,
                "author": agent if memory.by_agent else self.person,
                "workspace": self.workspace,
                "applies_to": self._applies_to(memory),
            }
            yield {field: value for field, value in line.items() if value is not None}

    def _applies_to(self, memory: MemoryOfTurns) -> str | None:
        named = self.redact(memory.applies_to) if memory.applies_to else None
        return named if named and named == memory.applies_to and len(named) <= APPLIES_TO_LENGTH else None
