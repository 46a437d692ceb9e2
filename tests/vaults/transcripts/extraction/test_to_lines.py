"""Extracted memories as lines that the import takes."""

from __future__ import annotations

from dataclasses import replace

from tests.vaults.transcripts.extraction.told import READER, told
from vaults.domain.import_export.lines import MemoryLine
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import ALL_KINDS
from vaults.transcripts.extraction.to_lines import MemoryLineMaker

PARENT = "transcript:claude-code:c1"
LINES = (
    "U fix the build",
    "B make",
    "  err: Error: token=abc",
    "E a.py :: x => y",
    "B make",
    "  ok: done",
    "U always run make before a commit",
    "T so use a dict rather than a list.",
)


def test_the_import_takes_every_line() -> None:
    conversation = told(*LINES)
    memories = extract(conversation, READER, kinds=ALL_KINDS).memories
    lines = list(MemoryLineMaker(str, person="ada", workspace="shop").to_lines(conversation, memories, PARENT))
    assert len(lines) == len(memories) >= 4
    for line in lines:
        assert line.pop("kind") == "memory"
        checked = MemoryLine.model_validate(line)
        assert checked.parent == PARENT
        assert checked.position == checked.metadata["turns"][-1]
        assert checked.external_id is not None
        assert checked.external_id.startswith(f"{PARENT}:{checked.metadata['extracted']}:")
        assert checked.author == ("ada" if checked.type == "preference" else "model of claude-code")
        assert checked.occurred_at is not None
        assert checked.confidence is not None
    assert {"episodic", "thinking"} == {line["tags"][1] for line in lines}


def test_secrets_are_taken_out_and_nobody_is_named_who_is_not_known() -> None:
    conversation = replace(told(*LINES), agent=None)
    memories = extract(conversation, READER, kinds=ALL_KINDS).memories
    maker = MemoryLineMaker(lambda text: text.replace("abc", "[gone]").replace("a.py", "[gone]"))
    lines = list(maker.to_lines(conversation, memories, PARENT))
    assert not any("abc" in line["content"] or "abc" in line["title"] for line in lines)
    assert not any("applies_to" in line or "workspace" in line for line in lines)
    assert {line.get("author") for line in lines} == {None, "claude-code"}
