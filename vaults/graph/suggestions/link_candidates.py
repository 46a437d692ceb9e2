"""Finds the notes a text may be linked to, each with its evidence. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.link_feedback.link_trust import FolderTrust
from vaults.graph.names.gazetteer import Gazetteer, is_whole_words
from vaults.graph.names.lexicon import Lexicon, Sighting, drop_overlapping, find_sightings, split_words
from vaults.graph.note_graph import Graph, Node
from vaults.graph.suggestions.evidence import LinkEvidence, MentionEvidence
from vaults.graph.suggestions.link_habits import LinkHabits
from vaults.graph.suggestions.name_positions import merge_positions, read_position
from vaults.markdown.link_resolution import name_key
from vaults.markdown.protected_spans import TextSpan

MAX_MENTIONS = 20
"""Mentions of a note that are used."""

COMPANIONS, COMMON = 12, 500
"""Notes whose company counts, and links to a note above which it is too common to tell anything."""

MAX_UNNAMED = 30
"""Unnamed notes to consider by what they are about, and as many by who links them."""

MAX_LINKS_FOLLOWED = 20_000
"""Links followed to find the latter."""

SURE = 1.0
"""Habit from which a note named exactly counts as company for others."""


@dataclass(frozen=True, slots=True)
class LinkingContext:
    """What a vault knows. ``pairs``: weights of notes used together with this one, by path; ``days``: days since
    recently changed notes were changed."""

    graph: Graph
    gazetteer: Gazetteer
    lexicon: Lexicon
    habits: LinkHabits
    trust: FolderTrust
    matrix: VectorMatrix
    pairs: Mapping[str, float] = field(default_factory=dict)
    days: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkingText:
    """A text to find links for."""

    content: str
    zones: Sequence[TextSpan]  # where no link may be set
    path: str = ""  # of the note it is or will be
    source: int | None = None  # number of that note
    linked: frozenset[int] = frozenset()  # notes it links already
    vector: bytes | None = None  # what it is about


@dataclass(frozen=True, slots=True)
class LinkCandidate:
    """A note that may be linked. ``place``: its best mention, the first of equals; None if it is not named."""

    node: Node
    evidence: LinkEvidence
    place: Sighting | None


def find_link_candidates(context: LinkingContext, text: LinkingText) -> list[LinkCandidate]:
    """Every note that the text names or is related to, except itself, those it links already, and those suppressed
    here."""
    seen = _find_sightings(context, text)
    likeness = context.matrix.likeness(text.vector) if text.vector else {}
    companions = _find_companions(context, text, seen)
    numbers = [*seen, *(each for each in _find_unnamed(context, companions, likeness) if each not in seen)]
    wanted = [number for number in numbers if _is_offered(context, text, number)]
    mentioned = _gather_mention_evidence(context, text, {number: seen[number] for number in wanted if number in seen})
    return [
        LinkCandidate(
            context.graph.nodes[number],
            _to_evidence(context, text, number, companions, likeness.get(number, 0.0), mention=mentioned.get(number)),
            _find_best(context, text, seen[number], number) if number in seen else None,
        )
        for number in wanted
    ]


def _find_sightings(context: LinkingContext, text: LinkingText) -> dict[int, list[Sighting]]:
    """Where the text names each note."""
    mentions = context.gazetteer.occurrences(text.content, text.zones)
    exact = [Sighting(each.start, each.end, each.notes, "exact", len(each.term.split())) for each in mentions]
    others = find_sightings(context.lexicon, split_words(text.content, text.zones), context.habits.words)
    found: dict[int, list[Sighting]] = defaultdict(list)
    for each in drop_overlapping(
        [*exact, *(each for each in others if is_whole_words(text.content, each.start, each.end))]
    ):
        for number in each.notes:
            if len(found[number]) < MAX_MENTIONS:
                found[number].append(each)
    return dict(found)


def _is_offered(context: LinkingContext, text: LinkingText, number: int) -> bool:
    node = context.graph.nodes.get(number)
    if node is None or number == text.source or number in text.linked:
        return False
    return name_key(node.title) not in context.trust.suppressed


def _gather_mention_evidence(
    context: LinkingContext, text: LinkingText, seen: Mapping[int, Sequence[Sighting]]
) -> dict[int, MentionEvidence]:
    plain = len(text.content) - sum(end - start for start, end in text.zones)
    exact = sum(any(each.kind == "exact" for each in several) for several in seen.values())
    density = 1000 * max(exact, 1) / max(plain, 200)
    return {number: _to_mention_evidence(context, text, several, number, density) for number, several in seen.items()}


def _to_mention_evidence(
    context: LinkingContext, text: LinkingText, seen: Sequence[Sighting], number: int, density: float
) -> MentionEvidence:
    place = _find_best(context, text, seen, number)
    how = merge_positions(read_position(text.content, each.start, each.end) for each in seen)
    return MentionEvidence(
        kind=place.kind,
        alike=place.alike,
        words=place.words,
        namesakes=len(place.notes),
        spelled=_is_spelled(context, text, place, number),
        capital=how.capital,
        alone=how.alone,
        item=how.item,
        pointed=how.pointed,
        density=density,
    )


def _find_best(context: LinkingContext, text: LinkingText, seen: Sequence[Sighting], number: int) -> Sighting:
    """The mention of a note that tells most."""
    order = ("fuzzy", "stem", "collapsed", "exact")
    return max(
        seen,
        key=lambda each: (
            _is_spelled(context, text, each, number), order.index(each.kind), each.alike, each.words, -each.start,
        ),
    )  # fmt: skip


def _is_spelled(context: LinkingContext, text: LinkingText, place: Sighting, number: int) -> bool:
    """Whether a mention is written as the name is, or in another form with the same capitals."""
    written, names = text.content[place.start : place.end], context.graph.nodes[number].names
    if place.kind == "exact":
        return written in names
    capitals = _find_capitals(written, place)
    return True in capitals and any(_find_capitals(name, place) == capitals for name in names)


def _find_capitals(words: str, place: Sighting) -> list[bool]:
    """Which words begin with a capital; of a name joined or split only the first counts."""
    found = [word[0].isupper() for word in _WORD.findall(words)]
    return found[:1] if place.kind == "collapsed" else found


_WORD = re.compile(r"[^\W_]+")


def _find_companions(context: LinkingContext, text: LinkingText, seen: Mapping[int, Sequence[Sighting]]) -> list[int]:
    """Notes the text links, or names so that it probably should: others are judged by their company."""
    sure = {
        number: context.habits.of(number)
        for number, several in seen.items()
        if number in context.graph.nodes and any(_is_spelled(context, text, each, number) for each in several)
    }
    named = sorted((number for number in sure if sure[number] >= SURE), key=lambda number: -sure[number])
    into = context.graph.into
    telling = (number for number in (*sorted(text.linked), *named) if 0 < len(into.get(number, ())) <= COMMON)
    return list(islice(dict.fromkeys(telling), COMPANIONS))


def _measure_company(graph: Graph, number: int, companions: Iterable[int]) -> float:
    """Cosine of the set of notes that link to this one with those that link to others: the mean of the best three."""
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


def _find_unnamed(context: LinkingContext, companions: Iterable[int], likeness: Mapping[int, float]) -> list[int]:
    """Notes related to the text by meaning or by its companions, whether or not it names them."""
    near = sorted(likeness, key=lambda number: -likeness[number])[:MAX_UNNAMED]
    met: Counter[int] = Counter()
    graph = context.graph
    links = (
        target
        for companion in companions
        for source in islice(graph.into.get(companion, ()), 200)
        for target in graph.out.get(source, ())
    )
    met.update(islice(links, MAX_LINKS_FOLLOWED))
    return list(dict.fromkeys([*near, *(number for number, _ in met.most_common(MAX_UNNAMED))]))


def _to_evidence(
    context: LinkingContext,
    text: LinkingText,
    number: int,
    companions: Sequence[int],
    likeness: float,
    mention: MentionEvidence | None,
) -> LinkEvidence:
    node, graph = context.graph.nodes[number], context.graph
    same, kin = _compare_folders(node.path, text.path) if text.path else (False, False)
    return LinkEvidence(
        mention,
        habit=context.habits.of(number),
        category=context.habits.of_category(node.category),
        company=_measure_company(graph, number, companions),
        same_folder=same,
        kin=kin,
        backlink=text.source is not None and text.source in graph.out.get(number, ()),
        pair=context.pairs.get(node.path, 0.0),
        linked=len(graph.into.get(number, ())),
        days=context.days.get(number),
        feedback=context.trust.points.get(name_key(node.title), 0.0),
        likeness=likeness,
    )


def _compare_folders(path: str, source: str) -> tuple[bool, bool]:
    """Whether two notes lie in one folder, and whether one lies in the folder named after the other."""
    folder, own = path.rpartition("/")[0], source.rpartition("/")[0]
    stem, mine = path.removesuffix(".md"), source.removesuffix(".md")
    return folder == own, mine == folder or stem == own
