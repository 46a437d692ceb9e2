"""A memory that a model made of a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.transcripts.extraction.extracted_memory import digest_text, name_prefix, normalize
from vaults.transcripts.model_extraction.model_kinds import MODEL_MEMORY_TYPES, ModelKind

RULE = "model"
"""What stands as ``metadata.rule`` in every memory a model made."""


@dataclass(frozen=True, slots=True)
class ModelMemory:
    """Something of a conversation that is worth keeping, as a model words it; fields as of ``ExtractedMemory``."""

    kind: ModelKind
    title: str
    content: str
    confidence: float
    turns: tuple[int, ...]
    at: str | None = None
    by_agent: bool = False
    is_thinking: bool = False
    applies_to: str | None = None

    @property
    def type(self) -> str:
        """The type it is stored with: what was only thought is no decision."""
        return "thinking" if self.is_thinking else MODEL_MEMORY_TYPES[self.kind]

    @property
    def rule(self) -> str:
        """What found it."""
        return RULE


def model_memory_id(reader: str, conversation: str, memory: ModelMemory) -> str:
    """Its external id: what is told twice under one title is one memory, with the later words."""
    return f"{name_prefix(reader, conversation)}{RULE}-{memory.kind}:{digest_text(normalize(memory.title))}"
