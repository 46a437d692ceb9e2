"""The rows of links: each as written, and the note it means. That note is stored, and resolved again when a note with
the link's name is added, removed or renamed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Row, Writer
from vaults.graph import graph_clock
from vaults.graph.names import note_names
from vaults.graph.names.note_names import LinkResolver
from vaults.markdown.link import Link, LinkKind
from vaults.markdown.link_resolution import name_key


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link as written, and the note it stands in."""

    source: str
    line: int
    kind: LinkKind
    target: str
    heading: str
    block: str
    alias: str
    embed: bool

    @property
    def link(self) -> Link:
        """The link as read from the text, without its position."""
        return Link(self.kind, self.target)


@dataclass(frozen=True, slots=True)
class LinkDifference:
    """Keys of names a note links to now and did not before, and the other way round. ``any``: some link changed, or
    means another note."""

    added: set[str]
    removed: set[str]
    any: bool = True


_STORED_COLUMNS = ("kind", "line", "target", "target_key", "heading", "block", "alias", "embed")
_STORED_LIST = ", ".join(_STORED_COLUMNS)
_LINE, _KEY = _STORED_COLUMNS.index("line"), _STORED_COLUMNS.index("target_key")
_SET_MEANING = "UPDATE note_links SET meant = :meant WHERE note = :note AND ordinal = :ordinal"
_READ_COLUMNS = "l.line, l.kind, l.target, l.heading, l.block, l.alias, l.embed"


def store_links(tx: Writer, note: int, path: str, links: Sequence[Link], *, elsewhere: bool) -> LinkDifference:
    """Store the links of a note, from the first that differs on: most edits change few or none, and move those below
    by a line or two. ``elsewhere``: the note has moved, and links may be relative to its path. The caller must tell the
    graph, by ``update_names`` or by ``mark_links_changed``."""
    rows: list[Row] = [
        (each.kind, each.line, each.target, name_key(each.page), each.heading, each.block, each.alias, int(each.embed))
        for each in links
    ]
    stored = tx.all(f"SELECT {_STORED_LIST} FROM note_links WHERE note = :note ORDER BY ordinal", {"note": note})
    pairs = list(zip(stored, rows, strict=False))
    same = next((place for place, (old, new) in enumerate(pairs) if old != new), len(pairs))
    first = 0 if elsewhere else _store_lines(tx, note, pairs, same)
    if len(stored) > first:
        tx.run("DELETE FROM note_links WHERE note = :note AND ordinal >= :first", {"note": note, "first": first})
    meanings = LinkResolver(tx)
    meanings.look_up(row[_KEY] for row in rows[first:])
    tx.many(
        f"INSERT INTO note_links (note, ordinal, {_STORED_LIST}, meant) VALUES"
        " (:note, :ordinal, :kind, :line, :target, :target_key, :heading, :block, :alias, :embed, :meant)",
        [
            dict(zip(_STORED_COLUMNS, row, strict=True))
            | {"note": note, "ordinal": place, "meant": meanings.of(link, path, note)}
            for place, (row, link) in enumerate(zip(rows[first:], links[first:], strict=True), first)
        ],
    )
    if len(stored) == len(rows) == same and not elsewhere:
        return LinkDifference(set(), set(), any=False)
    before, after = {row[_KEY] for row in stored}, {row[_KEY] for row in rows}
    return LinkDifference(after - before - {""}, before - after - {""})


def _store_lines(tx: Writer, note: int, pairs: Sequence[tuple[Row, Row]], first: int) -> int:
    """Store the lines of links from ``first`` on that stand elsewhere and are the same otherwise: they mean what they
    meant. Returns the place of the first that is another."""
    last = first
    while (
        last < len(pairs)
        and pairs[last][0][:_LINE] == pairs[last][1][:_LINE]
        and (pairs[last][0][_LINE + 1 :] == pairs[last][1][_LINE + 1 :])
    ):
        last += 1
    tx.many(
        "UPDATE note_links SET line = :line WHERE note = :note AND ordinal = :ordinal",
        [{"line": pairs[place][1][_LINE], "note": note, "ordinal": place} for place in range(first, last)],
    )
    return last


def mark_links_changed(tx: Writer, note: int) -> None:
    """Tell the graph that a note's links changed."""
    graph_clock.mark_changed(tx, [note])


def resolve_names(tx: Writer, keys: Iterable[str], also: Iterable[int] = ()) -> None:
    """Resolve the links by these names again, because notes with these names were added, removed or moved. ``also``:
    notes of which something else changed."""
    changed, sources = [], set(also)
    for key in keys:
        rows = tx.all(
            "SELECT l.note, l.ordinal, l.kind, l.target, s.path, l.meant FROM note_links l"
            " JOIN notes s ON s.seq = l.note WHERE l.target_key = :key",
            {"key": key},
        )
        meanings = LinkResolver(tx)
        for note, ordinal, kind, target, path, before in rows:
            meant = meanings.of(Link(kind, target), path, note)
            if meant != before:
                changed.append({"meant": meant, "note": note, "ordinal": ordinal})
                sources.add(int(note))
    tx.many(_SET_MEANING, changed)
    if sources:
        graph_clock.mark_changed(tx, sources)


def resolve_links_of(tx: Writer, note: int, path: str) -> None:
    """Resolve a note's own links again, because it moved to another folder, to which they are relative."""
    meanings = LinkResolver(tx)
    rows = tx.all("SELECT ordinal, kind, target, meant FROM note_links WHERE note = :note", {"note": note})
    changed = [
        {"meant": meant, "note": note, "ordinal": ordinal}
        for ordinal, kind, target, before in rows
        if (meant := meanings.of(Link(kind, target), path, note)) != before
    ]
    tx.many(_SET_MEANING, changed)
    graph_clock.mark_changed(tx, [note])


def read_backlinks(tx: Reader, note: int) -> list[LinkRow]:
    """All links that mean this note, its own included, by the paths of their notes."""
    rows = tx.all(
        f"SELECT s.path, {_READ_COLUMNS} FROM note_links l JOIN notes s ON s.seq = l.note"
        " WHERE l.meant = :meant AND l.target_key <> '' ORDER BY s.path, l.ordinal",
        {"meant": note},
    )
    return [_to_link_row(row) for row in rows]


def read_links_by_name(tx: Reader, keys: Iterable[str]) -> list[LinkRow]:
    """Links that give one of these names, whatever note they mean, by the paths of their notes."""
    query = f"SELECT s.path, {_READ_COLUMNS} FROM note_links l JOIN notes s ON s.seq = l.note WHERE l.target_key = :key"
    rows = [row for each in sorted(set(keys)) for row in tx.all(query, {"key": each})]
    return [_to_link_row(row) for row in sorted(rows)]


def _to_link_row(row: Row) -> LinkRow:
    *others, embed = row
    return LinkRow(*[*others, bool(embed)])


def is_due(tx: Reader) -> bool:
    """Whether links stored by an earlier build still have to be resolved."""
    return tx.one("SELECT 1 FROM vault_info WHERE key = 'links' AND value = 'owed'") is not None


def read_target_keys(tx: Reader) -> list[str]:
    """The keys of all names that are linked to."""
    return [row[0] for row in tx.all("SELECT DISTINCT target_key FROM note_links")]


def mark_resolved(tx: Writer) -> None:
    """Record that every link is resolved."""
    tx.run("DELETE FROM vault_info WHERE key = 'links'")


def update_names(tx: Writer, note: int, keys: Iterable[str]) -> None:
    """Resolve links again after a note gained or lost these names."""
    resolve_names(tx, keys, [note])


def forget_names(tx: Writer, keys: Iterable[str]) -> None:
    """Resolve links again after notes with these names were removed."""
    graph_clock.advance(tx)
    resolve_names(tx, keys)


def read_name_keys(tx: Reader, notes: Iterable[int]) -> set[str]:
    """The keys of all names of some notes."""
    return {key for each in notes for key in note_names.read_keys(tx, each)}
