"""Real work: four conversations in four vaults, stored and asked over HTTP by four writers.

The data (snap-research/LoCoMo, CC BY-NC 4.0) is read where it lies, and never copied.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import data_folders, ranking, servers, wire
from bench.figures import Figure, skipped_figure
from bench.measurements import p50, to_ms
from bench.quality import baselines
from bench.run import ROOT, Run
from bench.wire import LoadResult, RequestLoad, VaultEndpoint, result_of

PLACES = (ROOT.parent / "shared" / "bench" / "locomo", ROOT / "shared" / "bench" / "locomo")
DEPTH, CLIENTS, BUDGET = 20, 4, 50_000
LEFT_OUT = "adversarial"
NAME = "LoCoMo turns, R@10"


@dataclass(frozen=True, slots=True)
class Conversations:
    """The corpus, the questions that count, and which turns answer them."""

    turns: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    relevant: dict[str, set[str]]

    @property
    def groups(self) -> list[str]:
        """The conversations' names."""
        return list(dict.fromkeys(turn["group"] for turn in self.turns))


def measure(run: Run) -> Iterator[Figure]:
    """Mean share of the relevant turns among the first ten, without adversarial questions."""
    found = run.locomo or next((place for place in PLACES if place.is_dir()), None)
    if found is None or not (found / "corpus.jsonl").is_file():
        yield skipped_figure(NAME, "the conversations are not here; --data names their folder")
        return
    given = read_conversations(found)
    with run.folder("locomo") as folder:
        ready = data_folders.prepare_folder(
            folder / "data", {vault_name(group): (vault_name(group),) for group in given.groups}
        )
        with servers.run_server(servers.SERVE, ready.data) as server:
            doors = {
                group: VaultEndpoint(server.port, vault_name(group), ready.tokens[vault_name(group)])
                for group in given.groups
            }
            with run.report_progress(
                f"LoCoMo: store {len(given.turns):,} turns, ask {len(given.questions)} questions twice"
            ):
                stored = _store(given, doors)
                runs = {mode: _ask_all(given, doors, mode) for mode in ("hybrid", "keyword")}
    run.out.mkdir(parents=True, exist_ok=True)
    for mode, (_, ranked) in runs.items():  # what score.py reads: ids and places, no text
        (run.out / f"locomo.{mode}.run").write_text("\n".join(trec_lines(ranked)) + "\n", encoding="utf-8")
    plain = ranking.score(dict(plain_bm25(given)), given.relevant)
    yield from _figures(given, stored, runs, plain)


def read_conversations(folder: Path) -> Conversations:
    """Turns in order; judged questions but the adversarial ones."""
    questions = {each["id"]: each for each in _lines(folder / "queries.jsonl")}
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, turn, grade = line.split("\t")
        if int(grade) > 0 and questions[query]["category"] != LEFT_OUT:
            relevant[query].add(turn)
    asked = [question for name, question in questions.items() if name in relevant]
    return Conversations(list(_lines(folder / "corpus.jsonl")), asked, dict(relevant))


def vault_name(group: str) -> str:
    """A conversation's vault."""
    return group.lower()


def plain_bm25(conversations: Conversations) -> Iterator[tuple[str, list[str]]]:
    """What SQLite alone gives."""
    turns = [(turn["group"], turn["text"]) for turn in conversations.turns]
    asked = [(question["group"], question["text"]) for question in conversations.questions]
    for question, places in zip(conversations.questions, baselines.rank_by_bm25(turns, asked), strict=True):
        yield question["id"], [conversations.turns[place]["id"] for place in places[:DEPTH]]


def _store(conversations: Conversations, doors: Mapping[str, VaultEndpoint]) -> LoadResult:
    requests = [doors[turn["group"]].call("remember", _memory(turn)) for turn in conversations.turns]
    driven = wire.drive(RequestLoad(next(iter(doors.values())).port, CLIENTS, requests, 4096))
    for body in driven.bodies:
        stored = result_of(body)
        if stored.get("duplicate_of") or stored["embedding"] != "ready":
            raise RuntimeError(f"not stored as it should be: {stored}")
    return driven


def _memory(turn: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "content": turn["text"],
        "type": "episodic",
        "author": turn["speaker"],
        "parent": turn["session"],
        "position": turn["turn"],
        "occurred_at": f"{turn['timestamp']}Z",
        "external_id": turn["id"],
    }


def _ask_all(
    conversations: Conversations, doors: Mapping[str, VaultEndpoint], mode: str
) -> tuple[LoadResult, dict[str, list[str]]]:
    arguments = {"mode": mode, "limit": DEPTH, "max_tokens": BUDGET}
    requests = [
        doors[each["group"]].call("recall", {**arguments, "query": each["text"]}) for each in conversations.questions
    ]
    driven = wire.drive(RequestLoad(next(iter(doors.values())).port, 1, requests, 1 << 20))
    ranked = {}
    for question, body in zip(conversations.questions, driven.bodies, strict=True):
        answer = result_of(body)
        if answer["mode_used"] != mode or answer.get("truncated"):
            raise RuntimeError(f"{mode} was asked, {answer['mode_used']} given; truncated: {answer.get('truncated')}")
        ranked[question["id"]] = [hit["external_id"] for hit in answer["hits"]]
    return driven, ranked


def _figures(
    conversations: Conversations,
    stored: LoadResult,
    runs: Mapping[str, tuple[LoadResult, dict[str, list[str]]]],
    plain: Mapping[str, float],
) -> Iterator[Figure]:
    scores = {mode: ranking.score(ranked, conversations.relevant) for mode, (_, ranked) in runs.items()}
    said = {mode: " ".join(f"{name} {value:.3f}" for name, value in found.items()) for mode, found in scores.items()}
    bm25 = " ".join(f"{name} {value:.3f}" for name, value in plain.items())
    speed = f"{len(stored.seconds) / stored.wall:.0f} stores/s, recall p50 {to_ms(p50(runs['hybrid'][0].seconds))}"
    raw = f"n {len(conversations.relevant)}; hybrid {said['hybrid']}; plain BM25 {bm25}; {speed}"
    numbers = {"hybrid": scores["hybrid"], "plain_bm25": dict(plain), "questions": len(conversations.relevant)}
    yield Figure(
        f"{NAME}, hybrid (limit: plain BM25)",
        scores["hybrid"]["R@10"],
        limit=plain["R@10"],
        sense=">=",
        unit="",
        raw=raw,
        numbers=numbers,
    )
    raw = f"mode = keyword through the same tool: {said['keyword']}"
    yield Figure(f"{NAME}, keyword alone", scores["keyword"]["R@10"], raw=raw, numbers=scores["keyword"])


def trec_lines(ranked: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """A run as ``score.py`` reads it, to check these figures with."""
    for query, names in ranked.items():
        for place, name in enumerate(names):
            yield f"{query} Q0 {name} {place + 1} {1000 - place} strongroom"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
