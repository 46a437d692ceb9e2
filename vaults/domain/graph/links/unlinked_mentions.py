"""Places that name a note and do not link it: for a note, all that name it; in a note, all it names.

Notes that may name something are found by the word index, which knows a name as a phrase; each is then read, and what
it holds is looked up as any text is: whole words, outside of code, links, headings and what else holds no link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import phrase_search
from vaults.domain.paging import cursors
from vaults.errors import InvalidArgument, NotFound, StrongroomError
from vaults.graph.names.gazetteer import Gazetteer, Mention
from vaults.graph.note_graph import NONE, Graph, Node
from vaults.markdown.encoding import NotText, decode, unified
from vaults.markdown.lines import LineCounter
from vaults.markdown.protected_spans import protected
from vaults.vault import Vault

READ = 200
"""Notes read in one call."""

AROUND = 40
"""Characters shown before and after a name."""

_CURSOR = "unlinked"


@dataclass(frozen=True, slots=True)
class Asked:
    """``entity``: the path of the note that is to be linked; ``path``: the note that is to link; one or both."""

    path: str | None = None
    entity: str | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A note at ``path`` that names another on ``line`` as ``term``, and does not link it. ``entity``: paths of the
    notes that go by that name; ``count``: how often it stands there."""

    path: str
    line: int
    term: str
    context: str
    entity: list[str]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """``cursor``: where to go on; None where all was looked at."""

    mentions: list[Unlinked]
    cursor: str | None = None


async def unlinked(vault: Vault, asked: Asked) -> Found:
    """Names that are not linked: with ``entity`` the first place of each note, by path; else those of ``path``, in
    order. Raises ``NotFound`` for a note that is not there, ``InvalidArgument``."""
    if asked.path is None and asked.entity is None:
        raise InvalidArgument("entity", "or path is needed: the note that is named, or the one that names others")
    graph, gazetteer = await vault.db.read(lambda tx: (vault.atlas.at(tx), vault.atlas.gazetteer(tx)))
    entity = _node(graph, asked.entity) if asked.entity is not None else None
    look = _Look(vault, graph, gazetteer, entity)
    if asked.path is not None:
        return await run_in(vault.shared.pool, look.within, _node(graph, asked.path), asked)
    assert entity is not None
    after = _after(asked.cursor)[0]
    among = await vault.db.read(lambda tx: _among(tx, entity, after))
    return await run_in(vault.shared.pool, look.among, among, asked.limit)


def _after(cursor: str | None) -> tuple[str, int]:
    if cursor is None:
        return "", -1
    path, number = cursors.read(cursor, _CURSOR)
    return str(path), number


def _node(graph: Graph, path: str) -> Node:
    node = graph.at(path)
    if node is None:
        raise NotFound(f"no note {path}")
    return node


def _among(tx: Reader, entity: Node, after: str) -> list[str]:
    """Paths of notes that may name a note and do not link it, one more than are read in a call."""
    where = (
        "n.path > :after AND n.seq <> :entity"
        " AND NOT EXISTS (SELECT 1 FROM note_links l WHERE l.note = n.seq AND l.meant = :entity)"
    )
    return phrase_search.holding(tx, entity.names, where, {"after": after, "entity": entity.number}, READ + 1)


@dataclass(frozen=True, slots=True)
class _Look:
    """Reads notes for what they name. Blocking. ``entity``: the only note that counts, if one does."""

    vault: Vault
    graph: Graph
    gazetteer: Gazetteer
    entity: Node | None

    def within(self, node: Node, asked: Asked) -> Found:
        """What one note names, each once, in order."""
        first = _after(asked.cursor)[1] + 1
        found = list(self._named(node.path, self.graph.out.get(node.number, NONE) | {node.number}))
        page = found[first : first + asked.limit]
        more = first + len(page) < len(found)
        return Found(page, cursors.written(_CURSOR, node.path, first + len(page) - 1) if more else None)

    def among(self, paths: Sequence[str], limit: int) -> Found:
        """The first place of each note; ``paths`` may hold one more than are read."""
        found: list[Unlinked] = []
        for read, path in enumerate(paths):
            if read >= READ or len(found) >= limit:
                return Found(found, cursors.written(_CURSOR, paths[read - 1], 0))
            found += list(self._named(path, NONE))[:1]
        return Found(found)

    def _named(self, path: str, but: Collection[int]) -> Iterator[Unlinked]:
        """Names in a note, each set of notes that goes by one only once."""
        try:
            text = decode(self.vault.notes.tree.read(path, self.vault.notes.settings.max_note).data).text
        except (StrongroomError, NotText):
            return  # gone since, or no text any more
        first: dict[tuple[int, ...], Mention] = {}
        counts: Counter[tuple[int, ...]] = Counter()
        for each in self.gazetteer.mentions(text, protected(text)):
            wanted = self.entity is None or self.entity.number in each.notes
            if wanted and not any(number in but for number in each.notes):
                first.setdefault(self._of(each), each)
                counts[self._of(each)] += 1
        counter = LineCounter(f"\n{unified(text)}")
        for notes, each in first.items():
            yield Unlinked(
                path,
                counter.line(each.start),
                each.term,
                _context(text, each),
                [self.graph.nodes[number].path for number in notes if number in self.graph.nodes],
                counts[notes],
            )

    def _of(self, mention: Mention) -> tuple[int, ...]:
        return (self.entity.number,) if self.entity is not None else mention.notes


def _context(text: str, mention: Mention) -> str:
    """What stands around a name, of its own lines."""
    start = max(text.rfind("\n", 0, mention.start) + 1, mention.start - AROUND)
    line_end = text.find("\n", mention.end)
    end = min(len(text) if line_end < 0 else line_end, mention.end + AROUND)
    return text[start:end].strip()
