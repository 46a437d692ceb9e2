"""Where a text names notes: every title, file name and alias of the vault looked up in one pass.

A text is cut into words and signs. For each that begins some name, the pieces from there are joined and looked up, for
each length that names with this beginning have: the time is linear in the text, however many notes there are and
whatever signs their names hold. No name is ever part of a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from vaults.graph.names.name_tokens import fold_pieces, fold_to_pieces, is_common, is_recognizable, is_written_as_name
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.link_resolution import name_key
from vaults.markdown.protected_spans import TextSpan, overlaps_any

REBUILD_DIVISOR = 4
"""If more than one in so many notes changed its names, all names are read again."""

_BACK = 20
"""Characters before a word that are checked for the end of a sentence."""

# What makes a word a part of a longer one: a path, an address, a compound, a contraction, a name in a program.
_JOINED_BEFORE = re.compile(r"(?:[\w.:=’'][_.:=]|[@#$%&\\/+~-])\Z")
_JOINED_AFTER = re.compile(r"[_.:=@\\/~-][^\W_]|[’'](?:t|re|ve|ll|d|m)(?![^\W_])|[+#]", re.I)


@dataclass(frozen=True, slots=True)
class NameMention:
    """A name in a text: where it stands, as written, and the numbers of the notes with that name. With several notes,
    it is not known which is meant."""

    start: int
    end: int
    term: str
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """All names of the notes of a vault."""

    named: int = -1  # the change of the graph it knows
    nodes: Mapping[int, Node] = field(default_factory=dict)
    names: dict[str, tuple[int, ...]] = field(default_factory=dict)  # folded name to notes
    spelled: dict[str, frozenset[str]] = field(default_factory=dict)  # spellings of names that are common words, too
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """First piece of names to their numbers of pieces, longest first."""
    keys: dict[str, tuple[int, ...]] = field(default_factory=dict)  # key of a name to notes that a link may mean

    def mentions(self, text: str, zones: Sequence[TextSpan] = ()) -> list[NameMention]:
        """The names in a text, in order and without overlap: the longer one counts. A common word counts only where it
        is spelled as a name. None touches one of ``zones``, which are in order and do not overlap. Pure, linear."""
        return self._find(text, zones, lambda key, start, end: self._is_spelled(key, text, start, end))

    def occurrences(self, text: str, zones: Sequence[TextSpan] = ()) -> list[NameMention]:
        """As ``mentions``, with common words that are names, however they are spelled: a reader has to decide which are
        meant."""
        return self._find(text, zones, _always)

    def _find(
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
        """Whether a name is no common word, or is spelled as one of the notes with that name spells it."""
        spelled = self.spelled.get(key)
        if spelled is None:
            return True
        before = text[start - _BACK : start] if start >= _BACK else f"\n{text[:start]}"
        written = text[start:end]
        return written in spelled and is_written_as_name(written, before)


def _always(*_: object) -> bool:
    """Accept any spelling."""
    return True


def is_whole_words(text: str, start: int, end: int) -> bool:
    """Whether the words from ``start`` to ``end`` stand by themselves, not as part of a longer word."""
    before, after = text[max(0, start - 2) : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    if not first.isalnum() and before and (before[-1].isalnum() or before[-1] == first):
        return False
    if not last.isalnum() and after and (after.isalnum() or after == last):
        return False
    return not _JOINED_BEFORE.search(before) and not (last.isalnum() and _JOINED_AFTER.match(text, end))


def update_gazetteer(graph: Graph, known: Gazetteer) -> Gazetteer:
    """The names of all notes of a graph. Entries of unchanged notes are reused from ``known``."""
    if known.named == graph.named:
        return known
    before = known.nodes
    fresh = [node for number, node in graph.nodes.items() if before.get(number) is not node]
    stale = [node for number, node in before.items() if graph.nodes.get(number) is not node]
    if (len(fresh) + len(stale)) * REBUILD_DIVISOR > len(graph.nodes):
        updated, fresh, stale = Gazetteer(graph.named, graph.nodes), list(graph.nodes.values()), []
    else:
        copies = dict(known.names), dict(known.spelled), dict(known.lengths), dict(known.keys)
        updated = Gazetteer(graph.named, graph.nodes, *copies)
    doubtful = {key for node in stale for key in _forget(updated, node)}
    for key in doubtful:
        _update_spellings(updated, key, before)
    for node in fresh:
        _learn(updated, node)
    return updated


def list_names(node: Node) -> Iterable[str]:
    """All names of a note: its title, its file name, its aliases."""
    stem = node.path.rpartition("/")[2].rpartition(".")[0]
    same = stem == node.title or (stem.lower() == node.title.lower() and not node.title.islower())
    names = (node.title, *node.aliases) if same else (node.title, stem, *node.aliases)
    return [plain for each in names if (plain := each.strip())]


def _learn(gazetteer: Gazetteer, node: Node) -> None:
    for name in list_names(node):
        key, low = fold_to_pieces(name)
        _add(gazetteer.keys, _link_key(name, key), node.number)
        if not is_recognizable(key, low):
            continue
        _add(gazetteer.names, key, node.number)
        lengths = gazetteer.lengths.get(low[0], ())
        if len(low) not in lengths:
            gazetteer.lengths[low[0]] = tuple(sorted((*lengths, len(low)), reverse=True))
        if is_common(key, low):
            gazetteer.spelled[key] = gazetteer.spelled.get(key, frozenset()) | {name}


def _forget(gazetteer: Gazetteer, node: Node) -> Iterator[str]:
    """Remove the names of a note; yields those whose spellings must be collected again. Lengths may stay: alone they
    cause no mention."""
    for name in list_names(node):
        key, _ = fold_to_pieces(name)
        _remove(gazetteer.keys, _link_key(name, key), node.number)
        _remove(gazetteer.names, key, node.number)
        if key in gazetteer.spelled:
            yield key


def _update_spellings(gazetteer: Gazetteer, key: str, before: Mapping[int, Node]) -> None:
    """Collect how the notes that still have a common word as a name spell it."""
    rest = (name for number in gazetteer.names.get(key, ()) for name in list_names(before[number]))
    gazetteer.spelled[key] = frozenset(name for name in rest if fold_to_pieces(name)[0] == key)
    if not gazetteer.spelled[key]:
        del gazetteer.spelled[key]


def _link_key(name: str, key: str) -> str:
    """``name_key`` of a name whose folded form is ``key``."""
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
