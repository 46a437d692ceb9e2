"""Finding unlinked mentions: of a note, in all others; or in a note, of all others.

A phrase search in the word index finds notes that may mention a name. Each is then read and matched like any text:
whole words, outside of code, links, headings and anything else that cannot contain a link.
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
from vaults.graph.names.gazetteer import Gazetteer, NameMention
from vaults.graph.note_graph import NO_NOTES, Graph, Node
from vaults.markdown.encoding import NotText, decode, to_lf_same_length
from vaults.markdown.lines import LineCounter
from vaults.markdown.protected_spans import find_protected
from vaults.vault import Vault

MAX_READ = 200
"""Max notes read in one call."""

CONTEXT_LENGTH = 40
"""Characters shown before and after a name."""

_CURSOR = "unlinked"


@dataclass(frozen=True, slots=True)
class UnlinkedRequest:
    """Which mentions to find: of ``entity``, in ``path``, or both. Both are paths of notes."""

    path: str | None = None
    entity: str | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class UnlinkedMention:
    """A note at ``path`` that names another on ``line`` as ``term``, and does not link it. ``entity``: paths of the
    notes that go by that name; ``count``: how often it stands there."""

    path: str
    line: int
    term: str
    context: str
    entity: list[str]
    count: int = 1


@dataclass(frozen=True, slots=True)
class UnlinkedPage:
    """A page of mentions. ``cursor``: where to continue; None at the end."""

    mentions: list[UnlinkedMention]
    cursor: str | None = None

    @property
    def truncated(self) -> bool:
        return self.cursor is not None


async def find_unlinked_mentions(vault: Vault, request: UnlinkedRequest) -> UnlinkedPage:
    """Names that are not linked: with ``path`` those in that note, in order; else the first mention of ``entity`` in
    each note, by path. Raises ``NotFound`` for a note that does not exist, ``InvalidArgument``."""
    if request.path is None and request.entity is None:
        raise InvalidArgument("entity", "or path is needed: the note that is named, or the one that names others")
    graph, gazetteer = await vault.db.read(lambda tx: (vault.graph_cache.at(tx), vault.graph_cache.gazetteer(tx)))
    entity = _require_node(graph, request.entity) if request.entity is not None else None
    look = _MentionReader(vault, graph, gazetteer, entity)
    if request.path is not None:
        return await run_in(vault.shared.pool, look.within, _require_node(graph, request.path), request)
    assert entity is not None
    after = _parse_cursor(request.cursor)[0]
    among = await vault.db.read(lambda tx: _find_naming_paths(tx, entity, after))
    return await run_in(vault.shared.pool, look.among, among, request.limit)


def _parse_cursor(cursor: str | None) -> tuple[str, int]:
    if cursor is None:
        return "", -1
    path, number = cursors.decode(cursor, _CURSOR)
    return str(path), number


def _require_node(graph: Graph, path: str) -> Node:
    node = graph.at(path)
    if node is None:
        raise NotFound(f"no note {path}")
    return node


def _find_naming_paths(tx: Reader, entity: Node, after: str) -> list[str]:
    """Paths of notes that may mention a note without linking it, one more than a call reads."""
    where = (
        "n.path > :after AND n.seq <> :entity"
        " AND NOT EXISTS (SELECT 1 FROM note_links l WHERE l.note = n.seq AND l.meant = :entity)"
    )
    return phrase_search.find_notes_holding(
        tx, entity.names, where, {"after": after, "entity": entity.number}, MAX_READ + 1
    )


@dataclass(frozen=True, slots=True)
class _MentionReader:
    """Reads notes for mentions. Blocking. ``entity``: the only note to look for; None: any."""

    vault: Vault
    graph: Graph
    gazetteer: Gazetteer
    entity: Node | None

    def within(self, node: Node, request: UnlinkedRequest) -> UnlinkedPage:
        """Mentions in one note, each name once, in order."""
        first = _parse_cursor(request.cursor)[1] + 1
        found = list(self._find_mentions(node.path, self.graph.out.get(node.number, NO_NOTES) | {node.number}))
        page = found[first : first + request.limit]
        more = first + len(page) < len(found)
        return UnlinkedPage(page, cursors.encode(_CURSOR, node.path, first + len(page) - 1) if more else None)

    def among(self, paths: Sequence[str], limit: int) -> UnlinkedPage:
        """The first mention in each note; ``paths`` may hold one more than are read."""
        found: list[UnlinkedMention] = []
        for read, path in enumerate(paths):
            if read >= MAX_READ or len(found) >= limit:
                return UnlinkedPage(found, cursors.encode(_CURSOR, paths[read - 1], 0))
            found += list(self._find_mentions(path, NO_NOTES))[:1]
        return UnlinkedPage(found)

    def _find_mentions(self, path: str, but: Collection[int]) -> Iterator[UnlinkedMention]:
        """Mentions in a note, one for each set of notes that a name may mean."""
        try:
            text = decode(self.vault.notes.tree.read(path, self.vault.notes.settings.max_note).data).text
        except (StrongroomError, NotText):
            return  # gone since, or no longer text
        first: dict[tuple[int, ...], NameMention] = {}
        counts: Counter[tuple[int, ...]] = Counter()
        for each in self.gazetteer.mentions(text, find_protected(text)):
            wanted = self.entity is None or self.entity.number in each.notes
            if wanted and not any(number in but for number in each.notes):
                first.setdefault(self._of(each), each)
                counts[self._of(each)] += 1
        counter = LineCounter(f"\n{to_lf_same_length(text)}")
        for notes, each in first.items():
            yield UnlinkedMention(
                path=path,
                line=counter.line(each.start),
                term=each.term,
                context=_read_context(text, each),
                entity=[self.graph.nodes[number].path for number in notes if number in self.graph.nodes],
                count=counts[notes],
            )

    def _of(self, mention: NameMention) -> tuple[int, ...]:
        return (self.entity.number,) if self.entity is not None else mention.notes


def _read_context(text: str, mention: NameMention) -> str:
    """The text around a name, within its own lines."""
    start = max(text.rfind("\n", 0, mention.start) + 1, mention.start - CONTEXT_LENGTH)
    line_end = text.find("\n", mention.end)
    end = min(len(text) if line_end < 0 else line_end, mention.end + CONTEXT_LENGTH)
    return text[start:end].strip()
