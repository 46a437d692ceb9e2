"""Which links would change meaning when a note moves, and how to rewrite them. Pure.

A link that names the note by its file name or path follows it; one that names it by title or alias stays as it is.
A link to another note that the new name would make ambiguous is spelled out. Relative links in the moved note itself
are rewritten for its new folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from vaults.domain.notes.edit.link_spelling import (
    encode_destination,
    is_link_to,
    list_spellings,
    note_name,
    resolve_relative,
    to_relative,
)
from vaults.errors import InvalidArgument
from vaults.files.paths import parent_folder
from vaults.markdown.frontmatter.parser import parse_frontmatter
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_link
from vaults.markdown.links import find_links
from vaults.markdown.scan import Scan, scan

FileExists = Callable[[str], bool]
"""Whether there is a file at a path. May block."""


def no_file(_: str) -> bool:
    """A ``FileExists`` that knows no file."""
    return False


@dataclass(frozen=True, slots=True)
class NoteMove:
    """A note before and after it is moved."""

    before: LinkTarget
    after: LinkTarget

    @property
    def keys(self) -> set[str]:
        """Folded names by which links reach the note before or after."""
        return names_of(self.before) | names_of(self.after)


def names_of(note: LinkTarget) -> set[str]:
    """Folded names by which a link can reach a note."""
    return {name_key(each) for each in (note_name(note.path), note.title or "", *note.aliases)} - {""}


@dataclass(frozen=True, slots=True)
class RewrittenText:
    """A note's text with its links rewritten, and how many were."""

    text: str
    count: int


@dataclass(slots=True)
class LinkRewriter:
    """Rewrites links for a move. ``others``: every note that shares a name with an affected link, or with the note it
    leads to."""

    move: NoteMove
    others: Iterable[LinkTarget]
    _keys: set[str] = field(init=False)
    _before: dict[str, list[LinkTarget]] = field(init=False)
    _after: dict[str, list[LinkTarget]] = field(init=False)
    _known: dict[tuple[str, str, str, bool], str | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        rest = [each for each in self.others if each.path not in (self.move.before.path, self.move.after.path)]
        self._keys = self.move.keys
        self._before = group_by_name([*rest, self.move.before])
        self._after = group_by_name([*rest, self.move.after])

    def rewrite(self, text: str, source: str, exists: FileExists = no_file) -> RewrittenText:
        """Rewrite the note that was at ``source`` before the move. Raises ``InvalidArgument`` where no link can express
        the new name."""
        found, parts, at, kinds = scan(text), [""], 0, []
        for link in find_links(found, text):
            new = self.target(link, source, exists, bracketed=text[link.target_start - 1 : link.target_start] == "<")
            if new is not None and link.target_start >= at:
                parts += (text[at : link.target_start], new)
                at = link.target_end
                kinds.append(link.kind)
        new_text = "".join((*parts, text[at:]))
        if "frontmatter" in kinds and frontmatter_problem(scan(new_text)) != frontmatter_problem(found):
            raise InvalidArgument("to", f"has signs that the frontmatter of '{source}' cannot hold: use others")
        return RewrittenText(new_text, len(kinds))

    def target(self, link: Link, source: str, exists: FileExists = no_file, *, bracketed: bool = False) -> str | None:
        """The new target of a link in the note at ``source``; None where it stays."""
        if not link.target:
            return None
        own = source == self.move.before.path
        if not own and name_key(link.page) not in self._keys:
            return None  # most links of most notes
        known = (link.kind, link.target, source if own else parent_folder(source), bracketed)
        if known not in self._known:
            self._known[known] = self._target(link, source, exists, bracketed=bracketed)
        return self._known[known]

    def _target(self, link: Link, source: str, exists: FileExists, *, bracketed: bool) -> str | None:
        move = self.move
        own = source == move.before.path
        now = move.after.path if own else source
        if not own and not self._may_concern(link, source):
            return None
        meant = resolve_link(link, source, self._before[name_key(link.page)])
        if meant is None:
            page = relocate_file(link, source, now, exists) if own else None
            return None if page is None else spell_target(link, page, bracketed=bracketed)
        wanted = move.after.path if meant == move.before.path else meant
        if self._keeps_meaning(link, source, now, meant, wanted):
            return None
        folders = parent_folder(source), parent_folder(now)
        for page in list_spellings(link, folders[0], meant, wanted, folders[1]):
            written = spell_target(link, page, bracketed=bracketed)
            if self._is_meant(replace(link, target=written), now, wanted):
                return None if written == link.target else written
        raise InvalidArgument(
            "to", f"cannot be written as a link, as '{link.target}' in '{source}' would have to be: use other signs"
        )

    def _may_concern(self, link: Link, source: str) -> bool:
        """Whether a link in another note can mean the moved note, before or after; if not, its meaning is unchanged."""
        return any(resolve_link(link, source, [each]) is not None for each in (self.move.before, self.move.after))

    def _keeps_meaning(self, link: Link, source: str, now: str, meant: str, wanted: str) -> bool:
        """Whether a link still means its note in the same way: by its path, by its file name, or by title."""
        key = name_key(link.page)
        if resolve_link(link, now, self._after[key]) != wanted:
            return False
        if resolve_link(link, source, without_metadata(self._before[key])) != meant:
            return True
        if wanted != meant and note_name(wanted) != note_name(meant):
            return False
        if link.kind == "markdown" and is_link_to(link.page, parent_folder(source), meant):
            return is_link_to(link.page, parent_folder(now), wanted)
        return resolve_link(link, now, without_metadata(self._after[key])) == wanted

    def _is_meant(self, link: Link, now: str, wanted: str) -> bool:
        after = self._after[name_key(link.page)]
        return resolve_link(link, now, after) == wanted == resolve_link(link, now, without_metadata(after))


def group_by_name(notes: Sequence[LinkTarget]) -> dict[str, list[LinkTarget]]:
    """Notes by each name a link can reach them by."""
    found: dict[str, list[LinkTarget]] = defaultdict(list)
    for note in notes:
        for key in names_of(note):
            found[key].append(note)
    return found


def without_metadata(notes: Sequence[LinkTarget]) -> list[LinkTarget]:
    """Notes without titles and aliases: only their file names count."""
    return [LinkTarget(each.path) for each in notes]


def relocate_file(link: Link, source: str, now: str, exists: FileExists) -> str | None:
    """The link to a file that is no note (an image, an attachment) as seen from the note's new folder; None if there is
    no file where it led from the old one."""
    page = link.page
    there, here = resolve_relative(page, parent_folder(source)), resolve_relative(page, parent_folder(now))
    if there is None or there == here or (link.kind != "markdown" and "/" not in page) or not exists(there):
        return None
    if link.kind != "markdown" and exists(page):
        return None  # a path from the vault's root, as wiki links have
    return to_relative(page, parent_folder(now), there)


def frontmatter_problem(scan: Scan) -> str | None:
    """Why the frontmatter cannot be parsed; None if it can, or there is none."""
    return parse_frontmatter(scan.lines[1 : scan.body_start + 1]).error if scan.body_start else None


def spell_target(link: Link, page: str, *, bracketed: bool) -> str:
    """A page encoded as the target of this kind of link."""
    return encode_destination(page, link.target, bracketed=bracketed) if link.kind == "markdown" else page
