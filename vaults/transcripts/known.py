"""Every reader there is, by its name in settings and documents."""

from __future__ import annotations

from vaults.transcripts import aider, claude_code, cline, codex, copilot_chat, cursor, gemini_cli, jsonl, opencode
from vaults.transcripts.transcript import TranscriptReader

_MODULES = (claude_code, codex, opencode, gemini_cli, cline, aider, copilot_chat, cursor, jsonl)
READERS: dict[str, TranscriptReader] = {module.READER.name: module.READER for module in _MODULES}
