"""What is made of a conversation: memories of six kinds, and the names they keep when it grows."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

ExtractionKind: TypeAlias = Literal["decision", "fix", "command", "files", "preference", "open"]

MEMORY_TYPES: dict[ExtractionKind, str] = {
    "decision": "decision",
    "fix": "error",
    "command": "learning",
    "files": "observation",
    "preference": "preference",
    "open": "plan",
}
"""The type a memory of each kind is stored with."""

CONTENT_LENGTH = 900
"""Max characters of a memory: it has to be read among others."""

_TITLE_LENGTH = 90
_ID_LENGTH = 80
"""Max characters of a conversation's own id; a longer one, such as a path, gives way to its digest."""

_NOT_WORD = re.compile(r"[^\w/.+-]+")


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """Something of a conversation that is worth keeping.

    ``turns``: positions it rests on, first to last. ``anchor``: what it is known by while its wording may change;
    ``rule``: the name of what found it; ``by_agent``: it rests on the agent's words, not on the person's;
    ``is_thinking``: only reasoning said so, it never was spoken.
    """

    kind: ExtractionKind
    content: str
    confidence: float
    turns: tuple[int, ...]
    anchor: str
    rule: str
    at: str | None = None
    by_agent: bool = False
    is_thinking: bool = False
    applies_to: str | None = None

    @property
    def title(self) -> str:
        """The first line, cut."""
        return cut(self.content.partition("\n")[0], _TITLE_LENGTH)

    @property
    def type(self) -> str:
        """The type it is stored with: what was only thought is no decision."""
        return "thinking" if self.is_thinking else MEMORY_TYPES[self.kind]


def name_prefix(reader: str, conversation: str) -> str:
    """How the external ids of everything made of a conversation begin."""
    known = (
        conversation if len(conversation) <= _ID_LENGTH and conversation.isprintable() else digest_text(conversation)
    )
    return f"transcript:{reader}:{known}:"


def external_id(prefix: str, memory: ExtractedMemory) -> str:
    """The name a memory keeps however far its conversation grows."""
    return f"{prefix}{memory.kind}:{digest_text(normalize(memory.anchor))}"


def normalize(text: str) -> str:
    """Words in lower case with one blank between them: equal for what only differs in case and punctuation."""
    return _NOT_WORD.sub(" ", text.casefold()).strip(" .-")


def cut(text: str, most: int) -> str:
    """The text on one line, at most ``most`` characters, ended between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    kept = line[: most - 1]
    return kept[: kept.rfind(" ") if kept.rfind(" ") > most // 2 else None].rstrip(" ,;:") + "…"


def digest_text(text: str) -> str:
    """What stands for a text in an external id."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
