"""``frontmatter_update``: sets and removes properties of a note without touching any other line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.notes.edit.amendments import Amendment, EditOptions, Revision
from vaults.domain.notes.edit.changed_lines import find_changed_region
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.single_note import apply_amendment
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.errors import InvalidArgument
from vaults.markdown.frontmatter.edits import update_properties
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class FrontmatterRequest:
    """Properties to set and to remove."""

    path: str
    set: Mapping[str, Any]
    unset: Sequence[str] = ()
    only_if_missing: bool = False  # existing keys keep their values


async def update_frontmatter(
    vault: Vault, actor: Actor, request: FrontmatterRequest, options: EditOptions
) -> EditResult:
    """Change frontmatter. Raises ``InvalidArgument``, ``NotFound``, ``Conflict`` for another version or frontmatter
    that cannot be edited safely, ``TooLarge``."""
    return await apply_amendment(
        vault, actor, await plan_frontmatter(DraftNotes(vault), request, worded=options.keep_conflict), options
    )


async def plan_frontmatter(draft: DraftNotes, request: FrontmatterRequest, *, worded: bool = False) -> Amendment:
    """Plan a change of properties. ``worded``: on a conflict the properties are saved as text. Raises
    ``InvalidArgument``."""
    if not request.set and not request.unset:
        raise InvalidArgument("set", "or unset is needed: which properties to change")

    def revise(text: str) -> Revision:
        new, warnings = update_properties(text, request.set, request.unset, only_if_missing=request.only_if_missing)
        changed = find_changed_region(text, new)
        return Revision(
            text=new,
            summary="changed properties of",
            warnings=warnings,
            region=changed.text,
            first_line=changed.first_line,
            last_line=changed.last_line,
        )

    words = (await run_in(draft.vault.shared.pool, update_properties, "", request.set))[0] if worded else ""
    return Amendment(await resolve_path(draft.vault, request.path), revise, words)
