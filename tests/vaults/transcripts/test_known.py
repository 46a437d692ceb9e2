"""Every reader is known by its name."""

from __future__ import annotations

from pathlib import Path

from vaults.transcripts.known import READERS


def test_readers_are_found_by_name(tmp_path: Path) -> None:
    assert list(READERS) == [
        "claude-code", "codex", "opencode", "gemini-cli", "cline", "aider", "copilot-chat", "cursor", "jsonl",
    ]  # fmt: skip
    assert all(list(reader.find(tmp_path)) == [] for reader in READERS.values())
