"""The quality bench, on made-up sets: what is stored and asked is what the sets say, and a missed floor is told."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.quality import __main__ as command
from bench.quality import as_transcripts, baselines, queries, runs, scores, sets, stored_sets, table
from bench.quality.queries import AnsweredRun
from bench.quality.runs import SetResults
from bench.quality.scores import RunScores, ScoreScript
from bench.quality.sets import BY_NAME, JudgedSet
from bench.quality.stored_sets import StoredSets

TALK = ("The ferry leaves at noon", "I like the blue boat", "Did you see the heron?", "The heron was on the pier")
STUB = """
import json, sys
if "--qrels" in sys.argv and open(sys.argv[sys.argv.index("--qrels") + 1]).readline().startswith("query-id"):
    print(json.dumps({"overall": {"R@5": 0.5}, "ci95": {"R@5": [0.4, 0.6]}, "argv": sys.argv}))
else:
    sys.exit("no header")
"""


def written(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two conversations of two sessions each, in the layout of the judged sets; nothing of them."""
    folder = tmp_path / "sets" / "locomo"
    turns = [
        {
            "id": f"{group}:{number}",
            "title": "not given",
            "text": f"{text} {group}",
            "group": group,
            "session": f"{group}:S{number // 2}",
            "turn": number % 2,
            "speaker": "Ann",
            "timestamp": "2024-05-01T10:00:00",
        }
        for group in ("Talk-A", "Talk-B")
        for number, text in enumerate(TALK)
    ]
    written(folder / "corpus.jsonl", turns)
    asked = [
        {"id": "q0", "text": "When does the ferry leave?", "group": "Talk-A", "category": "temporal"},
        {"id": "q1", "text": "Where was the heron?", "group": "Talk-B", "category": "single-hop"},
        {"id": "q2", "text": "Where was the lion?", "group": "Talk-B", "category": "adversarial"},
        {"id": "q3", "text": "Why?", "group": "Talk-B", "category": "multi-hop"},
    ]
    written(folder / "queries.jsonl", asked)
    lines = ["query-id\tcorpus-id\tscore", "q0\tTalk-A:0\t1", "q1\tTalk-B:3\t1", "q1\tTalk-B:2\t0", "q2\tTalk-B:1\t1"]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    lines = ["query-id\tcorpus-id\tscore", "q0\tTalk-A:S0\t1", "q1\tTalk-B:S1\t1"]
    (folder / "qrels.sessions.tsv").write_text("\n".join(lines) + "\n")
    (folder.parent / scores.SCORER).write_text(STUB)
    return folder.parent


def read(data: Path, name: str) -> JudgedSet:
    return sets.read_set(data, BY_NAME[name])


def test_only_judged_questions_with_a_true_premise_are_asked(data: Path) -> None:
    judged = read(data, "locomo")
    assert {question.id: question.relevant for question in judged.questions} == {"q0": {"Talk-A:0"}, "q1": {"Talk-B:3"}}
    assert judged.vaults == ("talk-a", "talk-b")


def test_a_turn_is_stored_with_its_place_and_without_a_title(data: Path) -> None:
    assert read(data, "locomo").documents[3].arguments == {
        "content": f"{TALK[3]} Talk-A",
        "type": "episodic",
        "author": "Ann",
        "parent": "Talk-A:S1",
        "position": 1,
        "occurred_at": "2024-05-01T10:00:00Z",
        "external_id": "Talk-A:3",
    }


def test_pooled_conversations_share_a_vault(data: Path) -> None:
    pooled = read(data, "pooled")
    assert pooled.vaults == ("pooled",)
    assert {question.vault for question in pooled.questions} == {"pooled"}
    assert pooled.digest != read(data, "locomo").digest == read(data, "sessions").digest


def test_a_paragraph_is_stored_with_its_title(data: Path) -> None:
    written(data / "scifact" / "corpus.jsonl", [{"id": "1", "title": "Boats", "text": "They float.", "group": "all"}])
    written(data / "scifact" / "queries.jsonl", [])
    (data / "scifact" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    (document,) = read(data, "scifact").documents
    assert document.arguments == {"content": "They float.", "title": "Boats", "external_id": "1"}
    assert document.text == "Boats\nThey float."


def test_a_quick_run_keeps_what_answers(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "QUICK_DOCUMENTS", 1)
    pooled = sets.read_set(data, BY_NAME["pooled"], quick=True)
    assert [document.id for document in pooled.documents] == ["Talk-A:0", "Talk-A:1", "Talk-B:2", "Talk-B:3"]
    assert {question.vault for question in sets.read_set(data, BY_NAME["locomo"], quick=True).questions} == {"talk-a"}


def test_a_harvested_conversation_has_the_turns_of_the_set_in_their_places(data: Path, tmp_path: Path) -> None:
    judged = read(data, "harvested")
    here = [document for document in judged.documents if document.vault == "talk-a"]
    as_transcripts.write_sessions(tmp_path, here)
    lines = as_transcripts.read_lines(tmp_path)
    assert [[part["text"] for part in line["parts"]] for line in lines] == [
        [f"{text} Talk-A" for text in TALK[:2]],
        [f"{text} Talk-A" for text in TALK[2:]],
    ]
    assert {line["kind"] for line in lines} == {"document"}
    named = as_transcripts.name_turns(judged)
    at = lines[0]["parts"][0]["at"]
    assert [named["talk-a", at, 0], named["talk-b", at, 0]] == [["Talk-A:2", "Talk-A:3"], ["Talk-B:2", "Talk-B:3"]]


def test_a_transcript_of_people_says_who_spoke(data: Path) -> None:
    first, _ = as_transcripts.to_lines(read(data, "transcripts").documents[:4])
    assert (first["external_id"], [part["author"] for part in first["parts"]]) == ("Talk-A:S0", ["Ann", "Ann"])


@pytest.mark.parametrize("name", ["transcripts", "harvested"])
def test_transcripts_are_searched_as_such_and_a_hit_counts_for_all_it_shows(data: Path, name: str) -> None:
    judged = read(data, name)
    assert queries._arguments("When?", judged, "default")["kinds"] == ["transcript"]
    turns = {("talk-a", "now", 3): ["a", "b"], ("talk-a", "then", 0): ["c"], ("talk-a", "now", 5): ["d"]}
    hits = [{"parent": "x", "occurred_at": "now", "positions": [3, 5]}, {"parent": "y", "occurred_at": "then"}]
    assert queries.name_returned(["x#3", "y#0", "x#5"], hits, turns, "talk-a") == ["a", "b", "c", "d"]


@pytest.mark.parametrize("ranked", [baselines.rank_by_scan, baselines.rank_by_plain_bm25])
def test_the_baselines_stay_in_the_vault_and_roll_turns_up(data: Path, ranked: Any) -> None:
    found = ranked(read(data, "locomo"), 20)
    assert found["q0"][0] == "Talk-A:0"
    assert all(name.startswith("Talk-B") for name in found["q1"])
    assert ranked(read(data, "sessions"), 20)["q1"] == ["Talk-B:S1", "Talk-B:S0"]
    assert ranked(read(data, "sessions"), 1)["q1"] == ["Talk-B:S1"]


def test_a_question_without_words_finds_nothing_by_words() -> None:
    assert list(baselines.rank_by_bm25([("a", "one two")], [("a", "?!"), ("a", "two")])) == [[], [0]]


def test_the_scan_counts_distinct_words_and_keeps_the_order_of_the_corpus(data: Path) -> None:
    assert baselines.rank_by_scan(read(data, "locomo"), 3)["q1"] == ["Talk-B:3", "Talk-B:2", "Talk-B:0"]


def test_comments_do_not_change_what_is_stored_and_code_does(tmp_path: Path) -> None:
    code = tmp_path / "vaults" / "index" / "passages.py"
    code.parent.mkdir(parents=True)
    code.write_text('"""One."""\nSIZE = 1\n')
    first = stored_sets.code_digest(tmp_path)
    code.write_text('"""Two."""\n# words\nSIZE = 1\n')
    (code.parent / "flat_vectors.py").write_text("K = 3\n")
    assert stored_sets.code_digest(tmp_path) == first
    code.write_text("SIZE = 2\n")
    assert stored_sets.code_digest(tmp_path) != first


def test_kept_folders_are_told_apart_by_documents_and_settings(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_sets, "code_digest", cache(stored_sets.code_digest))  # of all code, and four times
    judged = read(data, "locomo")
    plain = stored_sets.folder_key(judged, {})
    assert plain.startswith("locomo.")
    assert stored_sets.folder_key(judged, {"search.fusion": "rrf"}) == plain
    assert stored_sets.folder_key(judged, {"index.passage_tokens": 100}) != plain
    assert stored_sets.folder_key(replace(judged, documents=judged.documents[1:]), {}) != plain


def test_every_ablation_is_named_once_and_changes_the_server_alone() -> None:
    assert len({label for label, _ in runs.ABLATIONS}) == len(runs.ABLATIONS)
    for _, environment in runs.ABLATIONS:
        assert all(name.startswith("STRONGROOM_") and "__" in name for name in environment)
    assert runs.flags_of({"STRONGROOM_SEARCH__NEAR_DUPLICATE": "1"}) == {"search.near_duplicate": "1"}


def test_the_scorer_sees_ids_and_places_only(data: Path, tmp_path: Path) -> None:
    scored = ScoreScript(data / scores.SCORER, tmp_path / "runs").score(
        read(data, "locomo"), "default", {"q0": ["Talk-A:2", "Talk-A:0"]}, intervals=True
    )
    assert (scored.values, scored.interval) == ({"R@5": 0.5}, {"R@5": (0.4, 0.6)})
    lines = (tmp_path / "runs" / "locomo.default.run").read_text().splitlines()
    assert [line.split()[:5] for line in lines] == [
        ["q0", "Q0", "Talk-A:2", "1", "1000"],
        ["q0", "Q0", "Talk-A:0", "2", "999"],
    ]


def test_a_shortened_set_is_scored_on_its_own_questions(data: Path, tmp_path: Path) -> None:
    scorer = ScoreScript(data / scores.SCORER, tmp_path / "runs")
    scorer.score(sets.read_set(data, BY_NAME["locomo"], quick=True), "default", {"q0": ["Talk-A:0"]})
    assert (tmp_path / "runs" / "locomo.quick.qrels.tsv").read_text().splitlines()[1:] == ["q0\tTalk-A:0\t1"]


def test_a_scorer_that_fails_is_no_figure(data: Path, tmp_path: Path) -> None:
    (data / scores.SCORER).write_text("import sys; sys.exit('the same doc twice')")
    with pytest.raises(RuntimeError, match="the same doc twice"):
        ScoreScript(data / scores.SCORER, tmp_path).score(read(data, "locomo"), "default", {})


def measured(data: Path, recall: float) -> SetResults:
    values = dict.fromkeys(scores.MEASURES, 0.9) | {"R@10": recall}
    scored = RunScores(values, dict.fromkeys(values, (0.1, 0.95)), {"R@10": 0.5, "nDCG@10": 0.25})
    block = SetResults(read(data, "locomo"), rows=dict.fromkeys(table.SYSTEMS, scored))
    block.answered["default"] = AnsweredRun({"q0": ["Talk-A:0"], "q1": ["Talk-B:1", "Talk-B:0"]}, 0.01)
    block.changed = {
        "fusion rrf": replace(scored, values=values | {"R@5": 0.8}),
        "no stage": "search.x is not a setting",
    }
    return block


ABOUT = {
    "machine": dict.fromkeys(
        ("cpu", "cores", "memory_gib", "system", "python", "sqlite", *command.machine.PACKAGES), "x"
    ),
    "model": "m",
    "tool": "recall",
    "depth": 20,
    "seconds": 1.0,
    "quick": False,
}


def test_a_missed_floor_is_named(data: Path) -> None:
    (floor,) = [goal.floor for goal in BY_NAME["locomo"].goals if goal.measure == "R@10"]
    below = floor - 0.001
    assert measured(data, floor).missed == []
    assert measured(data, below).missed == ["R@10"]
    assert "MISSED" in table.plain([measured(data, below)], ABOUT)
    assert f"{floor:.3f} (missed)" in table.markdown([measured(data, below)], ABOUT)
    assert "MISSED" not in table.plain([measured(data, floor)], ABOUT)


def test_the_tables_fit_and_say_what_a_stage_is_worth(data: Path) -> None:
    text = table.plain([measured(data, 0.82)], ABOUT)
    assert max(map(len, text.splitlines())) <= table.WIDTH
    assert "-0.100" in text
    assert "search.x is not a setting" in text
    rows = [line for line in table.markdown([measured(data, 0.82)], ABOUT).splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows[:7]} == {11}
    assert {row.count("|") for row in rows[7:]} == {7}


def test_misses_name_what_was_not_found(data: Path) -> None:
    (line,) = table.list_misses(measured(data, 0.8))
    assert (line["id"], line["ranks"], line["first"]) == ("q1", {"Talk-B:3": None}, ["Talk-B:1", "Talk-B:0"])


@pytest.mark.parametrize("gone", ["", "sets"])
def test_without_data_or_scorer_it_says_so_and_ends_well(
    tmp_path: Path, gone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / gone).mkdir(exist_ok=True)
    assert command.main(["--data", str(tmp_path / gone), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")


@pytest.mark.e2e
def test_a_set_is_stored_once_and_asked_through_the_server(data: Path, tmp_path: Path) -> None:
    turns, sessions = read(data, "locomo"), read(data, "sessions")
    shelf = StoredSets(tmp_path / "stored")
    with stored_sets.copy_stored_set(shelf, turns, {}) as ready:
        (kept,) = (tmp_path / "stored").iterdir()
        before = kept.stat().st_mtime_ns
        with runs.servers.run_server(runs.servers.SERVE, ready.data) as server:
            token = ready.tokens[stored_sets.SUBJECT]
            queries.warm(server.port, token, "talk-a")
            found = {run: queries.ask(turns, server.port, token, run).ranked for run in queries.MODES}
            rolled = queries.ask(sessions, server.port, token, "default").ranked
    with stored_sets.copy_stored_set(shelf, sessions, {}):
        assert kept.stat().st_mtime_ns == before
    assert {run: ranked["q0"][0] for run, ranked in found.items()} == dict.fromkeys(queries.MODES, "Talk-A:0")
    assert sorted(rolled["q1"]) == ["Talk-B:S0", "Talk-B:S1"]
