"""A transcript that a hook names: which paths are one, where the work in it stands, and that it can do no harm."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.working_day import WorkingDay
from vaults.errors import InvalidArgument
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.handed_file import LastWork, find_handed_file

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "message", "content", "text", "name", "input", "file_path"]), inner)
    ),
    max_leaves=12,
)


@pytest.fixture
def day(tmp_path: Path) -> WorkingDay:
    return WorkingDay(tmp_path / "home")


def last_work(day: WorkingDay, **rules: Any) -> LastWork:
    return find_handed_file(day.home, day.path).last_work(day.home, HarvestRules(**rules))


def test_the_last_prompt_of_the_person_counts_and_nothing_tools_or_the_program_said(day: WorkingDay) -> None:
    day.add("user", "first")
    day.add("user", [{"type": "text", "text": "\n  second \x1b[31mline\nmore"}])
    day.run("ls", "a result")
    day.add("user", "<local-command-stdout>no</local-command-stdout>")
    assert last_work(day).asked.startswith("second ")
    assert last_work(day).asked.endswith("line")
    assert last_work(day).asked.isprintable()


def test_files_are_told_from_the_folder_once_each_in_the_order_of_their_last_change(day: WorkingDay) -> None:
    for path in ("/work/harbour/src/a.py", "/work/harbour/b.py", "/work/harbour/src/a.py", "/etc/n.conf"):
        day.edit(path, "old", "new")
    found = last_work(day)
    assert found.files == ("b.py", "src/a.py", "n.conf")
    assert found.lines == ["Files changed: b.py, src/a.py, n.conf"]


def test_only_the_last_files_and_the_beginning_of_a_line_are_told(day: WorkingDay) -> None:
    day.add("user", "x" * 5000)
    for number in range(50):
        day.edit(f"/f{number}", "old", "new")
    found = last_work(day)
    assert (len(found.asked), found.files) == (200, tuple(f"f{number}" for number in range(40, 50)))


def test_of_a_conversation_that_is_left_out_nothing_is_told(day: WorkingDay) -> None:
    day.add("user", "between us")
    assert last_work(day).asked == "between us"
    assert last_work(day, projects=("/work/harbour",)) == LastWork()
    assert last_work(day, patterns=("*.jsonl",)) == LastWork()
    assert last_work(day, only=day.home) == LastWork()


def test_only_what_a_reader_finds_is_a_transcript(day: WorkingDay) -> None:
    day.add("user", "hello")
    elsewhere = day.home / "day.jsonl"
    elsewhere.write_bytes(day.path.read_bytes())
    pipe, link = day.path.with_name("pipe.jsonl"), day.path.with_name("link.jsonl")
    os.mkfifo(pipe)
    link.symlink_to(elsewhere)
    climbing = day.path.parent / ".." / ".." / ".." / "day.jsonl"
    for path in (elsewhere, pipe, link, climbing, day.path.parent, Path("/dev/zero"), Path("a\0b"), Path()):
        with pytest.raises(InvalidArgument, match="transcript_path"):
            find_handed_file(day.home, path)


def test_it_is_found_by_another_name_of_its_folder_and_with_the_agents_it_started(day: WorkingDay) -> None:
    day.add("user", "hello")
    below = day.path.with_suffix("") / "subagents" / "agent-1.jsonl"
    below.parent.mkdir(parents=True)
    below.write_bytes(day.path.read_bytes())
    WorkingDay(day.home, name="other").add("user", "another day")
    (day.home.parent / "way").symlink_to(day.home)
    named = day.home.parent / "way" / day.path.relative_to(day.home)
    assert [path for _, path in find_handed_file(day.home, named).files] == [day.path, below]


@given(st.lists(JSON, max_size=5), st.binary(max_size=200))
def test_whatever_stands_in_a_transcript_the_words_are_short_and_in_one_line(entries: list[Any], rest: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        day = WorkingDay(Path(folder))
        day.path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in entries) + rest)
        said = "; ".join(last_work(day).lines)
    assert len(said) <= 2500
    assert said.isprintable()
