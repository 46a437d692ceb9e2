"""``python -m bench.quality.evidence``: how much of what answers a question packs and searches hold for their tokens.

Evidence is the text that the set says answers a question, sentence by sentence: the share of it, in characters, that
stands in the answer. Sets are stored as memories, as transcripts, and as sections of documents and of notes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import servers, wire
from bench.quality import queries, sets, stored_sets
from bench.quality.sets import JudgedSet, JudgedTask
from bench.quality.stored_sets import SUBJECT, StoredSets
from bench.run import OUT, ROOT
from bench.wire import RequestLoad, VaultEndpoint, result_of
from vaults.search import tokenizer

PLACES = (ROOT.parent / "shared" / "bench", ROOT / "shared" / "bench")
BUDGETS, CLIENTS = (1_000, 2_500, 5_000), 2
COUNTED = "single-hop"
"""The questions of LoCoMo that count: each is answered by what stands at one place."""

_PAGES = replace(sets.BY_NAME["hotpotqa"], store="pages", as_pages="documents")
FEEDS: Mapping[str, JudgedTask] = {
    "LoCoMo, memories": sets.BY_NAME["locomo"],
    "LoCoMo, transcripts": sets.BY_NAME["transcripts"],
    "HotpotQA, memories": sets.BY_NAME["hotpotqa"],
    "HotpotQA, documents": _PAGES,
    "HotpotQA, notes": replace(_PAGES, store="notes", as_pages="notes"),
}
FLOORS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "LoCoMo, memories": {"context": (1.01, 0.395, 0.200), "search": (0.815, 0.374, 0.312)},
    "LoCoMo, transcripts": {"context": (1.50, 1.50, 1.50), "search": (0.91, 0.475, 0.465)},
    "HotpotQA, memories": {"context": (0.97, 0.395, 0.195), "search": (0.898, 0.388, 0.325)},
    "HotpotQA, documents": {"context": (0.97, 0.905, 0.905), "search": (0.853, 0.365, 0.262)},
    "HotpotQA, notes": {"context": (0.95, 0.390, 0.194), "search": (0.843, 0.376, 0.342)},
}
"""Evidence for each 1,000 tokens that may not be missed, by feed and tool, one for each of ``BUDGETS``."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class EvidenceHeld:
    """Of all questions: mean share of the evidence that an answer holds, and mean tokens of an answer."""

    tool: str
    budget: int
    share: float
    tokens: float

    @property
    def rate(self) -> float:
        """Share of the evidence for each 1,000 tokens."""
        return 1_000 * self.share / self.tokens


def measure(data: Path, out: Path, feed: str, budgets: Sequence[int] = BUDGETS) -> Iterator[EvidenceHeld]:
    """A row for each tool and budget."""
    judged = _read(data, FEEDS[feed])
    with stored_sets.copy_stored_set(StoredSets(out / "stored"), judged, {}) as ready:
        token = ready.tokens[SUBJECT]
        with servers.run_server(servers.SERVE, ready.data) as server:
            for vault in judged.vaults:
                queries.warm(server.port, token, vault)
            for tool in ("context", "search"):
                for budget in budgets:
                    yield _ask(judged, server.port, token, tool, budget)


def _read(data: Path, task: JudgedTask) -> JudgedSet:
    whole = sets.read_set(data, task)
    path = data / task.folder / "queries.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    wanted = {row["id"] for row in rows if row["category"] == COUNTED}
    chosen = tuple(question for question in whole.questions if question.id in wanted)
    return replace(whole, questions=chosen or whole.questions)


def _ask(judged: JudgedSet, port: int, token: str, tool: str, budget: int) -> EvidenceHeld:
    texts = {document.id: document.arguments["content"] for document in judged.documents}
    requests = [
        VaultEndpoint(port, question.vault, token).call(tool, _arguments(tool, question.text, budget))
        for question in judged.questions
    ]
    bodies = wire.drive(RequestLoad(port, CLIENTS, requests, 1 << 24)).bodies
    held, tokens = [], []
    for question, body in zip(judged.questions, bodies, strict=True):
        answer = result_of(body)
        said = answer["prompt"] if tool == "context" else "\n".join(hit["text"] for hit in answer["hits"])
        held.append(share_held([texts[name] for name in question.relevant], said))
        tokens.append(_count_tokens(tool, answer))
        if tokens[-1] > budget:
            raise RuntimeError(f"{tool}: an answer of {tokens[-1]} tokens for {budget}")
    return EvidenceHeld(tool, budget, sum(held) / len(held), sum(tokens) / len(tokens))


def _arguments(tool: str, query: str, budget: int) -> dict[str, Any]:
    if tool == "context":
        return {"query": query, "budget_tokens": budget, "format": "prompt"}
    return {"query": query, "max_tokens": budget}


def _count_tokens(tool: str, answer: Mapping[str, Any]) -> int:
    if tool == "context":
        return int(answer["budget"]["used"])
    return tokenizer.count_tokens(json.dumps(answer, ensure_ascii=False))


def share_held(texts: Sequence[str], said: str) -> float:
    """The mean share of each text's sentences that were said, in characters."""
    shares, said = [], _plain(said)
    for text in texts:
        sentences = [_plain(each) for each in _SENTENCE.split(text) if each.strip()]
        shares.append(sum(len(each) for each in sentences if each in said) / sum(map(len, sentences)))
    return sum(shares) / len(shares)


def _plain(text: str) -> str:
    return " ".join(text.split())


def main(argv: Sequence[str] | None = None) -> int:
    """0, also where the sets are not there; 1 when a floor does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.evidence", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the judged sets")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where what is stored is kept")
    parser.add_argument("--feed", nargs="+", choices=FEEDS, default=list(FEEDS), help="some of them")
    given = parser.parse_args(argv)
    data = given.data or next((place for place in PLACES if place.is_dir()), PLACES[0])
    from server.settings import export_environment

    export_environment()
    print(f"{'evidence held':24}{'tool':10}{'budget':>8}{'share':>8}{'tokens':>8}{'of 1,000':>10}{'at least':>10}")
    lost = 0
    for feed in given.feed:
        if not sets.is_present(data, FEEDS[feed]):
            print(f"skipped: {feed}: its files are not in {data / FEEDS[feed].folder}")
            continue
        for row in measure(data, given.out, feed):
            floor = floor_of(feed, row)
            lost = max(lost, int(row.rate < floor))
            print(_line(feed, row, floor), flush=True)
    return lost


def floor_of(feed: str, row: EvidenceHeld) -> float:
    """What a row may not fall below."""
    return FLOORS[feed][row.tool][BUDGETS.index(row.budget)]


def _line(feed: str, row: EvidenceHeld, floor: float) -> str:
    met = "met" if row.rate >= floor else "MISSED"
    figures = f"{row.budget:8,}{row.share:8.3f}{row.tokens:8.0f}{row.rate:10.3f}{floor:10.3f}"
    return f"{feed:24}{row.tool:10}{figures}  {met}"


if __name__ == "__main__":
    sys.exit(main())
