"""``frontmatter_update``: properties of a note set and taken away, no other line touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaults.context import run_in
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit.amendments import Amendment, Revision, Terms
from vaults.domain.notes.edit.changed_lines import region
from vaults.domain.notes.edit.drafts import Draft
from vaults.domain.notes.edit.edit_results import Changed
from vaults.domain.notes.edit.single_note import amend
from vaults.domain.notes.read.dated_notes import path_of
from vaults.errors import InvalidArgument
from vaults.markdown.frontmatter.edits import updated
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Asked:
    """``only_if_missing``: keys that are there keep their values."""

    path: str
    set: Mapping[str, Any]
    unset: Sequence[str] = ()
    only_if_missing: bool = False


async def update(vault: Vault, actor: Actor, asked: Asked, terms: Terms) -> Changed:
    """Change frontmatter. Raises ``InvalidArgument``, ``NotFound``, ``Conflict`` for another version or frontmatter
    that cannot be edited safely, ``TooLarge``."""
    return await amend(vault, actor, await planned(Draft(vault), asked, worded=terms.keep_conflict), terms)


async def planned(draft: Draft, asked: Asked, *, worded: bool = False) -> Amendment:
    """The change that setting properties is. ``worded``: the properties as text are kept of one that conflicts. Raises
    ``InvalidArgument``."""
    if not asked.set and not asked.unset:
        raise InvalidArgument("set", "or unset is needed: which properties to change")

    def revise(text: str) -> Revision:
        new, warnings = updated(text, asked.set, asked.unset, only_if_missing=asked.only_if_missing)
        changed = region(text, new)
        return Revision(new, "changed properties of", warnings, changed.text, changed.first_line, changed.last_line)

    words = (await run_in(draft.vault.shared.pool, updated, "", asked.set))[0] if worded else ""
    return Amendment(await path_of(draft.vault, asked.path), revise, words)
