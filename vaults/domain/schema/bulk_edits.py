"""Applying one step to many notes' frontmatter as one change: a note in which the step fails stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.notes.edit.many_notes import BulkEdit, rewrite_notes
from vaults.domain.notes.read.change_history import truncate_lines
from vaults.errors import Conflict, InvalidArgument, TooLarge
from vaults.vault import Vault

TOOL = "schema"

MAX_NOTES = 5_000
"""Max notes of one change: all versions before and after are held in memory."""

MAX_NAMED = 20
"""Max skipped notes that are named with the reason."""


@dataclass(frozen=True, slots=True)
class FrontmatterEditRequest:
    """Options shared by all changes to many notes."""

    folder: str | None = None
    dry_run: bool = True
    session: str | None = None
    max_tokens: int = 4_000  # of the diff


@dataclass(frozen=True, slots=True)
class FrontmatterEditResult:
    """What an edit changed, or on a dry run would change."""

    paths: list[str]
    change: str | None = None  # the id by which ``history`` undoes all of it
    diff: str | None = None
    counts: dict[str, int] = field(default_factory=dict)  # number of notes by what was found in them
    conflicts: list[str] = field(default_factory=list)  # notes that already have the new key with another value
    warnings: list[str] = field(default_factory=list)


async def edit_notes(
    vault: Vault,
    actor: Actor,
    paths: Sequence[str],
    step: Callable[[str], str],
    change: tuple[str, FrontmatterEditRequest],
) -> FrontmatterEditResult:
    """Apply a pure step from text to text to notes. ``change``: its summary, and the request. Raises ``TooLarge`` for
    more than ``MAX_NOTES`` notes, and the errors of ``rewrite_notes``."""
    summary, request = change
    if len(paths) > MAX_NOTES:
        raise TooLarge(
            f"{len(paths)} notes would be changed, and one change holds {MAX_NOTES}",
            hint="go folder by folder",
            size=MAX_NOTES,
        )
    left: dict[str, str] = {}

    def careful(path: str, text: str) -> str:
        try:
            return step(text)
        except (Conflict, InvalidArgument, TooLarge) as failure:
            left[path] = failure.message
            return text

    done = await rewrite_notes(vault, actor, paths, careful, BulkEdit(TOOL, summary, request.dry_run, request.session))
    warnings = [
        *done.warnings,
        *(f"{path} was left alone: {reason}" for path, reason in list(left.items())[:MAX_NAMED]),
    ]
    if len(left) > MAX_NAMED:
        warnings.append(f"{len(left) - MAX_NAMED} more were left alone")
    diff = done.diff
    if diff:
        diff = await run_in(vault.shared.pool, truncate_lines, diff, request.max_tokens)
    return FrontmatterEditResult(done.paths, done.change, diff, warnings=warnings)
