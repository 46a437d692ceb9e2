"""Finding broken links: to no note, to several, or to a missing heading or block."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links.target_guesses import TargetGuess, TargetGuesser, rank_by_distance
from vaults.domain.notes.edit.link_spelling import resolve_relative
from vaults.domain.paging import cursors
from vaults.errors import StrongroomError
from vaults.files.paths import parent_folder
from vaults.graph.names import note_names
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.link import Link, LinkKind, unescape_target
from vaults.markdown.link_resolution import LinkTarget, fold_name, resolve_link
from vaults.markdown.sections import find_closest_headings
from vaults.vault import Vault

LINKS_PER_STEP = 2000
"""Links examined in one step."""

MAX_STEPS = 40
"""Max steps of one call: a vault of 60,000 links takes some thirty."""

MAX_TARGETS = 200
"""Max notes read in one call to look for headings and blocks."""

MAX_FILES = 50_000
"""Max files searched for one that is linked by name alone."""

MAX_HEADINGS = 3
_CURSOR = "broken"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
_PLAIN = re.compile(r"[\W_]+")

BrokenReason = Literal["no note", "ambiguous", "no heading", "no block"]


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link that leads nowhere, and why. ``wanted``: the heading or block that is not there; ``likely``: notes it may
    be meant for, or, of a heading, ``headings`` that are there."""

    path: str
    line: int
    kind: LinkKind
    target: str
    reason: BrokenReason
    wanted: str = ""
    likely: list[TargetGuess] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)

    @property
    def link(self) -> Link:
        """The link as parsed from the text, but without its position."""
        return Link(self.kind, self.target)


@dataclass(frozen=True, slots=True)
class BrokenLinkPage:
    """A page of broken links. ``cursor``: where to continue; None at the end."""

    links: list[BrokenLink]
    cursor: str | None = None

    @property
    def truncated(self) -> bool:
        return self.cursor is not None


@dataclass(frozen=True, slots=True)
class BrokenLinksRequest:
    """Which links to check."""

    path: str | None = None  # the note whose links are checked; None: all
    limit: int = 50
    cursor: str | None = None
    within: bool = True  # check headings and blocks, too


@dataclass(frozen=True, slots=True)
class _SuspectLink:
    path: str
    ordinal: int
    line: int
    kind: LinkKind
    target: str
    heading: str
    block: str
    meant: str | None
    fits: dict[str, str]


async def find_broken_links(vault: Vault, request: BrokenLinksRequest) -> BrokenLinkPage:
    """Broken links by path and position, with what they may mean. Raises ``InvalidArgument`` for a bad cursor."""
    after = cursors.decode(request.cursor, _CURSOR) if request.cursor else ("", -1)
    guesser = await read_guesser(vault)
    judge = _LinkJudge(vault, guesser)
    found: list[BrokenLink] = []
    for _ in range(MAX_STEPS):
        here = after
        rows = await vault.db.read(lambda tx, here=here: _read_suspects(tx, here, request))  # type: ignore[misc]
        judged = await run_in(vault.shared.pool, judge.all, rows, request.limit - len(found))
        found += judged.broken
        if judged.last is not None:
            after = judged.last.path, judged.last.ordinal
        if judged.seen == len(rows) < LINKS_PER_STEP:
            return BrokenLinkPage(found)
        if len(found) >= request.limit or judge.read >= MAX_TARGETS:
            break
    return BrokenLinkPage(found, cursors.encode(_CURSOR, *after))


async def read_guesser(vault: Vault) -> TargetGuesser:
    """The guesser for this vault, which knows similar names."""
    graph = await vault.db.read(vault.graph_cache.at)
    return await run_in(vault.shared.pool, TargetGuesser, graph)


_ROWS = (
    "SELECT s.path, l.ordinal, l.line, l.kind, l.target, l.heading, l.block, t.path, l.target_key FROM note_links l"
    " JOIN notes s ON s.seq = l.note LEFT JOIN notes t ON t.seq = l.meant"
    " WHERE (s.path > :path OR s.path = :path AND l.ordinal > :ordinal)"
)
_NOWHERE = "l.meant IS NULL AND l.target_key <> ''"
_HAS_ANCHOR = "l.meant IS NOT NULL AND (l.heading <> '' OR l.block <> '')"


def _read_suspects(tx: Reader, after: tuple[str, int], request: BrokenLinksRequest) -> list[_SuspectLink]:
    only = request.path
    doubtful = f"({_NOWHERE} OR {_HAS_ANCHOR})" if request.within else _NOWHERE
    note = " AND s.path = :only" if only is not None else ""
    where = f"{_ROWS} AND {doubtful}{note} ORDER BY s.path, l.ordinal LIMIT {LINKS_PER_STEP}"
    rows = tx.all(where, {"path": after[0], "ordinal": after[1], "only": only})
    fits = {key: note_names.find_notes(tx, key) for *_, meant, key in rows if meant is None}
    return [_to_suspect(row, [each for _, each in fits.get(key, ())]) for *row, key in rows]


def _to_suspect(row: Sequence[Any], several: Sequence[LinkTarget]) -> _SuspectLink:
    path, _, _, kind, target, *_ = row
    link = Link(kind, target)
    fitting = [each for each in several if resolve_link(link, path, [each]) is not None]
    return _SuspectLink(*[*row, {each.path: each.title or each.path for each in fitting}])


@dataclass(frozen=True, slots=True)
class _JudgedRows:
    broken: list[BrokenLink]
    seen: int
    last: _SuspectLink | None


@dataclass(slots=True)
class _LinkJudge:
    """Tells broken links from working ones. Blocking."""

    vault: Vault
    guesser: TargetGuesser
    _anchors: dict[str, _Anchors | None] = field(init=False, default_factory=dict)
    _files: frozenset[str] | None = field(init=False, default=None)

    @property
    def read(self) -> int:
        """How many notes were read."""
        return len(self._anchors)

    def all(self, rows: Sequence[_SuspectLink], limit: int) -> _JudgedRows:
        """The broken links among ``rows``, up to ``limit``."""
        found: list[BrokenLink] = []
        for seen, row in enumerate(rows):
            if len(found) >= limit or self.read >= MAX_TARGETS:
                return _JudgedRows(self._add_guesses(found), seen, rows[seen - 1] if seen else None)
            found += self._one(row)
        return _JudgedRows(self._add_guesses(found), len(rows), rows[-1] if rows else None)

    def _add_guesses(self, found: Sequence[BrokenLink]) -> list[BrokenLink]:
        """Add likely targets to the links that lead to no note."""
        lost = [each.link.page for each in found if each.reason == "no note"]
        likely = iter(self.guesser.several(lost))
        return [replace(each, likely=next(likely)) if each.reason == "no note" else each for each in found]

    def _one(self, row: _SuspectLink) -> Iterator[BrokenLink]:
        link = row.path, row.line, row.kind, row.target
        if row.meant is None:
            if len(row.fits) > 1:
                yield BrokenLink(*link, "ambiguous", likely=rank_by_distance(row.path, row.fits))
            elif not self._is_file(row):
                yield BrokenLink(*link, "no note")
            return
        there = self._of(row.meant)
        if there is None:
            return
        if row.heading and not there.has_heading(row.heading):
            yield BrokenLink(*link, "no heading", row.heading, headings=there.closest(row.heading))
        elif row.block and row.block.casefold() not in there.blocks:
            yield BrokenLink(*link, "no block", row.block)

    def _of(self, path: str) -> _Anchors | None:
        """The headings and blocks of a note; None if it cannot be read now."""
        if path not in self._anchors:
            try:
                text = decode(self.vault.notes.tree.read(path, self.vault.notes.settings.max_note).data).text
            except (StrongroomError, NotText):
                self._anchors[path] = None
            else:
                self._anchors[path] = _read_anchors(markdown.parse(text))
        return self._anchors[path]

    def _is_file(self, row: _SuspectLink) -> bool:
        """Whether a link leads to something that is no note: a picture, a folder."""
        page, root = Link(row.kind, row.target).page, self.vault.notes.root
        places = (resolve_relative(page, parent_folder(row.path)), resolve_relative(page.lstrip("/"), ""))
        if any(where is not None and os.path.lexists(root / where) for where in places):
            return True
        if row.kind == "markdown" or "/" in page or not _SUFFIX.search(page):
            return False
        if self._files is None:
            self._files = frozenset(_iter_files(root))
        return fold_name(page) in self._files


def _iter_files(root: Path) -> Iterator[str]:
    """Names of all files below a folder: Obsidian finds a linked file wherever it lies."""
    seen = 0
    for _, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".")]
        seen += len(files)
        yield from (fold_name(each) for each in files)
        if seen > MAX_FILES:
            return


@dataclass(frozen=True, slots=True)
class _Anchors:
    headings: frozenset[str]
    blocks: frozenset[str]
    closest: Callable[[str], list[str]]

    def has_heading(self, wanted: str) -> bool:
        """Whether there is such a heading, ignoring punctuation, spaces and case; of a path of headings, the last
        counts."""
        wanted = unescape_target(wanted)
        return any(_fold_heading(each) in self.headings for each in (wanted, wanted.rpartition("#")[2]))


def _fold_heading(heading: str) -> str:
    return _PLAIN.sub("", fold_name(heading))


def _read_anchors(note: markdown.ParsedNote) -> _Anchors:
    return _Anchors(
        frozenset(_fold_heading(each.text) for each in note.headings),
        frozenset(each.name.casefold() for each in note.blocks),
        lambda wanted: find_closest_headings(note, wanted)[:MAX_HEADINGS],
    )
