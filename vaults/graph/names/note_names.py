"""The stored names of notes, and so what a link may mean."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from vaults.db.sql import Reader, Writer
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, TargetResolver, fold_name, name_key, resolve_target


def store_names(tx: Writer, note: int, names: Iterable[str]) -> set[str]:
    """Store the names of a note; returns the keys it gained or lost."""
    keys = {name_key(each) for each in names} - {""}
    stored = read_keys(tx, note)
    if keys != stored:
        if stored:
            tx.run("DELETE FROM note_names WHERE note = :note", {"note": note})
        tx.many(
            "INSERT INTO note_names (key, note) VALUES (:key, :note)",
            [{"key": each, "note": note} for each in sorted(keys)],
        )
    return keys ^ stored


def read_keys(tx: Reader, note: int) -> set[str]:
    """The keys of a note's names."""
    return {row[0] for row in tx.all("SELECT key FROM note_names WHERE note = :note", {"note": note})}


def read_names(tx: Reader, note: int) -> tuple[str, ...]:
    """The names of a note, as written: title, file name, aliases."""
    row = tx.one("SELECT title, path, aliases FROM notes WHERE seq = :seq", {"seq": note})
    if row is None:
        return ()
    title, path, aliases = row
    return tuple(dict.fromkeys((title, PurePosixPath(path).stem, *json.loads(aliases))))


def find_notes(tx: Reader, key: str) -> list[tuple[int, LinkTarget]]:
    """Notes with a name of this key, with their numbers."""
    rows = tx.all(
        "SELECT n.seq, n.path, n.title, n.aliases FROM note_names k JOIN notes n ON n.seq = k.note WHERE k.key = :key",
        {"key": key},
    )
    return [_to_target(row) for row in rows]


def find_notes_of_each(tx: Reader, keys: Iterable[str]) -> dict[str, list[tuple[int, LinkTarget]]]:
    """``find_notes`` for several keys, in one statement."""
    found: dict[str, list[tuple[int, LinkTarget]]] = {key: [] for key in keys}
    rows = tx.all(
        "SELECT k.key, n.seq, n.path, n.title, n.aliases FROM note_names k JOIN notes n ON n.seq = k.note"
        " WHERE k.key IN (SELECT value FROM json_each(:keys))",
        {"keys": json.dumps(list(found))},
    )
    for key, *row in rows:
        found[key].append(_to_target(row))
    return found


def _to_target(row: Sequence[Any]) -> tuple[int, LinkTarget]:
    seq, path, title, aliases = row
    return seq, LinkTarget(path, title, () if aliases == "[]" else tuple(json.loads(aliases)))


def find_notes_exactly(tx: Reader, name: str) -> dict[str, int]:
    """Notes with exactly this file name, title or alias, ignoring case: numbers by path, in order."""
    wanted = fold_name(name.strip())
    found = {
        each.path: seq for seq, each in find_notes(tx, name_key(name)) if wanted in map(fold_name, _list_names(each))
    }
    return dict(sorted(found.items()))


def _list_names(note: LinkTarget) -> tuple[str, ...]:
    return (note.title or "", PurePosixPath(note.path).stem, *note.aliases)


def find_candidates(tx: Reader, keys: Sequence[str]) -> list[LinkTarget]:
    """Notes with a name of one of these keys."""
    found: dict[str, LinkTarget] = {}
    for each in dict.fromkeys(keys):
        found.update((candidate.path, candidate) for _, candidate in find_notes(tx, each))
    return list(found.values())


def resolve_to_path(tx: Reader, target: str, source: str) -> str | None:
    """The path of the note a link's target means, in the note at ``source``."""
    return resolve_target(target, source, find_candidates(tx, [name_key(target)]))


class LinkResolver:
    """Resolves links, looking each name up once. For use within one transaction, while no name changes."""

    def __init__(self, tx: Reader) -> None:
        self._tx = tx
        self._called: dict[str, tuple[TargetResolver, dict[str, int]] | None] = {}
        self._known: dict[tuple[str, str, str], int | None] = {}

    def look_up(self, keys: Iterable[str]) -> None:
        """Look up names at once that links will be resolved by; else each is, when its turn comes."""
        unknown = {key for key in keys if key not in self._called}
        if len(unknown) > 1:
            for key, found in find_notes_of_each(self._tx, unknown).items():
                self._keep(key, found)

    def of(self, link: Link, source: str, note: int) -> int | None:
        """The number of the note that a link in the note ``note``, at the path ``source``, means; None: none, or
        several."""
        if not link.target:
            return note
        known = (link.kind, link.target, source)
        if known not in self._known:
            self._known[known] = self._find(link, source)
        return self._known[known]

    def _find(self, link: Link, source: str) -> int | None:
        key = name_key(link.page)
        if key not in self._called:
            self._keep(key, find_notes(self._tx, key))
        several = self._called[key]
        path = several[0].resolve_link(link, source) if several is not None else None
        return several[1][path] if several is not None and path is not None else None

    def _keep(self, key: str, found: Sequence[tuple[int, LinkTarget]]) -> None:
        numbers = {each.path: seq for seq, each in found}
        self._called[key] = (TargetResolver([each for _, each in found]), numbers) if found else None
