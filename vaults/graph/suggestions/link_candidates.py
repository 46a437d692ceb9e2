"""From a text and what a vault knows to the candidates for links, each with its evidence. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from vaults.graph.entity_vectors import Matrix
from vaults.graph.link_feedback.link_trust import Trust
from vaults.graph.names.gazetteer import Gazetteer, is_apart
from vaults.graph.names.lexicon import Lexicon, Sighting, apart, sightings, words_of
from vaults.graph.note_graph import Graph, Node
from vaults.graph.suggestions.evidence import Evidence, Saying
from vaults.graph.suggestions.link_habits import Habits
from vaults.graph.suggestions.name_positions import standing, together
from vaults.markdown.link_resolution import name_key
from vaults.markdown.protected_spans import Span

TIMES = 20
"""Times a note is named that are looked at."""

COMPANIONS, COMMON = 12, 500
"""Notes whose company counts, and links to one from which it is too common to tell."""

KIN = 30
"""Notes the text does not name that are looked at, by each of what they are about and who links them."""

STEPS = 20_000
"""Links followed to find them."""

SURE = 1.0
"""Habit, of a name that is written just so, from which it is company for others."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a vault knows. ``pairs``: notes used together with this one, by path; ``days``: since notes were changed,
    of those that lately were."""

    graph: Graph
    gazetteer: Gazetteer
    lexicon: Lexicon
    habits: Habits
    trust: Trust
    matrix: Matrix
    pairs: Mapping[str, float] = field(default_factory=dict)
    days: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """A text. ``zones``: where no link may be set; ``source``: the note it is or will be, ``path`` where that lies;
    ``linked``: notes it links already; ``vector``: what it is about."""

    text: str
    zones: Sequence[Span]
    path: str = ""
    source: int | None = None
    linked: frozenset[int] = frozenset()
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that may be linked, and where the text names it first in the best way."""

    node: Node
    evidence: Evidence
    place: Sighting | None


def candidates(ground: Ground, asked: Asked) -> list[Candidate]:
    """Every note that the text names or that is near to what it says, but for those it links, itself, and those nobody
    wants to be offered here."""
    seen = _seen(ground, asked)
    likeness = ground.matrix.likeness(asked.vector) if asked.vector else {}
    companions = _companions(ground, asked, seen)
    numbers = [*seen, *(each for each in _unnamed(ground, companions, likeness) if each not in seen)]
    wanted = [number for number in numbers if _is_offered(ground, asked, number)]
    sayings = _sayings(ground, asked, {number: seen[number] for number in wanted if number in seen})
    return [
        Candidate(
            ground.graph.nodes[number],
            _evidence(ground, asked, number, companions, likeness.get(number, 0.0), sayings.get(number)),
            _place(ground, asked, seen.get(number, ()), number),
        )
        for number in wanted
    ]


def _seen(ground: Ground, asked: Asked) -> dict[int, list[Sighting]]:
    """Where the text names each note."""
    mentions = ground.gazetteer.occurrences(asked.text, asked.zones)
    exact = [Sighting(each.start, each.end, each.notes, "exact", len(each.term.split())) for each in mentions]
    others = sightings(ground.lexicon, words_of(asked.text, asked.zones), ground.habits.words)
    found: dict[int, list[Sighting]] = defaultdict(list)
    for each in apart([*exact, *(each for each in others if is_apart(asked.text, each.start, each.end))]):
        for number in each.notes:
            if len(found[number]) < TIMES:
                found[number].append(each)
    return dict(found)


def _is_offered(ground: Ground, asked: Asked, number: int) -> bool:
    node = ground.graph.nodes.get(number)
    if node is None or number == asked.source or number in asked.linked:
        return False
    return name_key(node.title) not in ground.trust.suppressed


def _sayings(ground: Ground, asked: Asked, seen: Mapping[int, Sequence[Sighting]]) -> dict[int, Saying]:
    plain = len(asked.text) - sum(end - start for start, end in asked.zones)
    exact = sum(any(each.kind == "exact" for each in several) for several in seen.values())
    density = 1000 * max(exact, 1) / max(plain, 200)
    return {number: _saying(ground, asked, several, number, density) for number, several in seen.items()}


def _saying(ground: Ground, asked: Asked, seen: Sequence[Sighting], number: int, density: float) -> Saying:
    place = _best(ground, asked, seen, number)
    how = together(standing(asked.text, each.start, each.end) for each in seen)
    return Saying(
        kind=place.kind,
        alike=place.alike,
        words=place.words,
        namesakes=len(place.notes),
        spelled=_is_spelled(ground, asked, place, number),
        capital=how.capital,
        alone=how.alone,
        item=how.item,
        pointed=how.pointed,
        density=density,
    )


def _best(ground: Ground, asked: Asked, seen: Sequence[Sighting], number: int) -> Sighting:
    """The way a note is named that tells most."""
    order = ("fuzzy", "stem", "collapsed", "exact")
    return max(
        seen,
        key=lambda each: (
            _is_spelled(ground, asked, each, number), order.index(each.kind), each.alike, each.words, -each.start,
        ),
    )  # fmt: skip


def _is_spelled(ground: Ground, asked: Asked, place: Sighting, number: int) -> bool:
    """Written as the name is; in another form of it, with the same capitals at least."""
    written, names = asked.text[place.start : place.end], ground.graph.nodes[number].names
    if place.kind == "exact":
        return written in names
    capitals = _capitals(written, place)
    return True in capitals and any(_capitals(name, place) == capitals for name in names)


def _capitals(words: str, place: Sighting) -> list[bool]:
    """Which words begin with one; only the first counts where they are spelt together or apart."""
    found = [word[0].isupper() for word in _WORD.findall(words)]
    return found[:1] if place.kind == "collapsed" else found


_WORD = re.compile(r"[^\W_]+")


def _place(ground: Ground, asked: Asked, seen: Sequence[Sighting], number: int) -> Sighting | None:
    return _best(ground, asked, seen, number) if seen else None


def _companions(ground: Ground, asked: Asked, seen: Mapping[int, Sequence[Sighting]]) -> list[int]:
    """Notes the text links, or names so that it probably should: by them others are known."""
    sure = {
        number: ground.habits.of(number)
        for number, several in seen.items()
        if number in ground.graph.nodes and any(_is_spelled(ground, asked, each, number) for each in several)
    }
    named = sorted((number for number in sure if sure[number] >= SURE), key=lambda number: -sure[number])
    into = ground.graph.into
    telling = (number for number in (*sorted(asked.linked), *named) if 0 < len(into.get(number, ())) <= COMMON)
    return list(islice(dict.fromkeys(telling), COMPANIONS))


def _company(graph: Graph, number: int, companions: Iterable[int]) -> float:
    """Cosine between the sets of notes that link to this one and to others: the mean of the three best."""
    mine = graph.into.get(number)
    if not mine:
        return 0.0
    found = []
    for other in companions:
        theirs = graph.into.get(other)
        if other != number and theirs and (both := len(mine & theirs)):
            found.append(both / float(len(mine) * len(theirs)) ** 0.5)
    best = sorted(found, reverse=True)[:3]
    return sum(best) / len(best) if best else 0.0


def _unnamed(ground: Ground, companions: Iterable[int], likeness: Mapping[int, float]) -> list[int]:
    """Notes that are near to what the text says, whether or not it names them."""
    near = sorted(likeness, key=lambda number: -likeness[number])[:KIN]
    met: Counter[int] = Counter()
    graph = ground.graph
    links = (
        target
        for companion in companions
        for source in islice(graph.into.get(companion, ()), 200)
        for target in graph.out.get(source, ())
    )
    met.update(islice(links, STEPS))
    return list(dict.fromkeys([*near, *(number for number, _ in met.most_common(KIN))]))


def _evidence(
    ground: Ground, asked: Asked, number: int, companions: Sequence[int], likeness: float, saying: Saying | None
) -> Evidence:
    node, graph = ground.graph.nodes[number], ground.graph
    same, kin = _whereabouts(node.path, asked.path) if asked.path else (False, False)
    return Evidence(
        saying,
        habit=ground.habits.of(number),
        category=ground.habits.of_category(node.category),
        company=_company(graph, number, companions),
        same_folder=same,
        kin=kin,
        backlink=asked.source is not None and asked.source in graph.out.get(number, ()),
        pair=ground.pairs.get(node.path, 0.0),
        linked=len(graph.into.get(number, ())),
        days=ground.days.get(number),
        feedback=ground.trust.points.get(name_key(node.title), 0.0),
        likeness=likeness,
    )


def _whereabouts(path: str, source: str) -> tuple[bool, bool]:
    """Whether two notes lie in one folder, and whether one lies in the folder that is named for the other."""
    folder, own = path.rpartition("/")[0], source.rpartition("/")[0]
    stem, mine = path.removesuffix(".md"), source.removesuffix(".md")
    return folder == own, mine == folder or stem == own
