"""Rewriting links when one note is merged into another. Pure.

Every link to the removed note then leads to the other one, by file name or path in its old style, and shows the same
words. Links in the removed note's own text keep their meaning from its new place. No other link changes its meaning:
the removed note's names become aliases, and aliases are tried last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from vaults.domain.notes.edit.link_rewrites import (
    FileExists,
    RewrittenText,
    frontmatter_problem,
    group_by_name,
    no_file,
    relocate_file,
    spell_target,
    without_metadata,
)
from vaults.domain.notes.edit.link_spelling import list_spellings, note_name
from vaults.errors import InvalidArgument
from vaults.files.paths import parent_folder
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_link
from vaults.markdown.links import find_links
from vaults.markdown.protected_spans import find_tables
from vaults.markdown.scan import scan

_TextEdit = tuple[int, int, str]


@dataclass(slots=True)
class MergeRelinker:
    """Rewrites links for a merge."""

    gone: LinkTarget  # the note to be removed
    into: LinkTarget  # the note it becomes part of
    after: LinkTarget  # that note with its names afterwards
    others: Iterable[LinkTarget]  # every note that shares a name with an affected link, or with the note it leads to
    _before: dict[str, list[LinkTarget]] = field(init=False)
    _after: dict[str, list[LinkTarget]] = field(init=False)
    _meanings: dict[tuple[str, str, str], str | None] = field(init=False, default_factory=dict)
    _spelled: dict[tuple[str, str, str, bool], str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        rest = [each for each in self.others if each.path not in (self.gone.path, self.into.path)]
        self._before = defaultdict(list, group_by_name([*rest, self.gone, self.into]))
        self._after = defaultdict(list, group_by_name([*rest, self.after]))

    def rewrite(self, text: str, source: str, exists: FileExists = no_file) -> RewrittenText:
        """Rewrite the links of the note at ``source``; those of the removed note for their new place. Raises
        ``InvalidArgument`` where no link can express the remaining note's name."""
        found, edits, count = scan(text), list[_TextEdit](), 0
        spans: list[tuple[int, int]] | None = None
        frontmatter = False
        for link in find_links(found, text):
            bracketed = text[link.target_start - 1 : link.target_start] == "<"
            new = self._target(link, source, exists, bracketed=bracketed)
            if new is None:
                continue
            spans = find_tables(found) if spans is None else spans
            edits.append((link.target_start, link.target_end, new))
            edits += self._words(text, link, source, new, spans)
            frontmatter = frontmatter or link.kind == "frontmatter"
            count += 1
        new_text = _apply_edits(text, edits)
        if frontmatter and frontmatter_problem(scan(new_text)) != frontmatter_problem(found):
            raise InvalidArgument("into", f"has a name that the frontmatter of '{source}' cannot hold")
        return RewrittenText(new_text, count)

    def _target(self, link: Link, source: str, exists: FileExists, *, bracketed: bool) -> str | None:
        """The new target of a link; None where it stays."""
        own = source == self.gone.path
        key = name_key(link.page)
        if not link.target or not (own or key in self._before):
            return None
        meant = self._meant(link, source)
        now = self.into.path if own else source
        if meant is None:
            page = relocate_file(link, source, now, exists) if own else None
            return None if page is None else spell_target(link, page, bracketed=bracketed)
        if meant != self.gone.path and (not own or resolve_link(link, now, self._after[key]) == meant):
            return None
        known = (link.kind, link.target, source, bracketed)
        if known not in self._spelled:
            self._spelled[known] = self._respell(link, source, now, meant, bracketed=bracketed)
        return self._spelled[known]

    def _meant(self, link: Link, source: str) -> str | None:
        """The note a link means before the merge."""
        known = (link.kind, link.target, source)
        if known not in self._meanings:
            self._meanings[known] = resolve_link(link, source, self._before[name_key(link.page)])
        return self._meanings[known]

    def _respell(self, link: Link, source: str, now: str, meant: str, *, bracketed: bool) -> str:
        wanted = self.into.path if meant == self.gone.path else meant
        for page in list_spellings(link, parent_folder(source), meant, wanted, parent_folder(now)):
            written = spell_target(link, page, bracketed=bracketed)
            tried = replace(link, target=written)
            there = self._after[name_key(tried.page)]
            if resolve_link(tried, now, there) == wanted == resolve_link(tried, now, without_metadata(there)):
                return written
        raise InvalidArgument("into", f"cannot be written as a link, as '{link.target}' in '{source}' would have to be")

    def _words(self, text: str, link: Link, source: str, new: str, spans: Sequence[tuple[int, int]]) -> list[_TextEdit]:
        """Add the words a reader saw to a link that was shown by its target."""
        if link.kind != "wiki" or link.embed or "|" in text[link.target_end : link.end]:
            return []
        if self._meant(link, source) != self.gone.path:
            return []
        anchor = text[link.target_end : link.end - 2].strip().lstrip("#")
        words = " > ".join([note_name(link.target), *(part.strip() for part in anchor.split("#") if part.strip())])
        if words == new and not anchor:
            return []
        bar = r"\|" if any(start <= link.start < end for start, end in spans) else "|"
        return [(link.end - 2, link.end - 2, bar + words)]


def _apply_edits(text: str, edits: Iterable[_TextEdit]) -> str:
    parts, at = list[str](), 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start >= at:
            parts += (text[at:start], new)
            at = end
    return "".join((*parts, text[at:]))
