"""One step along links from the best results: what they point at answers questions they only touch.

A link is one somebody made from a memory, one in a note's text, or a title that stands in a text. Only candidates are
lifted: on HotpotQA nothing that helps is outside of them. Hubs lift nothing: what everything names says nothing about
the question. A note that the question names is lifted by its name alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from vaults.db.sql import Reader
from vaults.graph.links import adjacency
from vaults.index.blocks import SEPARATOR
from vaults.search.lifts import Lift
from vaults.search.passage_facts import ItemKey, PassageFacts
from vaults.search.title_mentions import MentionText, derive_names, find_mentioned, read_mention_text

MAX_SEEDS = 4
"""Top items whose links count."""

NAMING_KINDS = frozenset({"memory", "note"})
"""Kinds of items whose texts are searched for titles."""

KINDS_READ_FOR_NAMES = frozenset({"memory"})
"""Those of them that are searched even where notes link one another."""

BACKWARD_WEIGHT = 0.5
"""Share of the lift for what points at a seed; what a seed points at gets all of it."""


def lift_linked(
    tx: Reader, known: Mapping[int, PassageFacts], order: Sequence[tuple[int, float]], weight: float, hub: int
) -> Lift:
    """Lifts by the first four items: ``weight`` times their score for what they link to, half of it for what links to
    them. ``order``: candidates, best first."""
    seeds = choose_seeds(known, order)
    if not weight or not seeds:
        return {}
    best: dict[ItemKey, float] = defaultdict(float)
    for source, target in _find_pairs(tx, known, seeds, hub):
        for seed, other, share in ((source, target, 1.0), (target, source, BACKWARD_WEIGHT)):
            if seed in seeds and other != seed:
                best[other] = max(best[other], weight * share * seeds[seed])
    return {passage: best[facts.item] for passage, facts in known.items() if best.get(facts.item, 0.0) > 0}


def choose_seeds(known: Mapping[int, PassageFacts], order: Sequence[tuple[int, float]]) -> dict[ItemKey, float]:
    """The first items of ``order`` and their scores: what they link to is lifted."""
    seeds: dict[ItemKey, float] = {}
    for passage, score in order:
        seeds.setdefault(known[passage].item, score)
        if len(seeds) == MAX_SEEDS:
            break
    return {item: score for item, score in seeds.items() if score > 0}


def _find_pairs(
    tx: Reader, known: Mapping[int, PassageFacts], seeds: Mapping[ItemKey, float], hub: int
) -> Iterator[tuple[ItemKey, ItemKey]]:
    """Links with a seed at one end, from and to, except those to a hub. Notes that link one another are not searched
    for titles: their links say more, and reading costs as much as the rest of a search."""
    yield from _read_memory_relations(tx, seeds, hub)
    notes, kinds = {facts.item[1] for facts in known.values() if facts.item[0] == "note"}, NAMING_KINDS
    if notes:
        yield from _read_memory_note_links(tx, known, seeds, notes, hub)
        written = _read_note_links(tx, seeds, notes, hub)
        yield from written
        kinds = KINDS_READ_FOR_NAMES if written else NAMING_KINDS
    named = [pair for pair in _find_mentions(tx, known, seeds, kinds) if pair[0] != pair[1]]
    times = Counter(target for _, target in named)
    yield from (pair for pair in named if times[pair[1]] <= hub)


def _read_memory_relations(tx: Reader, seeds: Mapping[ItemKey, float], hub: int) -> Iterator[tuple[ItemKey, ItemKey]]:
    numbers = [number for kind, number in seeds if kind == "memory"]
    if not numbers or tx.one("SELECT 1 FROM memory_links LIMIT 1") is None:
        return
    among = ", ".join(map(str, numbers))
    rows = tx.all(
        "SELECT from_memory, to_memory, (SELECT COUNT(*) FROM memory_links h WHERE h.to_memory = l.to_memory)"
        f" FROM memory_links l WHERE from_memory IN ({among}) OR to_memory IN ({among}) LIMIT 500"
    )
    yield from ((("memory", int(row[0])), ("memory", int(row[1]))) for row in rows if int(row[2]) <= hub)


def _read_memory_note_links(
    tx: Reader, known: Mapping[int, PassageFacts], seeds: Mapping[ItemKey, float], notes: Collection[int], hub: int
) -> Iterator[tuple[ItemKey, ItemKey]]:
    """Memories that somebody linked to notes, where one of the two is a seed. Only candidates are counted: how many
    memories speak of a note is not everybody's to learn."""
    memories = {facts.item[1] for facts in known.values() if facts.item[0] == "memory"}
    pairs = adjacency.read_memory_links(tx, memories, notes)
    times = Counter(note for _, note in pairs)
    for memory, note in pairs:
        source, target = ("memory", memory), ("note", note)
        if times[note] <= hub and (source in seeds or target in seeds):
            yield source, target


def _read_note_links(
    tx: Reader, seeds: Mapping[ItemKey, float], notes: Collection[int], hub: int
) -> list[tuple[ItemKey, ItemKey]]:
    """Links in the texts of notes, by the notes they mean. No query runs if no seed is a note."""
    pairs = adjacency.read_note_links(tx, [number for kind, number in seeds if kind == "note"], notes)
    hubs = adjacency.find_hubs(tx, {meant for _, meant in pairs}, hub)
    return [(("note", note), ("note", meant)) for note, meant in pairs if meant not in hubs]


def _find_mentions(
    tx: Reader, known: Mapping[int, PassageFacts], seeds: Mapping[ItemKey, float], kinds: Collection[str]
) -> Iterator[tuple[ItemKey, ItemKey]]:
    """Which item names which, where one of them is a seed. Only texts of ``kinds`` that may hold a name are read."""
    names = _list_names(tx, known) if any(facts.item[0] in kinds for facts in known.values()) else {}
    if not names:
        return
    called = {seed: names[seed] for seed in seeds if seed in names}
    for item, body in _read_bodies(tx, known, lambda item: item[0] in kinds and (item in seeds or bool(called))):
        if item in seeds:
            sought = {name: other for other, several in names.items() for name in several}
        else:
            folded = body.casefold()
            near = {seed: several for seed, several in called.items() if _longest_word(several[-1]) in folded}
            sought = {name: seed for seed, several in near.items() for name in several}
        if sought:
            yield from ((item, sought[name]) for name in find_mentioned(read_mention_text(body), sought))


def _list_names(tx: Reader, known: Mapping[int, PassageFacts]) -> dict[ItemKey, tuple[str, ...]]:
    """The names by which a text may mention each candidate."""
    titled = ", ".join(str(passage) for passage, facts in known.items() if facts.titled)
    if not titled:
        return {}
    rows = tx.all(f"SELECT seq, title FROM passages WHERE seq IN ({titled})")
    found = {known[int(seq)].item: derive_names(title.partition(SEPARATOR)[0]) for seq, title in rows}
    return {item: names for item, names in found.items() if names}


def _read_bodies(
    tx: Reader, known: Mapping[int, PassageFacts], wanted: Callable[[ItemKey], bool]
) -> Iterator[tuple[ItemKey, str]]:
    numbers = ", ".join(str(passage) for passage, facts in known.items() if wanted(facts.item))
    for seq, body in tx.all(f"SELECT seq, body FROM passages WHERE seq IN ({numbers})"):
        yield known[int(seq)].item, body


def _longest_word(name: str) -> str:
    """The word of a name to look for first, as a quick check."""
    return max(name.split(), key=len)


def lift_named_notes(tx: Reader, known: Mapping[int, PassageFacts], text: str, weight: float) -> Lift:
    """``weight`` for passages of notes named in the question. No query runs if no candidate is a note."""
    notes = {facts.item[1] for facts in known.values() if facts.item[0] == "note"}
    if not weight or not notes or not text.strip():
        return {}
    by_name: dict[str, set[int]] = defaultdict(set)
    for note in adjacency.read_note_names(tx, notes):
        for name in {name for each in note.names for name in derive_names(each)}:
            by_name[name].add(note.number)
    row = read_mention_text(text).row
    # People type questions without capitals: here a word in lower case counts, too.
    found = {
        note for name in find_mentioned(MentionText(row, frozenset(row.split())), by_name) for note in by_name[name]
    }
    return {passage: weight for passage, facts in known.items() if facts.item[0] == "note" and facts.item[1] in found}
