"""Lists of links to a note and from it: from the index, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph import link_lines, link_weights, memory_mentions, note_references
from vaults.domain.graph.graph_answers import GraphAnswer, GraphLink, GraphMemory, GraphNode, GraphPageRequest
from vaults.domain.graph.note_references import NoteReference
from vaults.domain.paging import cursors, token_budget
from vaults.graph import centrality
from vaults.graph.links import link_queries
from vaults.graph.links.link_queries import FIRST_POSITION, LinkPosition, ResolvedLink
from vaults.graph.note_graph import Node, read_node
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class _LinkPage:
    """A page of links, and the note they belong to."""

    listing: str
    node: GraphNode
    rows: list[ResolvedLink]  # one more than the page's limit if there are more
    links: list[GraphLink]
    total: int
    memories: list[GraphMemory] | None = None


async def backlinks(vault: Vault, actor: Actor, reference: NoteReference, page: GraphPageRequest) -> GraphAnswer:
    """Links from other notes to a note, by path and line, or to a name without a note; and the memories that mention
    it. Raises ``NotFound``, ``Conflict``, and ``InvalidArgument`` for a cursor of another list."""
    wanted = await note_references.resolve_dated_path(vault, reference)

    def read(tx: Reader) -> _LinkPage:
        found = note_references.find_note_or_name(tx, wanted)
        listing = f"backlinks {found.number or found.key}"
        after = _parse_cursor(page.cursor, listing)
        if found.number is None:
            rows = link_queries.read_links_naming(tx, found.key, after, page.limit + 1)
            total = link_queries.count_links_naming(tx, found.key)
            return _LinkPage(listing, GraphNode(found.name, exists=False), rows, _to_links(tx, rows), total)
        rows = link_queries.read_links_to(tx, found.number, after, page.limit + 1)
        about = read_node(tx, found.number)
        memories = memory_mentions.read_memories_about(tx, about, actor) if after == FIRST_POSITION else None
        total = link_queries.count_links_to(tx, found.number)
        return _LinkPage(
            listing=listing,
            node=_read_graph_node(tx, about),
            rows=rows,
            links=_to_links(tx, rows),
            total=total,
            memories=memories,
        )

    return await _to_answer(vault, await vault.db.read(read), page)


async def forward_links(vault: Vault, reference: NoteReference, page: GraphPageRequest) -> GraphAnswer:
    """All links in a note in order, to notes and to names without one. Raises the errors of ``backlinks``."""
    wanted = await note_references.resolve_dated_path(vault, reference)

    def read(tx: Reader) -> _LinkPage:
        number = note_references.find_note(tx, wanted)
        listing = f"forward {number}"
        rows = link_queries.read_links_from(tx, number, _parse_cursor(page.cursor, listing), page.limit + 1)
        total = link_queries.count_links_from(tx, number)
        return _LinkPage(listing, _read_graph_node(tx, read_node(tx, number)), rows, _to_links(tx, rows), total)

    return await _to_answer(vault, await vault.db.read(read), page)


def _to_links(tx: Reader, rows: Sequence[ResolvedLink]) -> list[GraphLink]:
    return link_weights.to_graph_links(tx, rows, clock.now())


def _parse_cursor(cursor: str | None, listing: str) -> LinkPosition:
    if cursor is None:
        return FIRST_POSITION
    path, ordinal = cursors.decode(cursor, listing)
    return str(path), ordinal


def _read_graph_node(tx: Reader, about: Node) -> GraphNode:
    count: Callable[[str], int] = lambda sql: int(tx.value(sql, {"note": about.number}))  # noqa: E731
    return GraphNode(
        title=about.title,
        path=about.path,
        category=about.category or None,
        hub=centrality.read_score(tx, about.number),
        links_in=count("SELECT COUNT(DISTINCT note) FROM note_links WHERE meant = :note AND note <> :note"),
        links_out=count("SELECT COUNT(DISTINCT meant) FROM note_links WHERE note = :note AND meant <> :note"),
    )


async def _to_answer(vault: Vault, found: _LinkPage, page: GraphPageRequest) -> GraphAnswer:
    links = await link_lines.add_lines(vault, found.links[: page.limit])
    fits = (
        await token_budget.count_fitting(vault, [to_sizing_text(link) for link in links], page.max_tokens)
        if links
        else 0
    )
    more = fits < len(found.rows)
    last = found.rows[fits - 1] if fits else None
    cursor = cursors.encode(found.listing, last.path, last.ordinal) if more and last else None
    answer = GraphAnswer([found.node], links[:fits], found.total, more, cursor)
    return replace(answer, memories=found.memories or None)


def to_sizing_text(link: GraphLink) -> str:
    """A text about as long as the link will be in the answer, for counting tokens."""
    return f"{link.source}:{link.line} {link.target} {link.as_written} {link.heading} {link.alias} {link.context}"
