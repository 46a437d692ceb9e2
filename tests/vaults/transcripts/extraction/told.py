"""Conversations for tests, written line by line as the judged ones are."""

from __future__ import annotations

from bench.quality.judged_conversations import read_conversation
from vaults.transcripts.extraction.extracted_memory import ExtractedMemory
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import ALL_KINDS
from vaults.transcripts.transcript import Conversation

READER = "claude-code"


def told(*lines: str, program: str = "claude-code", project: str = "/home/ada/shop") -> Conversation:
    """A conversation of these lines."""
    return read_conversation("\n".join((f"c1 | {program} | {project} | en", *lines))).conversation


def made(*lines: str, program: str = "claude-code") -> list[ExtractedMemory]:
    """Everything that is made of them, of all kinds."""
    return list(extract(told(*lines, program=program), READER, kinds=ALL_KINDS).memories.values())


def kinds_of(memories: list[ExtractedMemory]) -> list[str]:
    """What kinds they are, in order."""
    return [each.kind for each in memories]
