"""One step along links from the best results: what they point at answers questions they only touch.

A link is one somebody made, or a title that stands in a text. Only candidates are lifted: on HotpotQA nothing that
helps is outside of them. Hubs lift nothing: what everything names says nothing about the question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.search.facts import Facts, Key
from vaults.search.lifts import Lift
from vaults.search.mentions import mentioned, names_of

SEEDS = 3
"""Results whose links count."""

BACKWARD = 0.5
"""Share of the lift for what points at a seed, beside what a seed points at."""


@dataclass(frozen=True, slots=True)
class _Text:
    """What a candidate item is called, and the text of it that was found."""

    names: tuple[str, ...]
    longest: str
    body: str
    folded: str


def linked(tx: Reader, known: Mapping[int, Facts], order: Sequence[tuple[int, float]], weight: float, hub: int) -> Lift:
    """What the first three items lift: ``weight`` times their score for what they link to, half of it for what links
    to them. ``order``: candidates, best first."""
    seeds = _seeds(known, order)
    if not weight or not seeds:
        return {}
    best: dict[Key, float] = defaultdict(float)
    for source, target in _pairs(tx, known, seeds, hub):
        for seed, other, share in ((source, target, 1.0), (target, source, BACKWARD)):
            if seed in seeds and other != seed:
                best[other] = max(best[other], weight * share * seeds[seed])
    return {passage: best[facts.item] for passage, facts in known.items() if best.get(facts.item, 0.0) > 0}


def _seeds(known: Mapping[int, Facts], order: Sequence[tuple[int, float]]) -> dict[Key, float]:
    seeds: dict[Key, float] = {}
    for passage, score in order:
        seeds.setdefault(known[passage].item, score)
        if len(seeds) == SEEDS:
            break
    return {item: score for item, score in seeds.items() if score > 0}


def _pairs(tx: Reader, known: Mapping[int, Facts], seeds: Mapping[Key, float], hub: int) -> Iterator[tuple[Key, Key]]:
    """Links with a seed at one end, from and to, but for those to a hub."""
    yield from _made(tx, seeds, hub)
    texts = _texts(tx, known)
    if not texts:
        return
    named = [(source, target) for source, target in _named(texts, seeds) if source != target]
    times = Counter(target for _, target in named)
    yield from (pair for pair in named if times[pair[1]] <= hub)


def _made(tx: Reader, seeds: Mapping[Key, float], hub: int) -> Iterator[tuple[Key, Key]]:
    numbers = ", ".join(str(number) for kind, number in seeds if kind == "memory")
    if not numbers:
        return
    rows = tx.all(
        "SELECT from_memory, to_memory, (SELECT COUNT(*) FROM memory_links h WHERE h.to_memory = l.to_memory)"
        f" FROM memory_links l WHERE from_memory IN ({numbers}) OR to_memory IN ({numbers}) LIMIT 500"
    )
    yield from ((("memory", int(row[0])), ("memory", int(row[1]))) for row in rows if int(row[2]) <= hub)


def _texts(tx: Reader, known: Mapping[int, Facts]) -> dict[Key, _Text]:
    """The candidates that have a title, with what was found of each."""
    titled = [passage for passage, facts in known.items() if facts.titled]
    if not titled:
        return {}
    numbers = ", ".join(map(str, sorted(titled)))
    bodies: dict[Key, list[str]] = defaultdict(list)
    titles: dict[Key, str] = {}
    for seq, title, body in tx.all(f"SELECT seq, title, body FROM passages WHERE seq IN ({numbers})"):
        bodies[known[seq].item].append(body)
        titles[known[seq].item] = title
    return {item: _text(titles[item], "\n".join(several)) for item, several in bodies.items()}


def _text(title: str, body: str) -> _Text:
    names = names_of(title)
    longest = max((names[-1] if names else "").split(), key=len, default="")
    return _Text(names, longest, body, body.casefold())


def _named(texts: Mapping[Key, _Text], seeds: Mapping[Key, float]) -> Iterator[tuple[Key, Key]]:
    """Who names whom, where one of them is a seed. A title's longest word is looked for first: that is quick."""
    for seed in seeds:
        if (own := texts.get(seed)) is None:
            continue
        there = {name: item for item, text in texts.items() if _may_hold(own, text) for name in text.names}
        if there:
            yield from ((seed, mention.value) for mention in mentioned(own.body, there))
        names = dict.fromkeys(own.names, seed)
        for item, text in texts.items():
            if item != seed and _may_hold(text, own) and mentioned(text.body, names):
                yield item, seed


def _may_hold(text: _Text, other: _Text) -> bool:
    return bool(other.longest) and other.longest in text.folded
