"""Links that lead nowhere: to no note, to several, to a heading or block that is not there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from vaults.context import run_in
from vaults.db.sql import Reader, Row
from vaults.domain.graph.links.target_guesses import Guesser, Likely, nearest
from vaults.domain.notes.edit.link_spelling import place
from vaults.domain.paging import cursors
from vaults.errors import StrongroomError
from vaults.files.paths import parent
from vaults.graph.names import note_names
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.link import Kind, Link, unescaped
from vaults.markdown.link_resolution import Candidate, folded, resolve_link
from vaults.markdown.sections import closest_headings
from vaults.vault import Vault

PAGE = 2000
"""Links looked at in one step."""

STEPS = 40
"""Steps of one call, each with what it reads: a vault of 60,000 links takes some thirty."""

TARGETS = 200
"""Notes read in one call to see whether they have a heading or block."""

FILES = 50_000
"""Files looked through for one that is linked by its name alone."""

CLOSEST = 3
_CURSOR = "broken"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
_PLAIN = re.compile(r"[\W_]+")

Reason = Literal["no note", "ambiguous", "no heading", "no block"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that leads nowhere, and why. ``wanted``: the heading or block that is not there; ``likely``: notes it may
    be meant for, or, of a heading, ``headings`` that are there."""

    path: str
    line: int
    kind: Kind
    target: str
    reason: Reason
    wanted: str = ""
    likely: list[Likely] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)

    @property
    def link(self) -> Link:
        """As read from the text, but for where it stands in it."""
        return link_of(self.kind, self.target)


@dataclass(frozen=True, slots=True)
class Found:
    """``cursor``: where to go on; None where all was looked at."""

    links: list[Broken]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """``path``: the note whose links are looked at; None: all. ``within``: headings and blocks are looked for too."""

    path: str | None = None
    limit: int = 50
    cursor: str | None = None
    within: bool = True


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    ordinal: int
    line: int
    kind: Kind
    target: str
    heading: str
    block: str
    meant: str | None
    fits: dict[str, str]


def link_of(kind: Kind, target: str) -> Link:
    """A link as written, wherever it stands."""
    return Link(kind, 0, 0, 0, target, 0, 0, "", "", "", embed=False)


async def broken(vault: Vault, asked: Asked) -> Found:
    """Broken links by path and place, with what they may be meant for. Raises ``InvalidArgument`` for a cursor."""
    after = cursors.read(asked.cursor, _CURSOR) if asked.cursor else ("", -1)
    guesser = await guessing(vault)
    judge = _Judge(vault, guesser)
    found: list[Broken] = []
    for _ in range(STEPS):
        here = after
        rows = await vault.db.read(lambda tx, here=here: _rows(tx, here, asked))  # type: ignore[misc]
        judged = await run_in(vault.shared.pool, judge.all, rows, asked.limit - len(found))
        found += judged.broken
        if judged.last is not None:
            after = judged.last.path, judged.last.ordinal
        if judged.seen == len(rows) < PAGE:
            return Found(found)
        if len(found) >= asked.limit or judge.read >= TARGETS:
            break
    return Found(found, cursors.written(_CURSOR, *after))


async def guessing(vault: Vault) -> Guesser:
    """What knows which names are alike."""
    graph = await vault.db.read(vault.atlas.at)
    return await run_in(vault.shared.pool, Guesser, graph)


_ROWS = (
    "SELECT s.path, l.ordinal, l.line, l.kind, l.target, l.heading, l.block, t.path, l.target_key FROM note_links l"
    " JOIN notes s ON s.seq = l.note LEFT JOIN notes t ON t.seq = l.meant"
    " WHERE (s.path > :path OR s.path = :path AND l.ordinal > :ordinal)"
)
_NOWHERE = "l.meant IS NULL AND l.target_key <> ''"
_WITHIN = "l.meant IS NOT NULL AND (l.heading <> '' OR l.block <> '')"


def _rows(tx: Reader, after: tuple[str, int], asked: Asked) -> list[_Row]:
    only = asked.path
    doubtful = f"({_NOWHERE} OR {_WITHIN})" if asked.within else _NOWHERE
    note = " AND s.path = :only" if only is not None else ""
    where = f"{_ROWS} AND {doubtful}{note} ORDER BY s.path, l.ordinal LIMIT {PAGE}"
    rows = tx.all(where, {"path": after[0], "ordinal": after[1], "only": only})
    fits = {row[8]: note_names.called(tx, row[8]) for row in rows if row[7] is None}
    return [_row(row, [each for _, each in fits.get(row[8], ())]) for row in rows]


def _row(row: Row, several: Sequence[Candidate]) -> _Row:
    path, _, _, kind, target, *_ = row
    link = link_of(kind, target)
    fitting = [each for each in several if resolve_link(link, path, [each]) is not None]
    return _Row(*[*row[:8], {each.path: each.title or each.path for each in fitting}])


@dataclass(frozen=True, slots=True)
class _Judged:
    broken: list[Broken]
    seen: int
    last: _Row | None


@dataclass(slots=True)
class _Judge:
    """Tells broken links from whole ones. Blocking. ``read``: notes it had to read."""

    vault: Vault
    guesser: Guesser
    _anchors: dict[str, _Anchors | None] = field(init=False, default_factory=dict)
    _files: frozenset[str] | None = field(init=False, default=None)

    @property
    def read(self) -> int:
        return len(self._anchors)

    def all(self, rows: Sequence[_Row], limit: int) -> _Judged:
        """Those that are broken, up to ``limit`` of them."""
        found: list[Broken] = []
        for seen, row in enumerate(rows):
            if len(found) >= limit or self.read >= TARGETS:
                return _Judged(self._guessed(found), seen, rows[seen - 1] if seen else None)
            found += self._one(row)
        return _Judged(self._guessed(found), len(rows), rows[-1] if rows else None)

    def _guessed(self, found: Sequence[Broken]) -> list[Broken]:
        """Those that mean no note with the notes they may be meant for."""
        lost = [each.link.page for each in found if each.reason == "no note"]
        likely = iter(self.guesser.several(lost))
        return [replace(each, likely=next(likely)) if each.reason == "no note" else each for each in found]

    def _one(self, row: _Row) -> Iterator[Broken]:
        said = row.path, row.line, row.kind, row.target
        if row.meant is None:
            if len(row.fits) > 1:
                yield Broken(*said, "ambiguous", likely=nearest(row.path, row.fits))
            elif not self._is_file(row):
                yield Broken(*said, "no note")
            return
        there = self._of(row.meant)
        if there is None:
            return
        if row.heading and not there.has_heading(row.heading):
            yield Broken(*said, "no heading", row.heading, headings=there.closest(row.heading))
        elif row.block and row.block.casefold() not in there.blocks:
            yield Broken(*said, "no block", row.block)

    def _of(self, path: str) -> _Anchors | None:
        """What can be linked to within a note; None where it cannot be read now."""
        if path not in self._anchors:
            try:
                text = decode(self.vault.notes.tree.read(path, self.vault.notes.settings.max_note).data).text
            except (StrongroomError, NotText):
                self._anchors[path] = None
            else:
                self._anchors[path] = _anchors(markdown.parse(text))
        return self._anchors[path]

    def _is_file(self, row: _Row) -> bool:
        """Whether a link leads to a file that is no note: a picture, a folder."""
        page, root = link_of(row.kind, row.target).page, self.vault.notes.root
        places = (place(page, parent(row.path)), place(page.lstrip("/"), ""))
        if any(where is not None and os.path.lexists(root / where) for where in places):
            return True
        if row.kind == "markdown" or "/" in page or not _SUFFIX.search(page):
            return False
        if self._files is None:
            self._files = frozenset(_files_below(root))
        return folded(page) in self._files


def _files_below(root: Path) -> Iterator[str]:
    """Names of the files in a folder, which Obsidian finds wherever they lie."""
    seen = 0
    for _, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".")]
        seen += len(files)
        yield from (folded(each) for each in files)
        if seen > FILES:
            return


@dataclass(frozen=True, slots=True)
class _Anchors:
    headings: frozenset[str]
    blocks: frozenset[str]
    closest: Callable[[str], list[str]]

    def has_heading(self, wanted: str) -> bool:
        """Whether there is such a heading, however marks, blanks and case are spelled; of a path of headings, the
        last."""
        wanted = unescaped(wanted)
        return any(_plain(each) in self.headings for each in (wanted, wanted.rpartition("#")[2]))


def _plain(heading: str) -> str:
    return _PLAIN.sub("", folded(heading))


def _anchors(note: markdown.Note) -> _Anchors:
    return _Anchors(
        frozenset(_plain(each.text) for each in note.headings),
        frozenset(each.name.casefold() for each in note.blocks),
        lambda wanted: closest_headings(note, wanted)[:CLOSEST],
    )
