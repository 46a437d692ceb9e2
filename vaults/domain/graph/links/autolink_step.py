"""Links set on known names in what tools write: the last step before a note is committed, in what the caller wrote and
nowhere else."""

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
    """What is known of names, to set links by. ``suppressed``: keys of titles that are not wanted, by folder."""

    gazetteer: Gazetteer
    suppressed: Mapping[str, frozenset[str]]
    settings: LinkSettings

    def wish(self, path: str) -> AutolinkOptions:
        """What is wanted in all of a note."""
        settings = self.settings
        return AutolinkOptions(
            path,
            suppressed=self.suppressed.get(parent_folder(path), frozenset()),
            every=settings.occurrences == "all",
            implicit=settings.implicit_patterns if settings.implicit == "link" else (),
        )

    def linked(self, text: str, wish: AutolinkOptions) -> AutolinkedText:
        """A text with its links. Takes 1 ms for 500 words: call it on a thread."""
        return add_links(text, self.gazetteer, wish)


def read_linker(tx: Reader, vault: Vault, folders: set[str]) -> Linker:
    """What sets links in notes of some folders."""
    suppressed = {each: read_trust(tx, each).suppressed for each in folders}
    return Linker(vault.graph_cache.gazetteer(tx), suppressed, vault.shared.links)


async def link_revision(vault: Vault, path: str, revision: Revision, *, asked: bool | None) -> Revision:
    """A note's new text with links on the known names in what was written. ``asked`` None: as the settings say."""
    if not revision.written or not (vault.shared.links.auto_link if asked is None else asked):
        return revision
    known = await vault.db.read(lambda tx: read_linker(tx, vault, {parent_folder(path)}))
    wish = replace(known.wish(path), within=revision.written)
    done = await run_in(vault.shared.pool, known.linked, revision.text, wish)
    if not done.linked:
        return revision
    if len(done.text.encode("utf-8", "replace")) > vault.notes.settings.max_note:
        return replace(revision, warnings=[*revision.warnings, LINKS_LEFT_OUT])
    return replace(revision, text=done.text, linked=tuple(done.linked), region=_read_region(revision, done.text))


def _read_region(revision: Revision, text: str) -> str | None:
    """The lines that changed, with their links: a link brings no line."""
    first, last = revision.first_line, revision.last_line
    if not revision.region or first is None or last is None:
        return revision.region
    return slice_lines(text, first, last)


@dataclass(frozen=True, slots=True)
class ChangeLinks:
    """Links that a change of a note set."""

    path: str
    change: str
    linked: tuple[AddedLink, ...]


def record_links(actor: Actor, path: str, linked: tuple[AddedLink, ...], tx: Writer, change: str) -> None:
    """Keep in mind which links a change of a note set, to learn from what becomes of them."""
    if linked:
        link_applications.record_applications(tx, _to_applications(actor, [ChangeLinks(path, change, linked)], "auto"))


async def record_all_links(vault: Vault, actor: Actor, *made: ChangeLinks, source: LinkSource = "auto") -> None:
    """As ``record_links``, of many notes that stand, whatever becomes of this."""
    rows = _to_applications(actor, made, source)
    if rows:
        with suppress(StrongroomError):
            await vault.db.write_uncounted(lambda tx: link_applications.record_applications(tx, rows))


def _to_applications(actor: Actor, made: Iterable[ChangeLinks], source: LinkSource) -> list[LinkApplication]:
    return [
        LinkApplication(each.path, one.title, one.term, source, actor.identity, each.change)
        for each in made
        for one in each.linked
    ]
