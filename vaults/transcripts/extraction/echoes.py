"""What must not become a memory again, or at all, because it came in from elsewhere: recalled memories, pages, files.

A statement counts as an echo when an output shortly before it, or anything our own tools gave or were given, holds it
word for word. Rules do not read outputs, but agents repeat them and people paste them.
"""

from __future__ import annotations

from collections import deque

from vaults.transcripts.extraction.extracted_memory import normalize
from vaults.transcripts.extraction.tool_steps import is_shell, read_command, read_outcome
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.transcript import ToolUse

_RECENT = 30
"""Outputs before a statement that it is looked for in."""

_OUTPUT_LENGTH = 4_000
_RECALLED_LENGTH = 200_000
"""Characters of recalled memories that are kept of one conversation, the latest ones."""

_SHARED = 0.7
"""Share of a statement's words in one stored memory from which on it was stored already."""

_OURS = ("strongroom", "memory", "recall", "remember")
"""Of which one stands in the name of a memory's tool: its server's, mostly."""


class EchoFinder:
    """Follows what tools brought in; asked in the order of the conversation."""

    def __init__(self) -> None:
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self._recalled: deque[str] = deque()
        self._recalled_length = 0
        self._stored: list[frozenset[str]] = []

    def follow(self, step: WorkStep) -> None:
        """Take notice of a step."""
        tool = step.turn.tool
        if tool is None:
            if step.turn.role == "tool":
                self._recent.append(normalize(step.turn.text[:_OUTPUT_LENGTH]))
            else:
                self._recall(_recalled_part(step.turn.text))
            return
        if _is_ours(tool):
            self._recall(tool.outcome)
            self._store(tool)
        elif tool.outcome:
            self._recent.append(normalize(read_outcome(tool)[:_OUTPUT_LENGTH]))

    def is_echo(self, statement: str) -> bool:
        """Whether a statement repeats something that came in, or that was stored already."""
        plain = normalize(statement)
        words = plain.split()
        if len(words) < 3:
            return False
        if any(plain in text for text in self._recent) or any(plain in text for text in self._recalled):
            return True
        own = set(words)
        return len(own) > 3 and any(len(own & known) >= _SHARED * len(own) for known in self._stored[-50:])

    def _recall(self, text: str) -> None:
        if not text:
            return
        self._recalled.append(normalize(text[:_RECALLED_LENGTH]))
        self._recalled_length += len(self._recalled[-1])
        while self._recalled_length > _RECALLED_LENGTH and len(self._recalled) > 1:
            self._recalled_length -= len(self._recalled.popleft())

    def _store(self, tool: ToolUse) -> None:
        content = tool.arguments.get("content")
        if isinstance(content, str):
            self._stored.append(frozenset(normalize(content[:_OUTPUT_LENGTH]).split()))


def _is_ours(tool: ToolUse) -> bool:
    """Whether a tool is a memory's: ours under whatever name it was connected, or another's."""
    name = tool.name.casefold()
    if is_shell(tool):
        return (read_command(tool) or "").startswith("strongroom ")
    return any(word in name for word in _OURS)


def _recalled_part(text: str) -> str:
    """What a program put into a turn out of the memory: up to where the last fence ends."""
    if "From shared memory." in text or "<data-" in text or "strongroom session:" in text:
        return text[: text.rfind("</") + 1]
    return ""
