"""``note_edit``: one change to one section, or to the whole note; every other byte stays as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.graph.links import link_offers
from vaults.domain.notes.edit import note_templates
from vaults.domain.notes.edit.amendments import Amendment, EditOptions, NewNoteText, Revision
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.single_note import apply_amendment
from vaults.domain.notes.read.dated_notes import DatedNote, resolve_dated, resolve_path
from vaults.errors import NotFound
from vaults.files.paths import to_note_path
from vaults.markdown.edit.draft import ContentFormat, TextEdit
from vaults.markdown.edit.pipeline import apply_edit
from vaults.vault import Vault

LOG_KINDS = ("daily", "memory")
"""Kinds of dated notes that are logs: content without a section or format becomes an entry under its own time."""

_SUMMARIES = {"add": "added to", "remove": "removed from", "replace": "replaced in"}


@dataclass(frozen=True, slots=True)
class EditRequest:
    """An edit as requested. A dated note that does not exist is created when something is added to it."""

    path: str  # or an alias of a dated note, such as "@daily"
    edit: TextEdit
    format: ContentFormat | None = None  # None: plain, or in a log an entry of its own
    auto_link: bool | None = None  # turn known names in written text into links; None: as the settings say
    suggest_links: bool = False  # append suggested links to what is added


async def edit(vault: Vault, actor: Actor, request: EditRequest, options: EditOptions) -> EditResult:
    """Make an edit. Raises ``NotFound`` (the note, the section, the text searched for; with the closest matches),
    ``Conflict`` with the present text, ``InvalidArgument`` and ``TooLarge``."""
    if not request.suggest_links:
        return await apply_amendment(vault, actor, await plan_edit(DraftNotes(vault), request), options)
    path = to_note_path((await plan_edit(DraftNotes(vault), request)).path)
    words = request.edit.content or request.edit.replacement or ""
    offer = await link_offers.offer_links(vault, actor, words, path, auto_link=request.auto_link)
    if request.edit.content and not request.edit.searches and request.edit.action != "remove":
        ended = await run_in(vault.shared.pool, link_offers.append_link_line, words, offer.line)
        request = replace(request, edit=replace(request.edit, content=ended))
    changed = await apply_amendment(vault, actor, await plan_edit(DraftNotes(vault), request), options)
    return replace(changed, suggestions=offer.ideas)


async def plan_edit(draft: DraftNotes, request: EditRequest) -> Amendment:
    """Plan an edit on top of a draft. Raises ``InvalidArgument``."""
    now = datetime.now(UTC).astimezone()
    meant = await resolve_dated(draft.vault, request.path)
    wanted = replace(request.edit, format=request.format or "plain")
    if meant is not None and meant.kind in LOG_KINDS and _is_log_entry(request):
        wanted = replace(wanted, content=_log_entry(wanted.content or "", now))
    words = wanted.content or wanted.replacement or ""
    path = meant.path if meant else await resolve_path(draft.vault, request.path)
    amendment = Amendment(path, partial(_revise, edit=wanted, now=now), words, auto_link=request.auto_link)
    if meant is not None and wanted.action == "add":
        amendment = replace(amendment, start="either", fresh=partial(begin_dated_note, draft, meant, wanted, now))
    return amendment


def _revise(text: str, edit: TextEdit, now: datetime) -> Revision:
    edited = apply_edit(text, edit, now)
    return Revision(
        text=edited.text,
        summary=_SUMMARIES[edit.action],
        warnings=edited.warnings,
        region=edited.region,
        first_line=edited.first_line,
        last_line=edited.last_line,
        written=edited.written,
    )


def _is_log_entry(request: EditRequest) -> bool:
    content = request.edit.content or ""
    return (
        request.edit.action == "add"
        and request.edit.section is None
        and request.format is None
        and bool(content.strip())
    )


def _log_entry(content: str, now: datetime) -> str:
    """A log entry: the time as a heading, then the content."""
    moment = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"## {moment}\n\n{content.strip()}"


async def begin_dated_note(draft: DraftNotes, meant: DatedNote, edit: TextEdit, now: datetime) -> NewNoteText:
    """The initial text of a dated note: its template, if the vault has one. A missing section is created, for nobody
    could have created it before."""
    revise = partial(_revise, edit=replace(edit, create_section=True), now=now)
    try:
        named = meant.template
        found = await (
            note_templates.find_template(draft, named) if named else note_templates.find_default(draft, meant.kind)
        )
    except NotFound:
        missing = f"the template {meant.template}, which the vault's settings name, is not there"
        return NewNoteText(warnings=[missing], revise=revise)
    if found is None:
        return NewNoteText(revise=revise)
    moment = datetime.combine(meant.day, now.timetz())
    whole = await run_in(draft.vault.shared.pool, note_templates.instantiate, found.text, meant.path, moment)
    return NewNoteText(*whole, revise)
