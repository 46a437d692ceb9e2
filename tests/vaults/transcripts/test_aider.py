"""Aider's history: chats in Markdown, the last of which may go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.transcripts.reading import Follower, read_once, shown
from vaults.errors import InvalidArgument
from vaults.transcripts import aider
from vaults.transcripts.aider import READER
from vaults.transcripts.transcript import ReadPlace

FIRST = """
# aider chat started at 2026-01-05 09:00:00

> Aider v0.86.1  \n> Model: claude-sonnet-4-5 with diff edit format  \n> Git repo: .git with 12 files  \n
#### Oil the hinge  \n#### and the gate  \n
I'll oil both.

```python
# a comment
```

> Tokens: 2.1k sent, 40 received.  \n> Applied edit to src/hinge.py  \n> Commit 1a2b3c4 fix: oil the hinge  \n"""
SECOND = """
# aider chat started at 2026-01-06 09:00:00

#### /run make  \n> Running make  \n
It works now.
"""
EXPECTED = [
    ("user", "Oil the hinge\nand the gate"),
    ("assistant", "I'll oil both.\n\n```python\n# a comment\n```"),
    ("tool", "edit"),
    ("tool", "commit"),
]


def make(home: Path, text: str = FIRST) -> Path:
    path = home / "work" / "harbour" / ".aider.chat.history.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_chat_is_read_block_by_block(tmp_path: Path) -> None:
    path = make(tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / path.name).write_text(FIRST)
    assert list(READER.find(tmp_path)) == [path]
    conversation = read_once(READER, path)
    assert shown(conversation) == EXPECTED
    assert (conversation.project, conversation.agent) == (str(path.parent), "claude-sonnet-4-5")
    assert conversation.id.endswith(":2026-01-05 09:00:00")
    assert conversation.started_at is not None
    edit, commit = conversation.turns[2].tool, conversation.turns[3].tool
    assert edit
    assert commit
    assert (edit.arguments, commit.arguments) == (
        {"path": "src/hinge.py"},
        {"description": "1a2b3c4 fix: oil the hinge"},
    )


def test_chats_stand_one_below_the_other(tmp_path: Path) -> None:
    follower = Follower(READER, make(tmp_path, FIRST + SECOND))
    first, second = follower.look()
    assert (first.whole, second.whole) == (True, True)
    assert shown(second) == [("user", "/run make"), ("tool", "run"), ("assistant", "It works now.")]
    assert follower.look() == []


def test_an_answer_that_goes_on_makes_its_chat_whole(tmp_path: Path) -> None:
    path = make(tmp_path, FIRST + SECOND)
    follower = Follower(READER, path)
    follower.look()
    make(tmp_path, FIRST + SECOND + "Or not.\n")
    (changed,) = follower.look()
    assert changed.whole
    assert shown(changed)[-1] == ("assistant", "It works now.\nOr not.")
    make(tmp_path, FIRST + SECOND + "Or not.\n\n#### Why?\n")
    (more,) = follower.look()
    assert (more.whole, shown(more)) == (False, [("user", "Why?")])


def test_reading_in_small_pieces_yields_the_same(tmp_path: Path) -> None:
    path = make(tmp_path, FIRST + SECOND + SECOND.replace("06", "07"))
    once, pieces = Follower(READER, path), Follower(READER, path, max_bytes=120)
    once.look()
    pieces.look()
    assert pieces.turns == once.turns
    assert len(once.turns) == 3


def test_a_chat_that_is_too_long_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aider, "_MAX_CHAT", 200)
    follower = Follower(READER, make(tmp_path, FIRST + SECOND), max_bytes=100)
    follower.look()
    assert sorted(map(len, follower.turns.values())) == [2, 3]


def test_a_file_that_was_cut_off_or_replaced_is_read_whole(tmp_path: Path) -> None:
    path = make(tmp_path, FIRST + SECOND)
    follower = Follower(READER, path)
    follower.look()
    make(tmp_path, SECOND)
    assert [each.whole for each in follower.look()] == [True]
    path.unlink()
    make(tmp_path, FIRST)
    assert [shown(each) for each in follower.look()] == [EXPECTED]


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        READER.read(make(tmp_path, "# Notes\n\n#### A heading\n"), ReadPlace(), 1000)
    assert READER.read(make(tmp_path, ""), ReadPlace(), 1000).conversations == ()
