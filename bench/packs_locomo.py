"""How much of what answers a question a context pack holds: ``python -m bench.packs_locomo``.

The conversations (snap-research/LoCoMo, CC BY-NC 4.0) are read where they lie, and stored and asked through the server.
A turn counts as contained when the pack holds all of its words.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import servers, wire
from bench.figures import Figure
from bench.measurements import p50, to_ms
from bench.quality import queries, sets, stored_sets
from bench.quality.sets import JudgedSet
from bench.quality.stored_sets import SUBJECT, StoredSets
from bench.run import OUT, ROOT
from bench.wire import RequestLoad, VaultEndpoint, result_of

PLACES = (ROOT.parent / "shared" / "bench", ROOT / "shared" / "bench")
TASK = sets.BY_NAME["locomo"]
BUDGET, CLIENTS = 2500, 2
COUNTED, LIMIT = "single-hop", 0.88


@dataclass(frozen=True, slots=True)
class PackCoverage:
    """What a question's pack holds: turns that answer it, of how many, and its size in tokens."""

    contained: int
    relevant: int
    tokens: int


def measure(data: Path, out: Path, budget: int) -> Iterator[Figure]:
    """A figure for each category of questions; the limit is for single-hop ones."""
    judged = sets.read_set(data, TASK, quick=False)
    categories = {row["id"]: row["category"] for row in _lines(data / TASK.folder / "queries.jsonl")}
    with stored_sets.copy_stored_set(StoredSets(out / "stored"), judged, {}) as ready:
        token = ready.tokens[SUBJECT]
        with servers.run_server(servers.SERVE, ready.data) as server:
            for vault in judged.vaults:
                queries.warm(server.port, token, vault)
            held, seconds = _ask_all(judged, server.port, token, budget)
    by_category: dict[str, list[PackCoverage]] = defaultdict(list)
    for question, each in held.items():
        by_category[categories[question]].append(each)
    for category, found in sorted(by_category.items()):
        yield _figure(category, found, budget, seconds)


def _ask_all(judged: JudgedSet, port: int, token: str, budget: int) -> tuple[Mapping[str, PackCoverage], float]:
    texts = {document.id: document.text for document in judged.documents}
    requests = [
        VaultEndpoint(port, question.vault, token).call(
            "context", {"query": question.text, "budget_tokens": budget, "format": "prompt"}
        )
        for question in judged.questions
    ]
    driven = wire.drive(RequestLoad(port, CLIENTS, requests, 1 << 20))
    held = {}
    for question, body in zip(judged.questions, driven.bodies, strict=True):
        pack = result_of(body)
        if pack["budget"]["used"] > budget:
            raise RuntimeError(f"a pack of {pack['budget']['used']} tokens")
        said = _plain(pack["prompt"])
        contained = sum(_plain(texts[turn]) in said for turn in question.relevant)
        held[question.id] = PackCoverage(contained, len(question.relevant), pack["budget"]["used"])
    return held, p50(driven.seconds)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _figure(category: str, found: Sequence[PackCoverage], budget: int, seconds: float) -> Figure:
    share = sum(each.contained / each.relevant for each in found) / len(found)
    whole = sum(each.contained == each.relevant for each in found) / len(found)
    used = sum(each.tokens for each in found) / len(found)
    raw = f"n {len(found)}; all of them {whole:.3f}; {used:.0f} tokens used; p50 {to_ms(seconds)}"
    limit = LIMIT if category == COUNTED and budget == BUDGET else None
    return Figure(f"evidence in {budget:,} tokens, {category}", share, limit=limit, sense=">=", unit="", raw=raw)


def _lines(path: Path) -> Iterator[Mapping[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def main(argv: Sequence[str] | None = None) -> int:
    """0, also where the conversations are not there; 1 when the limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.packs_locomo", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the judged sets")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where what is stored is kept")
    parser.add_argument("--budget", type=int, default=BUDGET, metavar="TOKENS", help="size of the packs")
    given = parser.parse_args(argv)
    data = given.data or next((place for place in PLACES if place.is_dir()), PLACES[0])
    if not sets.is_present(data, TASK):
        print(f"skipped: the conversations are not in {data / TASK.folder}")
        return 0
    from server.settings import export_environment

    export_environment()
    missed = False
    for figure in measure(data, given.out, given.budget):
        print(f"{figure.name}: {figure.value:.3f} {figure.verdict} ({figure.raw})")
        missed = missed or figure.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
