"""The sets by language: our questions, what is made of a manual's pages, and what is said where it cannot be had."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from bench.quality import __main__ as command
from bench.quality import by_language, manual, packaged_models, runs, sets, table
from bench.quality.manual import ManualSection, NoManualError
from bench.quality.own_scores import OwnScorer
from bench.quality.queries import AnsweredRun
from bench.quality.runs import SetResults
from bench.quality.sets import BY_NAME, LANGUAGES, JudgedSet
from bench.quality.stored_sets import StoredSets
from tests.embedding_servers import EmbeddingServer

PAGE = """<html><body><div class="chapter"><div class="titlepage"><h1><a id="_boats"/>Kapitel 1. Boote</h1></div>
<div class="toc"><p>1.1. Der Reiher</p></div><p>Das  blaue
Boot.</p><div class="section"><div class="titlepage"><h2><a id="_heron"/>1.1. Der Reiher</h2></div>
<pre>$ ls</pre><table><tr><td>ein</td> <td>zwei</td></tr></table></div>
<div class="section"><div class="titlepage"><h2><a id="_empty"/>1.2. Leer</h2></div></div></div></body></html>"""

QUESTIONS = """
[[question]]
answers = ["_boats", "_heron"]
en = "Which boat?"
de = "Welches Boot?"
"""


@pytest.fixture
def small(tmp_path: Path) -> JudgedSet:
    """One question over two sections; both answer it."""
    (tmp_path / "questions.toml").write_text(QUESTIONS, encoding="utf-8")
    asked = by_language.read_questions(tmp_path / "questions.toml")
    by_language.write_set(tmp_path / "de", asked, "de", list(manual.read_sections(PAGE.encode())))
    return sets.read_set(tmp_path, BY_NAME["manual-de"])


def test_every_question_is_asked_in_five_languages_of_one_section() -> None:
    asked = by_language.read_questions()
    assert len(asked) >= 100
    assert {tuple(question.texts) for question in asked} == {tuple(LANGUAGES)}
    assert len({question.id for question in asked}) == len(asked)
    for language in LANGUAGES:
        texts = [question.texts[language] for question in asked]
        assert len(set(texts)) == len(texts)
        assert all(text.strip() == text and text.endswith(("?", "\uff1f")) for text in texts)


def test_sections_are_read_without_those_inside_them() -> None:
    assert list(manual.read_sections(PAGE.encode())) == [
        ManualSection("_boats", "Kapitel 1. Boote", "Das blaue Boot."),
        ManualSection("_heron", "Der Reiher", "$ ls\nein zwei"),
    ]


def test_a_set_asks_in_its_language_and_any_answer_counts(small: JudgedSet) -> None:
    (question,) = small.questions
    assert (question.text, question.relevant) == ("Welches Boot?", {"_boats", "_heron"})
    assert small.documents[1].arguments == {"content": "$ ls\nein zwei", "title": "Der Reiher", "external_id": "_heron"}
    assert small.vaults == ("manual-de",)


def test_languages_share_a_vault_by_what_is_read_and_only_their_own_has_floors() -> None:
    both = BY_NAME["manual-en-de"]
    assert (both.store, both.languages, both.goals) == ("manual-de", ("en", "de"), ())
    assert all(BY_NAME[f"manual-{name}"].goals for name in LANGUAGES)


def test_a_manual_without_the_section_that_answers_is_refused(tmp_path: Path) -> None:
    asked = by_language.read_questions()
    with pytest.raises(NoManualError, match=r"no section .*_make"):
        by_language.write_set(tmp_path, asked, "en", [ManualSection(asked[0].answers[0], "One", "text")])


def as_package(pages: dict[str, str]) -> bytes:
    """A Debian package of them: an ``ar`` archive of three members."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in pages.items():
            member = tarfile.TarInfo(manual.PAGES + name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    package = b"!<arch>\n"
    for name, body in (("debian-binary", b"2.0\n"), ("control.tar", b""), ("data.tar", data.getvalue())):
        package += (
            f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(body):<10}`\n".encode() + body + b"\n" * (len(body) % 2)
        )
    return package


def test_the_pages_of_a_package_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = PAGE.replace("_boats", "_ferry").replace("_heron", "_pier")
    package = as_package({"ch02.de.html": second, "ch01.de.html": PAGE, "ch01.en.html": PAGE, "index.de.html": PAGE})
    (tmp_path / "debian-reference-de_2.100_all.deb").write_bytes(package)
    monkeypatch.setattr(manual, "PACKAGES", {"de": ("de", hashlib.sha256(package).hexdigest())})
    assert [section.id for section in manual.read_manual(tmp_path, "de")] == ["_boats", "_heron", "_ferry", "_pier"]


def test_another_package_than_was_judged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "debian-reference-de_2.100_all.deb").write_bytes(b"!<arch>\n")
    with pytest.raises(NoManualError, match="not the one that was judged"):
        manual.read_manual(tmp_path, "de")


def test_where_the_manual_cannot_be_had_it_says_so_and_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "apt-get").write_text("#!/bin/sh\necho 'E: Unable to locate package' >&2\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.main(["--only", "manual-de", "manual-en-de", "--out", str(tmp_path / "out")]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("skipped: manual in German: debian-reference-de 2.100 cannot be had")
    assert line.endswith("E: Unable to locate package")


def test_own_figures_are_those_of_the_definitions(small: JudgedSet) -> None:
    scores = OwnScorer()
    found = scores.score(small, "default", {small.questions[0].id: ["_x", "_heron", "_boats"]}, intervals=True)
    assert found.values["R@1"] == 0
    assert (found.values["R@5"], found.values["MRR"], found.values["All@10"]) == (1, 0.5, 1)
    assert found.values["nDCG@10"] == pytest.approx((1 / 1.58496 + 0.5) / (1 + 1 / 1.58496), abs=1e-4)
    assert found.interval["MRR"] == (0.5, 0.5)
    none = scores.compare(small, "none", {}, "default")
    assert (none.values["Any@10"], none.p["R@10"]) == (0, 1)


def test_a_set_by_language_has_its_rows_with_floors_or_without(small: JudgedSet) -> None:
    row = OwnScorer().score(small, "default", {small.questions[0].id: ["_boats"]}, intervals=True)
    block = SetResults(small, rows=dict.fromkeys(table.SYSTEMS, row))
    block.answered["default"] = AnsweredRun({small.questions[0].id: ["_boats"]}, 0.01)
    about = {"machine": dict.fromkeys(command.machine.describe_machine(), "x"), "model": "m", "tool": "search"}
    text = table.markdown([block], {**about, "depth": 20, "seconds": 1.0, "quick": False})
    assert [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| Manual in German |")] == [
        *table.OWN_LANGUAGE
    ]
    assert max(map(len, table.plain([block], {**about, "depth": 2, "seconds": 1.0, "quick": True}).splitlines())) <= 100


def given(*arguments: str) -> argparse.Namespace:
    return command._arguments(arguments)


def test_a_named_model_reaches_the_servers_and_has_no_floors(small: JudgedSet, tmp_path: Path) -> None:
    named = given("--model", "bge-m3", "--endpoint", "http://127.0.0.1:1/api/embed", "--set", "embedding.timeout_s=9")
    assert command._flags(named) == {
        "embedding.model": "bge-m3",
        "embedding.endpoint": "http://127.0.0.1:1/api/embed",
        "embedding.engine": "endpoint",
        "embedding.timeout_s": "9",
    }
    assert command._flags(given()) == {}
    assert command._read(tmp_path, small.task, named).task.goals == ()
    assert command._read(tmp_path, small.task, given()).task.goals == small.task.goals


@pytest.mark.parametrize("wrong", [["--endpoint", "http://127.0.0.1:1/embed"], ["--set", "embedding.batch"]])
def test_an_endpoint_needs_its_model_and_a_setting_its_value(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        given(*wrong)


def test_a_packaged_model_embeds_a_text_once() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[float(len(text))] for text in texts]

    server = packaged_models.make_server(embed, 0)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        for texts in (["ab", "abc"], ["abc"]):
            url = f"http://127.0.0.1:{server.server_port}/v1/embeddings"
            with urlopen(url, json.dumps({"input": texts}).encode()) as answer:
                found = [row["embedding"] for row in json.load(answer)["data"]]
            assert found == [[float(len(text))] for text in texts]
    finally:
        server.shutdown()
        server.server_close()
    assert asked == ["ab", "abc"]


@contextmanager
def served() -> Iterator[EmbeddingServer]:
    """An embedding server, on a loop of its own."""
    loop, server = asyncio.new_event_loop(), EmbeddingServer()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.e2e
def test_a_set_is_measured_with_the_model_of_an_endpoint(small: JudgedSet, tmp_path: Path) -> None:
    with served() as endpoint:
        flags = command._flags(given("--model", "bge-m3", "--endpoint", endpoint.url()))
        (block,) = runs.measure([small], StoredSets(tmp_path / "stored"), OwnScorer(), ablate=False, flags=flags)
    assert block.rows["semantic"].values["R@5"] == 1
    assert {"Welches Boot?"} < {text.rpartition("\n")[2] for text in endpoint.texts}
