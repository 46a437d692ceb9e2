"""Every reader there is, by its name in settings and documents."""

from __future__ import annotations

from vaults.errors import InvalidArgument
from vaults.transcripts import aider, claude_code, cline, codex, copilot_chat, cursor, gemini_cli, jsonl, opencode
from vaults.transcripts.transcript import TranscriptReader

_MODULES = (claude_code, codex, opencode, gemini_cli, cline, aider, copilot_chat, cursor, jsonl)
READERS: dict[str, TranscriptReader] = {module.READER.name: module.READER for module in _MODULES}


def find_reader(name: str) -> TranscriptReader:
    """The reader of this name. Raises ``InvalidArgument``."""
    if name not in READERS:
        raise InvalidArgument("reader", f"{name[:40]} is not known; there are {', '.join(sorted(READERS))}")
    return READERS[name]
