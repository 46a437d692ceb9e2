"""The bench of imports and harvests: what it makes is what it says, and a lost record never passes for a figure."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench import bringing_in, harvests, imports, made_up_pdfs, made_up_sources
from bench.__main__ import PARTS
from bench.bringing_in import EmbeddedReadings, Readings
from bench.measurements import MIB
from bench.run import Run
from tests.vaults.sources.sqlite_fixtures import read_source
from tests.vaults.transcripts.reading import read_once
from vaults.formats.document_reader import read_document
from vaults.formats.parsed_document import ParseLimits
from vaults.sources.known import find_source
from vaults.transcripts.claude_code import READER


@pytest.mark.parametrize("module", [*PARTS, "site", "import_tool", "noop_tool"])
def test_every_part_can_be_loaded(module: str) -> None:
    assert importlib.import_module(f"bench.{module}")


def test_made_memories_are_the_same_for_a_seed_and_have_ids_of_their_own(tmp_path: Path) -> None:
    texts = made_up_sources.write_memories(tmp_path / "a.jsonl", 50)
    assert made_up_sources.write_memories(tmp_path / "b.jsonl", 50) == texts
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert [line["content"] for line in read_source(find_source("jsonl"), tmp_path / "a.jsonl").lines] == texts


def test_a_made_export_is_one_of_chatgpt(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    count = made_up_sources.write_chatgpt_export(path, 60_000)
    found = read_source(find_source("chatgpt"), path)
    assert [len(line["parts"]) for line in found.lines] == [40] * count
    assert 60_000 <= path.stat().st_size < 120_000


def test_a_made_session_is_mostly_what_tools_gave_back(tmp_path: Path) -> None:
    size = made_up_sources.write_sessions(tmp_path, 3, 100_000)
    files = sorted(tmp_path.rglob("*.jsonl"))
    assert size == sum(path.stat().st_size for path in files)
    for path in files:
        turns = read_once(READER, path).turns
        assert 20 < len(turns) < 80
        assert {turn.tool.name for turn in turns if turn.tool} == {"Bash", "Read", "Edit"}
        assert 0.01 < sum(len(turn.text) for turn in turns) / path.stat().st_size < 0.1


def test_made_pdfs_are_read_page_by_page(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    made_up_pdfs.write_pdfs(tmp_path, 2, 3)
    parsed = read_document((tmp_path / "paper-00001.pdf").read_bytes(), "paper.pdf", None, ParseLimits())
    assert (parsed.title, {part.locator for part in parsed.parts}) == ("Paper 1", {"page 1", "page 2", "page 3"})
    assert 3_000 < sum(len(part.text) for part in parsed.parts) < 9_000


def test_a_session_goes_on_for_as_long_as_it_is_asked() -> None:
    records = made_up_sources.session_records("s", "/p", made_up_sources.Sentences(1), Random(1))
    kinds = [next(records)["type"] for _ in range(26)]
    assert kinds == (["user"] + ["assistant", "assistant", "assistant", "user"] * 3) * 2


def given(monkeypatch: pytest.MonkeyPatch, *readings: Any) -> None:
    """Let the processes of the bench have read these."""
    left = list(readings)
    monkeypatch.setattr(bringing_in, "in_process", lambda *_: left.pop(0))
    for module in (imports, harvests):
        monkeypatch.setattr(module, "_prepare", lambda folder, name: folder / name)


def test_rate_and_memory_of_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, Readings(2_000, 0.5, 0.4, 100 * MIB, 130 * MIB))
    rate, grown = imports._measure_words(Run(0.01), tmp_path)
    assert (rate.value, rate.met, grown.value, grown.met) == (4_000, False, 30, True)
    given(monkeypatch, Readings(1_999, 0.5, 0.4))
    with pytest.raises(RuntimeError, match="1999 of 2000"):
        list(imports._measure_words(Run(0.01), tmp_path))


def test_the_share_of_the_embedder_is_of_equal_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, EmbeddedReadings(300, 10.0, 9.0, 9.0, 8.8))
    figure = imports._measure_vectors(Run(0.01), tmp_path)
    assert (figure.value, figure.met) == (0.9, True)


def test_a_dry_run_counts_for_a_gigabyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "time_command", lambda *_: 0.2)
    write = imports._write_lines
    figure = imports._measure_dry_run(Run(0.001), tmp_path, "jsonl", write)
    assert figure.value == pytest.approx(0.2 * 1000 / 5)
    assert not list(tmp_path.iterdir())


def test_turns_that_come_twice_are_no_second_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvests, "LONG", 20_000)
    given(monkeypatch, Readings(100, 1, 1), Readings(1, 1, 1))
    with pytest.raises(RuntimeError, match="came twice"):
        harvests._measure_again(Run(0.001), tmp_path)


async def test_a_pass_that_stores_nothing_knows_what_it_read(tmp_path: Path) -> None:
    made_up_sources.write_sessions(tmp_path / "home", 2, 20_000)
    first = await bringing_in._read_transcripts(tmp_path / "state", tmp_path / "home")
    again = await bringing_in._read_transcripts(tmp_path / "state", tmp_path / "home")
    assert (first.records > 10, again.records) == (True, 0)


def test_a_line_of_a_made_session_is_json_as_the_program_writes_it(tmp_path: Path) -> None:
    made_up_sources.write_sessions(tmp_path, 1, 5_000)
    (path,) = tmp_path.rglob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert {"sessionId", "cwd", "uuid", "timestamp", "message"} <= records[0].keys()
