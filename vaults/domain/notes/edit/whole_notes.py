r"""``note_write``: creates or overwrites a whole note.

The content is written as given, except that a note keeps its byte order mark, and its ``\r\n`` line endings where the
content has plain ones. A last line without a line ending gets one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.graph.links import link_offers
from vaults.domain.notes.edit import note_templates, similar_notes
from vaults.domain.notes.edit.amendments import Amendment, EditOptions, Revision, StartFrom
from vaults.domain.notes.edit.changed_lines import find_changed_region
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.note_templates import NoteTemplate, end_last_line
from vaults.domain.notes.edit.single_note import apply_amendment
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.errors import InvalidArgument
from vaults.files.paths import check_named_as_note, to_note_path
from vaults.markdown.encoding import dominant_newline
from vaults.markdown.frontmatter.edits import update_properties
from vaults.vault import Vault

WriteMode = Literal["create", "overwrite"]


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A note as it should be."""

    path: str
    content: str | None = None
    frontmatter: Mapping[str, Any] = field(default_factory=dict)
    mode: WriteMode = "create"
    template: str | None = None  # path or name of the template to start from
    auto_link: bool | None = None  # turn known names into links; None: as the settings say
    suggest_links: bool = False  # append suggested links


async def write_note(vault: Vault, actor: Actor, request: WriteRequest, options: EditOptions) -> EditResult:
    """Create a note, or overwrite one, creating it if missing. Raises ``AlreadyExists`` with the etag, ``Conflict``
    with the present text or for a name that clashes with another, ``InvalidArgument`` for a name that is not valid on
    every system, ``TooLarge``."""
    amendment = await plan_write(DraftNotes(vault), request)
    ideas = None
    if request.suggest_links and request.content:
        offer = await link_offers.offer_links(
            vault, actor, request.content, amendment.path, auto_link=request.auto_link
        )
        ideas = offer.ideas
        content = await run_in(vault.shared.pool, link_offers.append_link_line, request.content, offer.line)
        amendment = await plan_write(DraftNotes(vault), replace(request, content=content))
    changed = replace(await apply_amendment(vault, actor, amendment, options), suggestions=ideas)
    return changed if request.mode == "overwrite" else await _add_similar(vault, actor, changed, amendment.words)


async def plan_write(draft: DraftNotes, request: WriteRequest) -> Amendment:
    """Plan the writing of a note on top of a draft. Raises ``InvalidArgument``, ``NotFound`` for the template,
    ``TooLarge``."""
    if request.mode == "overwrite" and request.content is None and request.template is None:
        raise InvalidArgument("content", "is needed: what to put in the place of what is there")
    name = await resolve_path(draft.vault, request.path)
    check_named_as_note(name)
    path = to_note_path(name)
    found = await note_templates.find_template(draft, request.template) if request.template is not None else None
    text, warnings = await run_in(draft.vault.shared.pool, _compose, request, path, found)

    def revise(before: str) -> Revision:
        new = _match_line_endings(text, before)
        whole = Revision(new, "wrote", warnings, written=((0, len(new)),))
        if found is None:
            return whole
        shown = find_changed_region("", new)
        return replace(whole, region=shown.text, first_line=shown.first_line, last_line=shown.last_line)

    start: StartFrom = "nothing" if request.mode == "create" else "either"
    return Amendment(path, revise, text, start, auto_link=request.auto_link)


def _compose(request: WriteRequest, path: str, template: NoteTemplate | None) -> tuple[str, list[str]]:
    """The text of the note, and warnings. Raises ``TooLarge`` and the errors of bad frontmatter."""
    text = (request.content or "").removeprefix("\ufeff")
    warnings: list[str] = []
    if template is not None:
        text, warnings = note_templates.instantiate(template.text, path, datetime.now(UTC).astimezone(), text)
    if request.frontmatter:
        text, further = _add_properties(text, request.frontmatter)
        warnings = [*warnings, *further]
    return end_last_line(text, dominant_newline(text)), warnings


def _add_properties(text: str, properties: Mapping[str, Any]) -> tuple[str, list[str]]:
    try:
        return update_properties(text, properties)
    except InvalidArgument as failure:  # worded for frontmatter_update, whose argument has another name
        reason = failure.message.partition(" set ")[2] or failure.message
        raise InvalidArgument("frontmatter", reason, hint=failure.hint) from failure


def _match_line_endings(text: str, before: str) -> str:
    r"""Use the line endings of the note being replaced, if those are \r\n and the text has no \r of its own."""
    if "\r" in text or dominant_newline(before) != "\r\n":
        return text
    return text.replace("\n", "\r\n")


async def _add_similar(vault: Vault, actor: Actor, changed: EditResult, text: str) -> EditResult:
    """Add the notes that seem to be about the same subject, with a warning."""
    warnings = list(changed.warnings)
    similar = await similar_notes.find_similar(vault, actor, changed.path, text.encode())
    if similar:
        named = ", ".join(each.path for each in similar)
        warnings.append(
            f"there are notes that seem to be about the same: {named}; it may be better to edit one of them"
        )
    return replace(changed, warnings=warnings, similar=similar or None)
