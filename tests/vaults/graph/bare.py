"""A vault's tables in memory, with notes that have names and links, and no files."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.db.sql import Writer
from vaults.graph.links import link_index
from vaults.graph.names import note_names
from vaults.markdown.link_resolution import name_key
from vaults.markdown.links import find_links
from vaults.markdown.scan import scan

AT = "2026-11-01T00:00:00.000Z"


def note(tx: Writer, path: str, text: str = "", aliases: Iterable[str] = ()) -> int:
    """Make a note, or give it another text; its number."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    held = tx.value("SELECT seq FROM notes WHERE path = ?", (path,))
    number = int(held) if held is not None else _made(tx, path, stem)
    names = note_names.store_names(tx, number, (stem, *aliases))
    link_index.store_links(tx, number, path, find_links(scan(text), text), elsewhere=False)
    link_index.update_names(tx, number, names)
    return number


def _made(tx: Writer, path: str, stem: str) -> int:
    return tx.insert(
        "INSERT INTO notes (path, path_key, folder, title, aliases, tags, frontmatter, hash, size, mtime_ns, inode,"
        " device, read_ns, complete, created_at, modified_at) VALUES (?, ?, ?, ?, '[]', '[]', '{}', '', 0, 0, 0, 0, 0,"
        " 1, ?, ?)",
        (path, name_key(path), path.rpartition("/")[0], stem, AT, AT),
    )


def drop(tx: Writer, path: str) -> None:
    """A note is gone."""
    number = int(tx.value("SELECT seq FROM notes WHERE path = ?", (path,)))
    keys = link_index.read_name_keys(tx, [number])
    tx.run("DELETE FROM notes WHERE seq = ?", (number,))
    link_index.forget_names(tx, keys)
