"""Setting links on known names in text that tools write: the last step before a commit, applied to the caller's text
only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.notes.edit.amendments import Revision
from vaults.domain.notes.edit.changed_lines import slice_lines
from vaults.errors import StrongroomError
from vaults.files.paths import parent_folder
from vaults.graph.link_feedback import link_applications
from vaults.graph.link_feedback.link_applications import LinkApplication, LinkSource
from vaults.graph.link_feedback.link_trust import read_trust
from vaults.graph.names.autolinks import AddedLink, AutolinkedText, AutolinkOptions, add_links
from vaults.graph.names.gazetteer import Gazetteer
from vaults.settings import LinkSettings
from vaults.vault import Vault

LINKS_LEFT_OUT = "links were not set: with them the note would be longer than one may be"


@dataclass(frozen=True, slots=True)
class Linker:
    """Sets links on known names. ``suppressed``: by folder, keys of titles that must not be linked."""

    gazetteer: Gazetteer
    suppressed: Mapping[str, frozenset[str]]
    settings: LinkSettings

    def options_for(self, path: str) -> AutolinkOptions:
        """The options for linking all of a note."""
        settings = self.settings
        return AutolinkOptions(
            path,
            suppressed=self.suppressed.get(parent_folder(path), frozenset()),
            every=settings.occurrences == "all",
            implicit=settings.implicit_patterns if settings.implicit == "link" else (),
        )

    def link_text(self, text: str, options: AutolinkOptions) -> AutolinkedText:
        """Add links to a text. Takes 1 ms for 500 words: call it on a worker thread."""
        return add_links(text, self.gazetteer, options)


def read_linker(tx: Reader, vault: Vault, folders: set[str]) -> Linker:
    """The linker for notes in these folders."""
    suppressed = {each: read_trust(tx, each).suppressed for each in folders}
    return Linker(vault.graph_cache.gazetteer(tx), suppressed, vault.shared.links)


async def link_revision(vault: Vault, path: str, revision: Revision, *, asked: bool | None) -> Revision:
    """Add links on known names to the spans that were written. ``asked`` None: as the settings say."""
    if not revision.written or not (vault.shared.links.auto_link if asked is None else asked):
        return revision
    linker = await vault.db.read(lambda tx: read_linker(tx, vault, {parent_folder(path)}))
    options = replace(linker.options_for(path), within=revision.written)
    done = await run_in(vault.shared.pool, linker.link_text, revision.text, options)
    if not done.linked:
        return revision
    if len(done.text.encode("utf-8", "replace")) > vault.notes.settings.max_note:
        return replace(revision, warnings=[*revision.warnings, LINKS_LEFT_OUT])
    return replace(revision, text=done.text, linked=tuple(done.linked), region=_read_region(revision, done.text))


def _read_region(revision: Revision, text: str) -> str | None:
    """The changed lines including their new links, which add no lines."""
    first, last = revision.first_line, revision.last_line
    if not revision.region or first is None or last is None:
        return revision.region
    return slice_lines(text, first, last)


@dataclass(frozen=True, slots=True)
class ChangeLinks:
    """Links set by a change to a note."""

    path: str
    change: str
    linked: tuple[AddedLink, ...]


def record_links(actor: Actor, path: str, linked: tuple[AddedLink, ...], tx: Writer, change: str) -> None:
    """Record which links a change set, to learn from what becomes of them."""
    if linked:
        link_applications.record_applications(tx, _to_applications(actor, [ChangeLinks(path, change, linked)], "auto"))


async def record_all_links(vault: Vault, actor: Actor, *changes: ChangeLinks, source: LinkSource = "auto") -> None:
    """Like ``record_links``, for many notes that are already committed: errors are ignored."""
    rows = _to_applications(actor, changes, source)
    if rows:
        with suppress(StrongroomError):
            await vault.db.write_uncounted(lambda tx: link_applications.record_applications(tx, rows))


def _to_applications(actor: Actor, changes: Iterable[ChangeLinks], source: LinkSource) -> list[LinkApplication]:
    return [
        LinkApplication(
            path=each.path, entity=one.title, term=one.term, source=source, who=actor.identity, change=each.change
        )
        for each in changes
        for one in each.linked
    ]
