"""One step over many notes' frontmatter, as one change: what is refused in one note leaves that note as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit.many_notes import Bulk, rewrite
from vaults.domain.notes.read.change_history import within
from vaults.errors import Conflict, InvalidArgument, TooLarge
from vaults.vault import Vault

TOOL = "schema"

MOST = 5_000
"""Notes one change may touch: before and after are held in memory together."""

NAMED = 20
"""Notes left alone that are named with the reason."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What every change of many notes is asked with. ``max_tokens``: of the diff."""

    folder: str | None = None
    dry_run: bool = True
    session: str | None = None
    max_tokens: int = 4_000


@dataclass(frozen=True, slots=True)
class Tidied:
    """``paths``: notes that were changed, or would be; ``change``: the id that ``history`` takes all of it back by;
    ``counts``: notes by what was found in them; ``conflicts``: notes that have the new key already, with another
    value."""

    paths: list[str]
    change: str | None = None
    diff: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def tidied(
    vault: Vault, actor: Actor, paths: Sequence[str], step: Callable[[str], str], change: tuple[str, Asked]
) -> Tidied:
    """Put notes through a pure step from text to text. ``change``: its summary, and how it was asked for. Raises
    ``TooLarge`` for more than ``MOST`` notes, and what ``rewrite`` does."""
    summary, asked = change
    if len(paths) > MOST:
        raise TooLarge(
            f"{len(paths)} notes would be changed, and one change holds {MOST}", hint="go folder by folder", size=MOST
        )
    left: dict[str, str] = {}

    def careful(path: str, text: str) -> str:
        try:
            return step(text)
        except (Conflict, InvalidArgument, TooLarge) as failure:
            left[path] = failure.message
            return text

    done = await rewrite(vault, actor, paths, careful, Bulk(TOOL, summary, asked.dry_run, asked.session))
    warnings = [*done.warnings, *(f"{path} was left alone: {reason}" for path, reason in list(left.items())[:NAMED])]
    if len(left) > NAMED:
        warnings.append(f"{len(left) - NAMED} more were left alone")
    diff = done.diff
    if diff:
        diff = await run_in(vault.shared.pool, within, diff, asked.max_tokens)
    return Tidied(done.paths, done.change, diff, warnings=warnings)
