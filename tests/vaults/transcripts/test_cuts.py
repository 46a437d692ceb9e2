"""However a file is cut into passes while it grows, its turns are those of reading it once; and whatever stands in a
record, reading it does no harm. Covers vaults.transcripts.grown_lines and vaults.transcripts.rewritten."""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.transcripts import (
    test_aider,
    test_claude_code,
    test_cline,
    test_codex,
    test_copilot_chat,
    test_gemini_cli,
)
from tests.vaults.transcripts.reading import Follower
from tests.work import examples
from vaults.errors import InvalidArgument
from vaults.transcripts.known import READERS

CLAUDE = [
    *test_claude_code.WORK,
    test_claude_code.record("user", "Zwölf Türen \U0001f6aa und\nein Tor", 20),
    *test_claude_code.WORK[4:7],
]
CODEX = [
    test_codex.META,
    test_codex.item(test_codex.message("user", "Öl")),
    test_codex.item(test_codex.call("shell", {"command": "ls"}, "c")),
    test_codex.item(test_codex.message("assistant", "…")),
    test_codex.item(test_codex.output("c", "Exit code: 0\nx")),
]
PLAIN = [{"role": "user", "content": "x" * 300}, {"role": "assistant", "content": "y"}, {"title": "t"}]
GEMINI = [test_gemini_cli.HEAD, test_gemini_cli.ASKED, test_gemini_cli.ANSWERED, {"$rewindTo": "m2"},
          test_gemini_cli.ANSWERED | {"id": "m4"}]  # fmt: skip


def to_lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()


FILES = {
    "claude-code": ("s.jsonl", to_lines(CLAUDE)),
    "codex": ("rollout.jsonl", to_lines(CODEX)),
    "jsonl": ("t.jsonl", to_lines(PLAIN)),
    "gemini-cli": ("chats/s.jsonl", to_lines(GEMINI)),
    "copilot-chat": ("w/chatSessions/s.jsonl", to_lines(test_copilot_chat.LOG)),
    "aider": ("h.md", (test_aider.FIRST + test_aider.SECOND + test_aider.SECOND.replace("06", "07")).encode()),
}


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_passes_over_a_growing_file_yield_the_turns_of_reading_it_once(name: str, data: st.DataObject) -> None:
    file, content = FILES[name]
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=8).map(sorted))
    max_bytes = data.draw(st.sampled_from([50, 300, 1 << 20]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        follower, written = Follower(READERS[name], path, max_bytes), 0
        for cut in (*cuts, len(content)):
            with path.open("ab") as growing:
                growing.write(content[written:cut])
            written = cut
            try:
                follower.look()
            except InvalidArgument:
                assert cut < len(content)  # too little of it to be known
        once = Follower(READERS[name], path)
        once.look()
        assert follower.turns == once.turns
        assert once.turns


SAMPLES: dict[str, Any] = {
    "claude-code": CLAUDE,
    "codex": CODEX,
    "jsonl": PLAIN,
    "gemini-cli": GEMINI,
    "copilot-chat": test_copilot_chat.LOG,
    "cline": [test_cline.SHOWN],
}
ODD = (None, 3, -1.5, "x", "", [], {}, [[]], [3], {"a": 1}, True, "\ud800\0", 10**400, [None], {"text": {}}, "/x" * 50)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    changed = copy.deepcopy(value)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = by
    return changed


@pytest.mark.parametrize("name", SAMPLES)
def test_whatever_stands_in_a_record_reading_does_no_harm(name: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    sample = SAMPLES[name]
    every = [path for path in places(sample) if path]
    file = {"cline": "tasks/7/ui_messages.json"}.get(name, FILES.get(name, ("", b""))[0])
    path = tmp_path / "a" / "b" / file
    path.parent.mkdir(parents=True)
    for where in every:
        changed = replaced(sample, where, chance.choice(ODD))
        path.write_text("".join(json.dumps(each) + "\n" for each in changed))
        try:
            Follower(READERS[name], path).look()
        except InvalidArgument:
            continue
