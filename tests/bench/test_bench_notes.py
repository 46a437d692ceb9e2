"""The bench of notes: its made-up vault is what it says, and a lost edit, link or note never passes for a figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from bench import notes_edits, notes_index, notes_moves, notes_parts, notes_saves, notes_vault, raw_files, served_notes
from bench.notes_parts import NoteParts
from bench.served_notes import ServedNotes

LINK = re.compile(r"\[\[([^\[\]|#\n]+)")


@pytest.fixture(params=["found", "made up"])
def parts(request: pytest.FixtureRequest) -> NoteParts:
    return notes_parts.load_parts() if request.param == "found" else notes_parts.invent_parts()


def test_the_same_seed_makes_the_same_notes(parts: NoteParts) -> None:
    first = list(notes_vault.make_notes(50, 7, parts))
    assert first == list(notes_vault.make_notes(50, 7, parts))
    assert first != list(notes_vault.make_notes(50, 8, parts))


def test_made_notes_are_of_ordinary_size_and_kind(parts: NoteParts) -> None:
    made = dict(notes_vault.make_notes(300, 1, parts))
    assert len(made) == 300
    assert 2_000 <= median(map(len, made.values())) <= 3_300
    texts = [data.decode("utf-8-sig").replace("\r\n", "\n") for data in made.values()]
    assert 100 < sum(text.startswith("---\n") for text in texts) < 260
    assert sum(bool(re.search(r"^\* \[[ x]\] ", text, re.M)) for text in texts) > 50
    assert all(re.search(r"(?<!\S)#\S", text) for text in texts)
    assert len({path.rpartition("/")[0] for path in made}) > 3


def test_each_made_note_links_to_others_of_the_vault(parts: NoteParts) -> None:
    made = dict(notes_vault.make_notes(300, 1, parts))
    pages = {path.removesuffix(".md") for path in made} | {Path(path).stem for path in made}
    for data in made.values():
        assert sum(target in pages for target in LINK.findall(data.decode())) >= 2


def test_names_differ_in_more_than_case(parts: NoteParts) -> None:
    paths = [path for path, _ in notes_vault.make_notes(300, 1, parts)]
    assert len({path.casefold() for path in paths}) == len(paths)


def test_a_vault_is_written_as_it_was_made(tmp_path: Path) -> None:
    parts = notes_parts.invent_parts()
    paths = notes_vault.write_notes(tmp_path, 20, 1, parts)
    assert {path: (tmp_path / path).read_bytes() for path in paths} == dict(notes_vault.make_notes(20, 1, parts))
    assert len(list(tmp_path.rglob("*.md"))) == 20


def test_where_no_real_notes_are_parts_are_made_up(tmp_path: Path) -> None:
    assert notes_parts.load_parts(tmp_path / "nowhere").origin == "made up"
    assert notes_parts.load_parts(tmp_path).origin == "made up"


def test_a_note_is_cut_at_headings_but_not_inside_code() -> None:
    body = "before\n# One\ntext\n```sh\n# no heading\n```\n## Two\n#tag\n"
    cut = list(notes_parts.split_sections(body))
    assert cut == ["before\n", "# One\ntext\n```sh\n# no heading\n```\n", "## Two\n#tag\n"]


@pytest.mark.parametrize("lines", [500, 1_000, 100_000])
def test_a_long_note_has_its_lines_and_one_state_in_the_middle(lines: int) -> None:
    text = notes_vault.make_long_note(lines)
    assert text.count("\n") == lines
    assert len(text.encode()) < 5_000_000
    before, after = text.split("State: step 0.")
    assert before.rstrip().endswith(f"## {notes_vault.middle_heading(lines)}")
    assert abs(before.count("\n") - after.count("\n")) < 0.2 * lines


def test_the_baseline_writes_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "vault" / "a").mkdir(parents=True)
    (tmp_path / "vault" / "a" / "b.md").write_bytes(b"x\r\ny")
    (copy,) = raw_files.copy_files(tmp_path / "vault", ["a/b.md"], tmp_path / "raw")
    inode = copy.stat().st_ino
    assert raw_files.time_rewrite([copy]) > 0
    assert copy.read_bytes() == b"x\r\ny"
    assert copy.stat().st_ino != inode
    assert [path.name for path in copy.parent.iterdir()] == ["b.md"]


@pytest.mark.parametrize("style", list(notes_saves.STYLES))
def test_every_save_adds_at_the_end(style: str, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    path.write_bytes(b"old\r\n")
    notes_saves.STYLES[style](path, b"new\n")
    assert path.read_bytes() == b"old\r\nnew\n"


def test_what_is_saved_is_new_each_time() -> None:
    chance = Random(1)
    assert len({notes_saves.make_sentence("keyword", chance) for _ in range(100)}) == 100
    assert len({notes_saves.make_sentence("semantic", chance) for _ in range(100)}) == 100


def edited(text: str, edits: int) -> str:
    added = "".join(f"Added entry {number}\n" for number in range(edits))
    return text.replace("State: step 0.\n", f"State: step {edits}.\n{added}")


def test_a_lost_or_stray_edit_is_noticed(tmp_path: Path) -> None:
    text, path = notes_vault.make_long_note(500), tmp_path / "n.md"
    path.write_text(edited(text, 3))
    notes_edits.check(path, text, 3)
    right = edited(text, 3)
    for wrong in (edited(text, 2), right.replace("Added entry 1\n", ""), right.replace("- [ ]", "* [ ]")):
        path.write_text(wrong)
        with pytest.raises(RuntimeError, match="3 edits"):
            notes_edits.check(path, text, 3)


def test_the_slower_kind_of_edit_counts() -> None:
    took = {"add": [2.0, 2.0], "replace": [3.0, 5.0], "bare": [1.0, 2.0, 2.0, 9.0]}
    figure = notes_edits.figure("x", took, 3.0, 10)
    assert figure.value == 2.0
    assert figure.met


def test_a_link_left_behind_is_noticed(tmp_path: Path) -> None:
    sources = notes_moves.linking_vault(tmp_path, 6)
    new = "Hubs/Hub renamed 0.md"
    with pytest.raises(RuntimeError, match="still links"):
        notes_moves.check(tmp_path, sources, notes_moves.OLD, new)
    for path in sources:
        data = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(data.replace(b"The old hub", b"Hub renamed 0"))
    with pytest.raises(RuntimeError, match="not where"):
        notes_moves.check(tmp_path, sources, notes_moves.OLD, new)
    (tmp_path / notes_moves.OLD).rename(tmp_path / new)
    notes_moves.check(tmp_path, sources, notes_moves.OLD, new)
    (tmp_path / sources[0]).write_text("[[Hub renamed 0]] [[The old hub]]")
    with pytest.raises(RuntimeError, match="still links"):
        notes_moves.check(tmp_path, sources, notes_moves.OLD, new)


def answering(*states: Mapping[str, Any]) -> ServedNotes:
    """A vault whose ``status`` says one thing after the other."""
    said: Iterator[Mapping[str, Any]] = iter(states)
    return ServedNotes(lambda tool, arguments: (0.0, {"notes": dict(next(said))}), lambda seconds: None, Path())


def test_an_index_counts_when_it_is_ready_and_whole() -> None:
    scanning, ready = {"state": "scanning", "notes": 3}, {"state": "ready", "notes": 7}
    beside: list[int] = []
    answering(scanning, scanning, ready).await_index(7, lambda: beside.append(1))
    assert len(beside) == 2
    with pytest.raises(RuntimeError, match="7 notes of 8"):
        answering(ready).await_index(8)


def test_an_index_that_never_agrees_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_notes, "READY_S", 0.0)
    with pytest.raises(RuntimeError, match="not indexed"):
        answering({"state": "unavailable", "notes": 0}, {}).await_index(1)


def test_searches_beside_an_index_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes_index, "ASKS_EVERY_S", 1_000.0)
    answers: Iterator[list[dict[str, Any]]] = iter([[], [{"id": "a"}]])
    served = ServedNotes(
        lambda tool, arguments: (0.0, {"mode_used": "keyword", "hits": next(answers)}), lambda seconds: None, Path()
    )
    beside = notes_index.ConcurrentSearches(served)
    beside()
    beside()  # too soon after the first
    assert beside.first is not None
    assert len(beside.took) == 1
    assert "none found anything" in beside.to_text()
    monkeypatch.setattr(notes_index, "ASKS_EVERY_S", 0.0)
    beside()
    assert len(beside.took) == 2
    assert "found something after" in beside.to_text()


@pytest.mark.parametrize("key", ["id", "path"])
def test_a_hit_is_known_by_its_path(key: str) -> None:
    hit = {"id": "7", "url": "note://7"} | {key: "a/b.md"}
    assert served_notes.is_hit_for(hit, "a/b.md")
    assert not served_notes.is_hit_for(hit, "b.md")
    assert served_notes.is_hit_for({"id": "7", "url": "note://a/b.md"}, "a/b.md")


def test_a_search_in_another_mode_is_no_answer() -> None:
    told = {"mode_used": "keyword", "hits": [], "warnings": ["no model"]}
    with pytest.raises(RuntimeError, match="no model"):
        ServedNotes(lambda tool, arguments: (0.0, told), lambda seconds: None, Path()).search("x", "semantic")


def test_calls_in_process_go_through_dispatch(tmp_path: Path) -> None:
    ready, folder = served_notes.prepare_vault(tmp_path / "data")
    with served_notes.serve_in_process(ready, served_notes.NO_VECTORS) as served:
        assert served.folder == folder
        seconds, stored = served.timed("remember", {"content": "The heron nests on the pier."})
        assert seconds > 0
        assert served.finds(stored["id"], "heron", "keyword")
        served.pause(0.0)
        with pytest.raises(RuntimeError, match="remember failed: invalid_argument"):
            served.ask("remember", {"content": ""})
