"""What links to a note, and what it links to: from the rows, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.graph import link_lines, link_weights, memory_mentions, note_references
from vaults.domain.graph.graph_answers import Answer, GraphLink, GraphMemory, GraphNode, Page
from vaults.domain.graph.note_references import Which
from vaults.domain.memories.memory_model import Actor
from vaults.domain.paging import cursors, token_budget
from vaults.graph import centrality
from vaults.graph.links import link_queries
from vaults.graph.links.link_queries import FIRST, After, LinkIn
from vaults.graph.note_graph import Node, read_node
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class _Found:
    """A page of links, one more than is wanted if there are more, and what they are of."""

    listing: str
    node: GraphNode
    rows: list[LinkIn]
    links: list[GraphLink]
    total: int
    memories: list[GraphMemory] | None = None


async def backlinks(vault: Vault, actor: Actor, which: Which, page: Page) -> Answer:
    """Links of other notes to a note, by path and line, or to a name without a note; and the memories that speak of
    it. Raises ``NotFound``, ``Conflict``, and ``InvalidArgument`` for a cursor of another list."""
    wanted = await note_references.meant(vault, which)

    def read(tx: Reader) -> _Found:
        found = note_references.find(tx, wanted)
        listing = f"backlinks {found.number or found.key}"
        after = _after(page.cursor, listing)
        if found.number is None:
            rows = link_queries.naming(tx, found.key, after, page.limit + 1)
            total = link_queries.count_naming(tx, found.key)
            return _Found(listing, GraphNode(found.name, exists=False), rows, _shown(tx, rows), total)
        rows = link_queries.into(tx, found.number, after, page.limit + 1)
        about = read_node(tx, found.number)
        memories = memory_mentions.of(tx, about, actor) if after == FIRST else None
        total = link_queries.count_into(tx, found.number)
        return _Found(listing, _node(tx, about), rows, _shown(tx, rows), total, memories)

    return await _answer(vault, await vault.db.read(read), page)


async def forward_links(vault: Vault, which: Which, page: Page) -> Answer:
    """All links of a note in their order, to notes and to names without one. Raises as ``backlinks``."""
    wanted = await note_references.meant(vault, which)

    def read(tx: Reader) -> _Found:
        number = note_references.there(tx, wanted)
        listing = f"forward {number}"
        rows = link_queries.out_of(tx, number, _after(page.cursor, listing), page.limit + 1)
        total = link_queries.count_out_of(tx, number)
        return _Found(listing, _node(tx, read_node(tx, number)), rows, _shown(tx, rows), total)

    return await _answer(vault, await vault.db.read(read), page)


def _shown(tx: Reader, rows: Sequence[LinkIn]) -> list[GraphLink]:
    return link_weights.shown(tx, rows, clock.now())


def _after(cursor: str | None, listing: str) -> After:
    if cursor is None:
        return FIRST
    path, ordinal = cursors.read(cursor, listing)
    return str(path), ordinal


def _node(tx: Reader, about: Node) -> GraphNode:
    count: Callable[[str], int] = lambda sql: int(tx.value(sql, {"note": about.number}))  # noqa: E731
    return GraphNode(
        title=about.title,
        path=about.path,
        category=about.category or None,
        hub=centrality.hub(tx, about.number),
        links_in=count("SELECT COUNT(DISTINCT note) FROM note_links WHERE meant = :note AND note <> :note"),
        links_out=count("SELECT COUNT(DISTINCT meant) FROM note_links WHERE note = :note AND meant <> :note"),
    )


async def _answer(vault: Vault, found: _Found, page: Page) -> Answer:
    links = await link_lines.with_lines(vault, found.links[: page.limit])
    fits = await token_budget.fitting(vault, [told(link) for link in links], page.max_tokens) if links else 0
    more = fits < len(found.rows)
    last = found.rows[fits - 1] if fits else None
    cursor = cursors.written(found.listing, last.path, last.ordinal) if more and last else None
    answer = Answer([found.node], links[:fits], found.total, more, cursor)
    return replace(answer, memories=found.memories or None)


def told(link: GraphLink) -> str:
    """About as long as a model is told of a link."""
    return f"{link.source}:{link.line} {link.target} {link.as_written} {link.heading} {link.alias} {link.context}"
