"""Sets links on the names in a text. Pure: the text reads as before, and only brackets and targets are added."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from vaults.graph.names import implicit_names
from vaults.graph.names.gazetteer import Gazetteer, NameMention, list_names
from vaults.graph.names.implicit_names import ImplicitName, NamePattern
from vaults.graph.note_graph import Node
from vaults.markdown.lines import LineCounter
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_target
from vaults.markdown.links import find_links
from vaults.markdown.parser import parse_outline
from vaults.markdown.protected_spans import TextSpan, find_protected_in_scan, find_tables, merge_spans, overlaps_any
from vaults.markdown.scan import Scan, scan

OPT_OUT = "auto_link"
"""The property by which a note opts out of links being set: ``auto_link: false``."""

MAX_NAMESAKES = 100
"""Notes with the same file name above which a link gives the whole path: no shorter spelling is tried."""

# What a target cannot hold, and what would begin code, a comment, a formula or a template in the text around it.
_UNFIT_TARGET = re.compile(r"[\[\]|#^\x00-\x1f`<>\\]|\$|%%|\{\{|^\s|\s$")
UNFIT_WORDS = re.compile(r"[\[\]|\\\n\r]")


@dataclass(frozen=True, slots=True)
class AddedLink:
    """A link that was set: the words it is on, the path of the note it leads to, the line, from 1, and the note's
    title. For a link to a note still to be written, the words stand for both path and title."""

    term: str
    target: str
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class AutolinkedText:
    """A text with links, and the links that were set, in order."""

    text: str
    linked: list[AddedLink] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AutolinkOptions:
    """Where links are wanted."""

    path: str  # of the note
    within: Sequence[TextSpan] | None = None  # spans of its text; None: all of it
    suppressed: frozenset[str] = frozenset()  # keys of titles not to link
    every: bool = False  # link all occurrences of a name, also of one the note links elsewhere
    only: frozenset[str] | None = None  # paths of the notes that may be linked; None: any
    implicit: tuple[NamePattern, ...] = ()  # patterns of names without a note, linked to one still to be written


@dataclass(frozen=True, slots=True)
class LinkPlacement:
    """A link to set on the text from ``start`` to ``end``, written as ``target``; path and title of the note."""

    start: int
    end: int
    target: str
    path: str
    title: str


def add_links(text: str, gazetteer: Gazetteer, options: AutolinkOptions) -> AutolinkedText:
    """``text`` with links on the names of notes in it. A name of several notes is left alone, and so is a name of the
    note itself. Linear; raises on no text."""
    if options.within is not None and not options.within:
        return AutolinkedText(text)
    found = scan(text)
    allowed = [(0, len(text))] if options.within is None else merge_spans(options.within, len(text))
    named = _NamesInText([], [])
    zones = find_protected_in_scan(found, text)
    for start, end in _lines_of(text, allowed):
        named.read(text[start:end], start, _clip_zones(zones, start, end), (gazetteer, options))
    mentions = [each for each in named.mentions if _is_inside(allowed, each)]
    others = [each for each in named.others if _is_inside(allowed, each)]
    if not (mentions or others) or is_opted_out(text):
        return AutolinkedText(text)
    note = _LinkingNote.of(text, found, options)
    places = [*_find_placements(note, gazetteer, mentions), *_place_new_names(note, gazetteer, others)]
    return insert_links(text, found, sorted(places, key=lambda one: one.start))


@dataclass(frozen=True, slots=True)
class _NamesInText:
    """What a text names: notes, and things without a note."""

    mentions: list[NameMention]
    others: list[ImplicitName]

    def read(self, lines: str, at: int, zones: list[TextSpan], by: tuple[Gazetteer, AutolinkOptions]) -> None:
        """Read whole lines that begin at ``at``: no name continues into the next line. ``zones`` are within them."""
        gazetteer, options = by
        found = gazetteer.mentions(lines, zones)
        self.mentions.extend(replace(each, start=each.start + at, end=each.end + at) for each in found)
        if options.implicit:
            taken = merge_spans([*zones, *((each.start, each.end) for each in found)], len(lines))
            further = implicit_names.find_implicit_names(lines, taken, options.implicit)
            self.others.extend(replace(each, start=each.start + at, end=each.end + at) for each in further)


def _lines_of(text: str, spans: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """The lines that hold some merged spans; adjacent lines are joined."""
    start = end = 0
    for first, last in spans:
        if last <= end:
            continue
        line = max(text.rfind("\n", end, first) + 1, end)
        if line > end:
            yield start, end
            start = line
        found = text.find("\n", last)
        end = len(text) if found < 0 else found + 1
    yield start, end


def _clip_zones(zones: Sequence[TextSpan], start: int, end: int) -> list[TextSpan]:
    """The zones within a part of the text, as offsets in that part."""
    first = max(0, bisect_right(zones, (start, start)) - 1)
    after = bisect_right(zones, (end, end))
    return merge_spans(((one - start, other - start) for one, other in zones[first:after]), end - start)


@dataclass(frozen=True, slots=True)
class ChosenLink:
    """A link somebody chose: on the text from ``start`` to ``end``, to the note at ``path``."""

    start: int
    end: int
    path: str


def add_chosen_links(
    text: str, gazetteer: Gazetteer, options: AutolinkOptions, chosen: Sequence[ChosenLink]
) -> AutolinkedText:
    """``text`` with the chosen links, one to each note. Skipped are places that can hold no link, and notes that do not
    exist or for which no link can be spelled."""
    found = scan(text)
    zones, note = find_protected_in_scan(found, text), _LinkingNote.of(text, found, options)
    places: dict[str, LinkPlacement] = {}
    at = 0
    for each in sorted(chosen, key=lambda one: one.start):
        unfit = note.refuses(text[each.start : each.end]) or overlaps_any(zones, each.start, each.end)
        node = None if unfit or each.start < at else find_node(gazetteer, each.path)
        if node is None or each.path in (options.path, *places):
            continue
        target = spell_target(node, note.own, gazetteer)
        if target is not None:
            places[each.path] = LinkPlacement(each.start, each.end, target, node.path, node.title)
            at = each.end
    return insert_links(text, found, list(places.values()))


def find_node(gazetteer: Gazetteer, path: str) -> Node | None:
    """The note at ``path``."""
    found = (gazetteer.nodes[each] for each in gazetteer.keys.get(name_key(stem_of(path)), ()))
    return next((node for node in found if node.path == path), None)


def insert_links(text: str, scan: Scan, places: Sequence[LinkPlacement]) -> AutolinkedText:
    """``text``, scanned as ``found``, with links at ``places``, which are in order and do not overlap."""
    parts: list[str] = []
    at, linked, counter, tabled = 0, [], LineCounter(scan.lines), find_tables(scan) if places else []
    for each in places:
        words = text[each.start : each.end]
        bar = "\\|" if overlaps_any(tabled, each.start, each.end) else "|"
        parts += (text[at : each.start], f"[[{words}]]" if words == each.target else f"[[{each.target}{bar}{words}]]")
        at = each.end
        linked.append(AddedLink(words, each.path, counter.line(each.start), each.title))
    return AutolinkedText("".join((*parts, text[at:])), linked)


def is_opted_out(text: str) -> bool:
    """Whether a note opts out of links being set."""
    if OPT_OUT not in text:
        return False
    value = parse_outline(text).frontmatter.get(OPT_OUT)
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no", "off"))


def _is_inside(allowed: Sequence[TextSpan], mention: NameMention | ImplicitName) -> bool:
    at = bisect_right(allowed, (mention.start, mention.end)) - 1
    at += at + 1 < len(allowed) and allowed[at + 1][0] == mention.start
    return at >= 0 and allowed[at][0] <= mention.start and mention.end <= allowed[at][1]


@dataclass(frozen=True, slots=True)
class _LinkingNote:
    """The note as it will be once written. ``ours``: keys of its names; ``linked``: keys of what it links."""

    own: LinkTarget
    ours: frozenset[str]
    linked: frozenset[str]
    options: AutolinkOptions

    @classmethod
    def of(cls, text: str, scan: Scan, options: AutolinkOptions) -> _LinkingNote:
        note = parse_outline(text)
        own = LinkTarget(options.path, note.title or stem_of(options.path), note.aliases)
        names = (own.title or "", *own.aliases, stem_of(own.path))
        return cls(own, frozenset(name_key(each) for each in names), find_linked_keys(find_links(scan, text)), options)

    def refuses(self, words: str) -> bool:
        """Whether these words cannot hold a link, or name the note itself."""
        return UNFIT_WORDS.search(words) is not None or name_key(words) in self.ours


def _find_placements(
    note: _LinkingNote, gazetteer: Gazetteer, mentions: Sequence[NameMention]
) -> Iterator[LinkPlacement]:
    options, spellings = note.options, dict[int, str | None]()
    for each in mentions:
        node = gazetteer.nodes[each.notes[0]]
        if not _is_wanted(options, each, node) or note.refuses(each.term):
            continue
        if not options.every and (
            node.number in spellings or any(name_key(name) in note.linked for name in list_names(node))
        ):
            continue
        if node.number not in spellings:
            spellings[node.number] = spell_target(node, note.own, gazetteer)
        target = spellings[node.number]
        if target is not None:
            yield LinkPlacement(each.start, each.end, target, node.path, node.title)


def _place_new_names(
    note: _LinkingNote, gazetteer: Gazetteer, found: Sequence[ImplicitName]
) -> Iterator[LinkPlacement]:
    seen = set(note.linked)
    for each in found:
        key = name_key(each.term)
        odd = "/" in each.term or _UNFIT_TARGET.search(each.term) is not None or note.refuses(each.term)
        if odd or key in gazetteer.keys or key in seen or key in note.options.suppressed:
            continue
        seen.add(key)
        yield LinkPlacement(each.start, each.end, each.term, each.term, each.term)


def _is_wanted(options: AutolinkOptions, mention: NameMention, node: Node) -> bool:
    if len(mention.notes) > 1 or node.path == options.path or name_key(node.title) in options.suppressed:
        return False
    return options.only is None or node.path in options.only


def find_linked_keys(found: Sequence[Link]) -> frozenset[str]:
    """Keys of the names in some links: a note with one of these names may be linked already."""
    return frozenset(name_key(each.page) for each in found if each.target)


def stem_of(path: str) -> str:
    """A file's name without its suffix."""
    return path.rpartition("/")[2].rpartition(".")[0]


def spell_target(node: Node, source: LinkTarget, gazetteer: Gazetteer) -> str | None:
    """The shortest way to write a link to a note in the note ``source``: its file name, as much of its path as makes
    that unambiguous, or all of it. Not its title: other programs do not resolve links by title. None if no spelling
    works."""
    whole = node.path.rpartition(".")[0]
    nodes = [node, *(gazetteer.nodes[each] for each in gazetteer.keys.get(name_key(whole), ()))]
    parts, least = whole.split("/"), 1
    if len(nodes) > MAX_NAMESAKES:
        least, nodes = len(parts), [each for each in nodes if each.path.casefold() == node.path.casefold()]
    known = {each.path: LinkTarget(each.path, each.title, each.aliases) for each in nodes} | {source.path: source}
    forms = ["/".join(parts[-count:]) for count in range(least, len(parts) + 1)]
    for form in (*forms, f"/{whole}", node.path, f"/{node.path}"):
        if not _UNFIT_TARGET.search(form) and resolve_target(form, source.path, list(known.values())) == node.path:
            return form
    return None
