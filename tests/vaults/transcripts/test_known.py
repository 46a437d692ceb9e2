"""Every reader is known by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults.errors import InvalidArgument
from vaults.transcripts.known import READERS, find_reader


def test_readers_are_found_by_name(tmp_path: Path) -> None:
    assert list(READERS) == [
        "claude-code", "codex", "opencode", "gemini-cli", "cline", "aider", "copilot-chat", "cursor", "jsonl",
    ]  # fmt: skip
    assert all(find_reader(name).name == name for name in READERS)
    assert all(list(reader.find(tmp_path)) == [] for reader in READERS.values())
    with pytest.raises(InvalidArgument):
        find_reader("emacs")
