"""The end of a transcript: what was asked, what was changed, and that nothing in it can do harm."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from server.transcript_tail import LastWork, read_last_work

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "message", "content", "text", "name", "input", "file_path"]), inner)
    ),
    max_leaves=12,
)


def written(tmp_path, *entries):
    file = tmp_path / "transcript.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return file


def user(content, **more):
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def used(*uses):
    parts = [{"type": "tool_use", "name": name, "input": values} for name, values in uses]
    return {"type": "assistant", "message": {"role": "assistant", "content": parts}}


def test_the_last_prompt_of_the_person_counts_and_nothing_tools_or_the_program_said(tmp_path):
    file = written(
        tmp_path,
        user("first"),
        user([{"type": "text", "text": "\n  second \x1b[31mline\nmore"}]),
        user([{"type": "tool_result", "content": "a result"}]),
        user("<local-command-stdout>no</local-command-stdout>"),
        user("of the program", isMeta=True),
    )
    assert read_last_work(file, tmp_path) == LastWork("second [31mline")


def test_files_are_told_from_the_folder_once_each_in_the_order_of_their_last_change(tmp_path):
    file = written(
        tmp_path,
        used(("Edit", {"file_path": str(tmp_path / "src/a.py")}), ("Write", {"file_path": str(tmp_path / "b.py")})),
        used(("Read", {"file_path": str(tmp_path / "c.py")}), ("Bash", {"command": "rm d.py"})),
        used(("Edit", {"file_path": str(tmp_path / "src/a.py")}), ("NotebookEdit", {"notebook_path": "/etc/n.ipynb"})),
    )
    found = read_last_work(file, tmp_path)
    assert found.files == ("b.py", "src/a.py", "n.ipynb")
    assert found.lines == ["Files changed: b.py, src/a.py, n.ipynb"]


def test_only_the_last_files_and_the_beginning_of_a_line_are_told(tmp_path):
    file = written(tmp_path, user("x" * 5000), *(used(("Edit", {"file_path": f"/f{n}"})) for n in range(50)))
    found = read_last_work(file, tmp_path)
    assert (len(found.asked), found.files) == (200, tuple(f"f{n}" for n in range(40, 50)))


def test_of_a_long_transcript_the_end_is_read(tmp_path):
    file = written(
        tmp_path, user("early"), *(user([{"type": "tool_result", "content": "x" * 9000}]) for _ in range(90))
    )
    assert read_last_work(file, tmp_path) == LastWork()
    with file.open("a") as more:
        more.write(json.dumps(user("late")) + "\n")
    assert read_last_work(file, tmp_path).asked == "late"


def test_a_transcript_that_is_not_there_or_none_says_nothing(tmp_path):
    assert read_last_work(tmp_path / "absent", tmp_path) == LastWork()
    assert read_last_work(tmp_path, tmp_path) == LastWork()
    (tmp_path / "odd").write_bytes(b"\xff\x00\n{}\nnull\n" + b"[" * 100_000 + b"\n")
    assert read_last_work(tmp_path / "odd", tmp_path) == LastWork()


@given(st.lists(JSON, max_size=5), st.binary(max_size=200))
def test_whatever_stands_in_a_transcript_the_words_are_short_and_in_one_line(entries, rest):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t"
        file.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in entries) + rest)
        said = "; ".join(read_last_work(file, Path(folder)).lines)
    assert len(said) <= 2000
    assert said.isprintable()
