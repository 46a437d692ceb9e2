"""Judged texts become files that say what they say, are read in by the command, and are held against plain text.

Covers bench.quality.as_files, bench.typeset_pdfs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from bench import servers, typeset_pdfs
from bench.quality import as_files, queries, runs, sets, stored_sets
from bench.quality.queries import AnsweredRun
from bench.quality.runs import SetResults
from bench.quality.scores import RunScores, ScoreScript
from bench.quality.sets import BY_NAME, NEAR, FileKind, JudgedDocument, JudgedSet
from bench.quality.stored_sets import StoredSets
from vaults.formats.document_reader import read_document
from vaults.formats.parsed_document import ParsedDocument, ParseLimits

TITLE = "Of β-cells & their <kin>"
TEXT = "The first flight of a NF-κB finding, in Arabic: مرحبا بكم, was well-known to all who were in the harbour then. "


def written(folder: Path, kind: FileKind, text: str) -> ParsedDocument:
    """A text as a file of a kind, read back."""
    document = JudgedDocument("t1", "v", "", {"title": TITLE, "content": text})
    as_files.write_files(folder, kind, [document])
    (path,) = folder.iterdir()
    return read_document(path.read_bytes(), path.name, None, ParseLimits())


@pytest.mark.parametrize("kind", ["text", "html"])
def test_a_plain_file_and_a_page_say_the_text_and_nothing_else(tmp_path: Path, kind: FileKind) -> None:
    parsed = written(tmp_path, kind, TEXT * 3)
    assert (parsed.title or "").startswith(TITLE)
    assert [(part.heading, " ".join(part.text.split())) for part in parsed.parts] == [(TITLE, (TEXT * 3).strip())]


def test_a_pdf_says_every_word_of_a_text_of_several_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    parsed = written(tmp_path, "pdf", TEXT * 40)
    assert (parsed.title, parsed.parts[-1].locator) == (TITLE, "page 2")
    said = " ".join(part.text for part in parsed.parts)
    assert {*TITLE.split(), *TEXT.split()} - {"مرحبا", "بكم,"} <= set(said.split())
    assert parsed.parts[1].text.split("\n")[0] == TITLE


def test_words_are_divided_where_lines_end_and_none_is_lost() -> None:
    lines = typeset_pdfs._fill(["An", "important", "well-known", "consideration", "x" * 30], 17)
    assert lines == ["An important", "well-known consi-", "deration", "x" * 30]


def test_a_place_names_the_text() -> None:
    judged = JudgedSet(BY_NAME["scifact-pdf"], Path(), (), ())
    assert queries.hit_name({"place": "h00b.4983.pdf, page 1"}, judged) == "h00b.4983"


def test_pages_and_pdfs_are_held_against_plain_text() -> None:
    for name in ("hotpotqa", "scifact"):
        tasks = [BY_NAME[f"{name}-{kind}"] for kind in get_args(FileKind)]
        assert [task.as_files for task in tasks] == list(get_args(FileKind))
        assert [task.beside for task in tasks] == [None, f"{name}-text", f"{name}-text"]
        assert [task.goals[0].within for task in tasks] == [None, NEAR, NEAR]
        assert {task.folder for task in tasks} == {name}
    names = [task.name for task in sets.add_beside([BY_NAME["scifact-pdf"], BY_NAME["scifact-html"]])]
    assert names == ["scifact-text", "scifact-pdf", "scifact-html"]


def test_what_falls_too_far_below_plain_text_is_missed() -> None:
    def results(name: str, found: float) -> SetResults:
        values = {"nDCG@10": found, "R@10": 1.0}
        return SetResults(JudgedSet(BY_NAME[name], Path(), (), ()), {"default": RunScores(values)})

    page = results("scifact-html", 0.88)
    assert page.missed == []
    for plain, missed in ((0.889, []), (0.891, ["nDCG@10"])):
        page.beside = results("scifact-text", plain)
        assert page.missed == missed
        assert page.floors["nDCG@10"] == pytest.approx(plain - NEAR)


def test_what_is_read_in_from_files_depends_on_how_these_are_made_and_read(tmp_path: Path) -> None:
    code = tmp_path / "vaults" / "formats" / "pdf.py"
    code.parent.mkdir(parents=True)
    code.write_text("SIZE = 1\n")
    both = (*stored_sets.SOURCES, *stored_sets.FILE_SOURCES)
    first, first_of_files = stored_sets.code_digest(tmp_path), stored_sets.code_digest(tmp_path, both)
    code.write_text("SIZE = 2\n")
    assert stored_sets.code_digest(tmp_path) == first
    assert stored_sets.code_digest(tmp_path, both) != first_of_files


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two texts and a question, in the layout of the judged sets; nothing of them."""
    folder = tmp_path / "sets" / "scifact"
    folder.mkdir(parents=True)
    rows = [{"id": "7", "title": "Boats", "text": TEXT}, {"id": "8", "title": "Herons", "text": "They stand still."}]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({**row, "group": "all"}) + "\n" for row in rows))
    asked = {"id": "q", "text": "Who knew of the flight?", "group": "all", "category": "claim"}
    (folder / "queries.jsonl").write_text(json.dumps(asked) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t7\t1\n")
    return folder.parent


@pytest.mark.e2e
def test_files_are_read_in_by_the_command_and_found_by_their_names(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    judged = sets.read_set(data, BY_NAME["scifact-pdf"])
    with (
        stored_sets.copy_stored_set(StoredSets(tmp_path / "stored"), judged, {}) as ready,
        servers.run_server(servers.SERVE, ready.data) as server,
    ):
        token = ready.tokens[stored_sets.SUBJECT]
        queries.warm(server.port, token, "scifact-pdf")
        assert queries.ask(judged, server.port, token, "default").ranked["q"][0] == "7"


def test_the_plain_files_are_asked_first_and_told_to_the_others(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(blocks: list[SetResults], *_: object) -> list[tuple[SetResults, str, AnsweredRun]]:
        return [(block, "default", AnsweredRun({"q": ["7"]}, 0.01)) for block in blocks]

    monkeypatch.setattr(runs, "_ask_store", ask)
    monkeypatch.setattr(ScoreScript, "score", lambda *_, **__: RunScores({"nDCG@10": 0.9, "R@10": 0.9}))
    chosen = [sets.read_set(data, BY_NAME[name]) for name in ("scifact-text", "scifact-html")]
    plain, page = runs.measure(chosen, StoredSets(tmp_path), ScoreScript(tmp_path, tmp_path), ablate=False, flags={})
    assert (plain.beside, page.beside) == (None, plain)
