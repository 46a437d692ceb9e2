"""Where a text names notes: every title, file name and alias of the vault looked up in one pass.

A text is cut into words and signs. For each that begins some name, the pieces from there are looked up as one, for each
length that names beginning so have: the time is linear in the text, however many notes there are and whatever signs
their names hold. Nothing of a name is ever an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from vaults.graph.names.name_tokens import fold_name, fold_pieces, is_common, is_recognizable, is_written_as_name
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.link_resolution import name_key
from vaults.markdown.protected_spans import TextSpan, overlaps_any

REBUILD_DIVISOR = 4
"""Where more than one in so many notes is called otherwise, all names are read anew."""

_BACK = 20
"""Characters before a word that tell whether it begins a sentence."""

# What makes a word a part of a longer one: a path, an address, a compound, a contraction, a name in a program.
_JOINED_BEFORE = re.compile(r"(?:[\w.:=’'][_.:=]|[@#$%&\\/+~-])\Z")
_JOINED_AFTER = re.compile(r"[_.:=@\\/~-][^\W_]|[’'](?:t|re|ve|ll|d|m)(?![^\W_])|[+#]", re.I)


@dataclass(frozen=True, slots=True)
class NameMention:
    """A name in a text: where it stands, as it is written, and the notes that go by it, by number. Several notes: it
    is not known which is meant."""

    start: int
    end: int
    term: str
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """All names of the notes of a vault. ``named``: the change of the graph it knows. ``names``: the notes that go by a
    name, folded. ``spelled``: of names that are common words too, how they are written. ``lengths``: of the names that
    begin with a piece, their numbers of pieces, longest first. ``keys``: the notes that a link by a name may mean."""

    named: int = -1
    nodes: Mapping[int, Node] = field(default_factory=dict)
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)
    spelled: dict[str, frozenset[str]] = field(default_factory=dict)
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    keys: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def mentions(self, text: str, zones: Sequence[TextSpan] = ()) -> list[NameMention]:
        """The names in a text, in order and apart: where two overlap, the longer one counts. A word of everyday counts
        only where it is spelled as a name. None touches one of ``zones``, which are in order and apart. Pure, linear.
        """
        return self._found(text, zones, lambda key, start, end: self._is_spelled(key, text, start, end))

    def occurrences(self, text: str, zones: Sequence[TextSpan] = ()) -> list[NameMention]:
        """As ``mentions``, and words of everyday that are names too, however they are spelled: a reader has to say
        which of them are meant."""
        return self._found(text, zones, _always)

    def _found(
        self, text: str, zones: Sequence[TextSpan], is_meant: Callable[[str, int, int], bool]
    ) -> list[NameMention]:
        cut, low = fold_pieces(text)
        places = [0, *accumulate(map(len, cut))]
        found: list[tuple[int, int, int, str]] = []
        for at, piece in enumerate(low):
            for length in self.lengths.get(piece, ()):
                key = "".join(low[at : at + length])
                if key not in self.names or at + length > len(low):
                    continue
                start, end = places[at], places[at + length]
                if (
                    is_whole_words(text, start, end)
                    and is_meant(key, start, end)
                    and not overlaps_any(zones, start, end)
                ):
                    found.append((start - end, at, length, key))
        taken, kept = bytearray(len(low)), []
        for _, at, length, key in sorted(found):
            if not any(taken[at : at + length]):
                taken[at : at + length] = b"\1" * length
                kept.append((places[at], places[at + length], key))
        return [NameMention(start, end, text[start:end], self.names[key]) for start, end, key in sorted(kept)]

    def _is_spelled(self, key: str, text: str, start: int, end: int) -> bool:
        """Whether a name is no word of everyday, or spelled as one of the notes that go by it is."""
        spelled = self.spelled.get(key)
        if spelled is None:
            return True
        before = text[start - _BACK : start] if start >= _BACK else f"\n{text[:start]}"
        written = text[start:end]
        return written in spelled and is_written_as_name(written, before)


def _always(*_: object) -> bool:
    """However it is spelled."""
    return True


def is_whole_words(text: str, start: int, end: int) -> bool:
    """Whether the words from ``start`` to ``end`` stand by themselves, and are no part of a longer one."""
    before, after = text[max(0, start - 2) : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    if not first.isalnum() and before and (before[-1].isalnum() or before[-1] == first):
        return False
    if not last.isalnum() and after and (after.isalnum() or after == last):
        return False
    return not _JOINED_BEFORE.search(before) and not (last.isalnum() and _JOINED_AFTER.match(text, end))


def update_gazetteer(graph: Graph, known: Gazetteer) -> Gazetteer:
    """The names of all notes of a graph. What is known of notes that are called as they were is kept."""
    if known.named == graph.named:
        return known
    held = known.nodes
    fresh = [node for number, node in graph.nodes.items() if held.get(number) is not node]
    stale = [node for number, node in held.items() if graph.nodes.get(number) is not node]
    if (len(fresh) + len(stale)) * REBUILD_DIVISOR > len(graph.nodes):
        made, fresh, stale = Gazetteer(graph.named, graph.nodes), list(graph.nodes.values()), []
    else:
        kept = dict(known.names), dict(known.spelled), dict(known.lengths), dict(known.keys)
        made = Gazetteer(graph.named, graph.nodes, *kept)
    doubtful = {key for node in stale for key in _forget(made, node)}
    for key in doubtful:
        _update_spellings(made, key, held)
    for node in fresh:
        _learn(made, node)
    return made


def list_names(node: Node) -> Iterable[str]:
    """Everything a note is called: its title, its file's name, its aliases."""
    stem = node.path.rpartition("/")[2].rpartition(".")[0]
    same = stem == node.title or (stem.lower() == node.title.lower() and not node.title.islower())
    names = (node.title, *node.aliases) if same else (node.title, stem, *node.aliases)
    return [plain for each in names if (plain := each.strip())]


def _learn(made: Gazetteer, node: Node) -> None:
    for name in list_names(node):
        key, low = fold_name(name)
        _add(made.keys, _link_key(name, key), node.number)
        if not is_recognizable(key, low):
            continue
        _add(made.names, key, node.number)
        lengths = made.lengths.get(low[0], ())
        if len(low) not in lengths:
            made.lengths[low[0]] = tuple(sorted((*lengths, len(low)), reverse=True))
        if is_common(key, low):
            made.spelled[key] = made.spelled.get(key, frozenset()) | {name}


def _forget(made: Gazetteer, node: Node) -> Iterator[str]:
    """Take away the names of a note; those of them whose spellings are to be found anew. Lengths may stay: they alone
    make no mention."""
    for name in list_names(node):
        key, _ = fold_name(name)
        _remove(made.keys, _link_key(name, key), node.number)
        _remove(made.names, key, node.number)
        if key in made.spelled:
            yield key


def _update_spellings(made: Gazetteer, key: str, held: Mapping[int, Node]) -> None:
    """How a common word is written by the notes that still go by it."""
    rest = (name for number in made.names.get(key, ()) for name in list_names(held[number]))
    made.spelled[key] = frozenset(name for name in rest if fold_name(name)[0] == key)
    if not made.spelled[key]:
        del made.spelled[key]


def _link_key(name: str, key: str) -> str:
    """``name_key`` of a name that is folded as ``key``."""
    plain = name.isascii() and "/" not in key and not key.endswith(".md") and "\t" not in name
    return key if plain else name_key(name)


def _add(several: dict[str, tuple[int, ...]], key: str, number: int) -> None:
    known = several.get(key)
    if known is None:
        several[key] = (number,)
    elif number not in known:
        several[key] = (*known, number)


def _remove(several: dict[str, tuple[int, ...]], key: str, number: int) -> None:
    left = tuple(each for each in several.get(key, ()) if each != number)
    if left:
        several[key] = left
    else:
        several.pop(key, None)
