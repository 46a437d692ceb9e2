"""Links set on the names in a text. Pure: the text reads as before, and nothing but brackets and targets is added."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vaults.graph.gazetteer import Gazetteer, Mention, names_of
from vaults.graph.graph import Node
from vaults.markdown.lines import LineCounter
from vaults.markdown.link import Link
from vaults.markdown.links import links
from vaults.markdown.note import skimmed
from vaults.markdown.resolve import Candidate, name_key, resolve
from vaults.markdown.scan import Scan, scan
from vaults.markdown.zones import Span, overlapping, protected_in, tables, united

OPT_OUT = "auto_link"
"""The property by which a note says that it wants no links set: ``auto_link: false``."""

NAMESAKES = 100
"""Notes of one file name from which a link says the whole path: no shorter spelling is looked for."""

# What a target cannot hold, and what would begin code, a comment, a formula or a template in the text around it.
_UNFIT_TARGET = re.compile(r"[\[\]|#^\x00-\x1f`<>\\]|\$|%%|\{\{|^\s|\s$")
_UNFIT_WORDS = re.compile(r"[\[\]|\\\n\r]")


@dataclass(frozen=True, slots=True)
class Linked:
    """A link that was set: the words it is on, the path of the note it leads to, the line, from 1."""

    term: str
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Autolinked:
    """A text with links, and which were set, in order."""

    text: str
    linked: list[Linked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wish:
    """Where links are wanted. ``path``: of the note; ``within``: spans of its text, None for all of it; ``suppressed``:
    keys of titles that are not wanted there; ``every``: not only where a name stands first, and also where the note
    links it elsewhere; ``only``: the paths of the notes that may be linked, None for any."""

    path: str
    within: Sequence[Span] | None = None
    suppressed: frozenset[str] = frozenset()
    every: bool = False
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A link to be set: on the text from ``start`` to ``end``, to ``to``, written as ``target``."""

    start: int
    end: int
    target: str
    to: str


def autolinked(text: str, gazetteer: Gazetteer, wish: Wish) -> Autolinked:
    """``text`` with links on the names of notes in it. A name that several notes go by is left alone, and so is one
    that the note goes by itself. Linear; raises on no text."""
    if wish.within is not None and not wish.within:
        return Autolinked(text)
    found = scan(text)
    mentions = gazetteer.mentions(text, protected_in(found, text))
    if wish.within is not None:
        allowed = united(wish.within, len(text))
        mentions = [each for each in mentions if _lies_in(allowed, each)]
    if not mentions or opted_out(text):
        return Autolinked(text)
    return with_links(text, found, list(_places(text, found, gazetteer, wish, mentions)))


def with_links(text: str, found: Scan, places: Sequence[Place]) -> Autolinked:
    """``text``, scanned as ``found``, with links at some places, which are in order and apart."""
    parts: list[str] = []
    at, linked, counter, tabled = 0, [], LineCounter(found.lines), tables(found) if places else []
    for each in places:
        words = text[each.start : each.end]
        bar = "\\|" if overlapping(tabled, each.start, each.end) else "|"
        parts += (text[at : each.start], f"[[{words}]]" if words == each.target else f"[[{each.target}{bar}{words}]]")
        at = each.end
        linked.append(Linked(words, each.to, counter.line(each.start)))
    return Autolinked("".join((*parts, text[at:])), linked)


def opted_out(text: str) -> bool:
    """Whether a note wants no links set."""
    if OPT_OUT not in text:
        return False
    said = skimmed(text).frontmatter.get(OPT_OUT)
    return said is False or (isinstance(said, str) and said.strip().lower() in ("false", "no", "off"))


def _lies_in(allowed: Sequence[Span], mention: Mention) -> bool:
    at = bisect_right(allowed, (mention.start, mention.end)) - 1
    at += at + 1 < len(allowed) and allowed[at + 1][0] == mention.start
    return at >= 0 and allowed[at][0] <= mention.start and mention.end <= allowed[at][1]


def _places(text: str, found: Scan, gazetteer: Gazetteer, wish: Wish, mentions: Sequence[Mention]) -> Iterator[Place]:
    own = _own(text, wish.path)
    ours = {name_key(each) for each in (own.title or "", *own.aliases, stem_of(own.path))}
    linked = keys_linked(links(found, text))
    spellings: dict[int, str | None] = {}
    for each in mentions:
        node = gazetteer.nodes[each.notes[0]]
        if not _is_wanted(wish, each, node) or name_key(each.term) in ours or _UNFIT_WORDS.search(each.term):
            continue
        if not wish.every and (node.number in spellings or any(name_key(name) in linked for name in names_of(node))):
            continue
        if node.number not in spellings:
            spellings[node.number] = spelled(node, own, gazetteer)
        target = spellings[node.number]
        if target is not None:
            yield Place(each.start, each.end, target, node.path)


def _is_wanted(wish: Wish, mention: Mention, node: Node) -> bool:
    if len(mention.notes) > 1 or node.path == wish.path or name_key(node.title) in wish.suppressed:
        return False
    return wish.only is None or node.path in wish.only


def _own(text: str, path: str) -> Candidate:
    """The note as it will be known once it is written."""
    note = skimmed(text)
    return Candidate(path, note.title or stem_of(path), note.aliases)


def keys_linked(found: Sequence[Link]) -> frozenset[str]:
    """Keys of what some links name: whoever goes by one may be linked already."""
    return frozenset(name_key(each.page) for each in found if each.target)


def stem_of(path: str) -> str:
    """A file's name without its suffix."""
    return path.rpartition("/")[2].rpartition(".")[0]


def spelled(node: Node, source: Candidate, gazetteer: Gazetteer) -> str | None:
    """The shortest way to write a link to a note in the note ``source``: its file's name, as much of its path as makes
    that clear, all of it. Titles are not used: other programs do not know links by title. None where no link can."""
    whole = node.path.rpartition(".")[0]
    nodes = [node, *(gazetteer.nodes[each] for each in gazetteer.keys.get(name_key(whole), ()))]
    parts, least = whole.split("/"), 1
    if len(nodes) > NAMESAKES:
        least, nodes = len(parts), [each for each in nodes if each.path.casefold() == node.path.casefold()]
    known = {each.path: Candidate(each.path, each.title, each.aliases) for each in nodes} | {source.path: source}
    forms = ["/".join(parts[-count:]) for count in range(least, len(parts) + 1)]
    for form in (*forms, f"/{whole}", node.path, f"/{node.path}"):
        if not _UNFIT_TARGET.search(form) and resolve(form, source.path, list(known.values())) == node.path:
            return form
    return None
