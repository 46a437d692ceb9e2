"""Files of lines that grow, are cut off, replaced, damaged, or too long. Covers vaults.transcripts.turn_log where it
goes on."""

from __future__ import annotations

import json
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from tests.vaults.transcripts.reading import Follower
from vaults.errors import InvalidArgument
from vaults.transcripts import grown_lines
from vaults.transcripts.jsonl import READER


def line(text: str, role: str = "user") -> bytes:
    return json.dumps({"role": role, "content": text}).encode() + b"\n"


def texts(follower: Follower) -> list[str]:
    return [turn.text for turns in follower.turns.values() for turn in turns]


def look(follower: Follower) -> list[tuple[bool, list[str]]]:
    return [(each.whole, [turn.text for turn in each.turns]) for each in follower.look()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_an_unfinished_line_is_left_for_the_next_time(path: Path) -> None:
    path.write_bytes(line("one") + line("tw\u00f6")[:-5])
    follower = Follower(READER, path)
    assert look(follower) == [(True, ["one"])]
    assert look(follower) == []
    add(path, line("tw\u00f6")[-5:])
    assert look(follower) == [(False, ["tw\u00f6"])]


def test_a_last_line_that_is_whole_needs_no_end(path: Path) -> None:
    path.write_bytes(line("one") + line("two").rstrip())
    follower = Follower(READER, path)
    assert look(follower) == [(True, ["one", "two"])]
    add(path, b"\n" + line("three"))
    assert look(follower) == [(False, ["three"])]


def test_a_file_that_was_cut_off_is_read_whole(path: Path) -> None:
    path.write_bytes(line("one") + line("two"))
    follower = Follower(READER, path)
    follower.look()
    path.write_bytes(line("one"))
    assert look(follower) == [(True, ["one"])]
    path.write_bytes(b"")
    assert look(follower) == []


def test_a_file_that_was_replaced_is_read_whole(path: Path) -> None:
    path.write_bytes(line("one"))
    follower = Follower(READER, path)
    follower.look()
    path.with_name("new").write_bytes(line("one") + line("two"))
    path.with_name("new").replace(path)
    assert look(follower) == [(True, ["one", "two"])]


def test_a_file_that_says_something_else_is_read_whole(path: Path) -> None:
    path.write_bytes(line("one"))
    follower = Follower(READER, path)
    follower.look()
    inode = path.stat().st_ino
    path.write_bytes(line("ten") + line("two"))
    assert path.stat().st_ino == inode
    assert look(follower) == [(True, ["ten", "two"])]


def test_damaged_lines_are_passed_over(path: Path) -> None:
    lone = b'{"role": "user", "content": "half \\ud800 \\u0000 and \\ud83d\\ude00"}\n'
    path.write_bytes(
        b"\xef\xbb\xbf" + line("one") + b"\0\0\0\0" + line("two") + b"\xff\xfe{\n[1]\nnull\n{]\n\n" + b"[" * 100_000
        + b"\n" + b'{"a":' * 100_000 + b"\n" + lone + b'{"role": "user", "content": "\xff"}\n'
    )  # fmt: skip
    follower = Follower(READER, path)
    follower.look()
    assert texts(follower) == ["one", "two", "half \ufffd  and \U0001f600", "\ufffd"]


def test_a_line_that_is_too_long_is_passed_over_in_pieces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grown_lines, "LINE_LIMIT", 100)
    path.write_bytes(line("one") + line("x" * 90))
    follower = Follower(READER, path, max_bytes=50)
    follower.look()
    assert texts(follower) == ["one"]
    path.write_bytes(line("one") + b'{"content": "' + b"x" * 1000)
    follower = Follower(READER, path, max_bytes=50)
    follower.look()
    assert texts(follower) == ["one"]
    assert follower.place.offset > 900
    add(path, b"x" * 500)
    follower.look()
    add(path, b'"}\n' + line("two"))
    assert look(follower) == [(False, ["two"])]


def test_memory_stays_flat(path: Path) -> None:
    with path.open("wb") as file:
        for number in range(40):
            file.write(line(f"{number} " + "word " * 50_000))
        file.write(b"x" * (80 << 20))
    assert path.stat().st_size > 85 << 20
    tracemalloc.start()
    follower = Follower(READER, path, max_bytes=1 << 20)
    follower.look()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(texts(follower)) == 40
    assert peak < 3 * grown_lines.LINE_LIMIT


def test_what_is_no_file_does_not_make_it_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("pipe.jsonl", "."):
        with pytest.raises((InvalidArgument, IsADirectoryError)):
            Follower(READER, tmp_path / name).look()


@pytest.mark.parametrize("state", ["", "{", "[]", '{"inode": "x"}', '{"log": 3}', '{"inode": INODE, "log": 3}'])
def test_a_place_that_cannot_be_understood_begins_anew(path: Path, state: str) -> None:
    path.write_bytes(line("one"))
    follower = Follower(READER, path)
    follower.look()
    inode = path.stat().st_ino
    follower.place = replace(follower.place, state=state.replace("INODE", str(inode)))
    assert look(follower) == [(True, ["one"])]
