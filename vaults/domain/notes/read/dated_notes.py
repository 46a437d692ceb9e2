"""The paths behind what callers call notes: ``@daily``, ``@weekly:2026-W47``, ``@memory``, addresses, plain paths.

Where dated notes lie is the vault's own habit: what Obsidian was told, else what the notes that are there have in
common, else the defaults of ``vaults.markdown.periodic_notes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from vaults.context import run_in
from vaults.errors import StrongroomError
from vaults.files.paths import path_from_address
from vaults.markdown import periodic_notes
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.periodic_notes import MAX_SETTINGS, PeriodKind
from vaults.vault import Vault

OBSIDIAN = ".obsidian/daily-notes.json"


@dataclass(frozen=True, slots=True)
class DatedNote:
    """A note that is named by its date. ``template``: path of the template the vault's settings name for it. Whether
    ``path`` is fit to be created is for ``paths.check_creatable``: it may come out of settings."""

    path: str
    kind: PeriodKind
    day: date
    template: str | None


def today() -> date:
    """The day it is where the server runs: whoever writes a diary means theirs."""
    return datetime.now(UTC).astimezone().date()


async def resolve_path(vault: Vault, said: str) -> str:
    """The path a caller means by a path, an address or the word for a dated note. Raises ``InvalidArgument`` for a
    date that cannot be read."""
    if (path := path_from_address(said)) is not None:
        return path
    meant = await resolve_dated(vault, said)
    return meant.path if meant else said


async def resolve_dated(vault: Vault, said: str) -> DatedNote | None:
    """The dated note that a word means; None where it is no such word. Raises ``InvalidArgument``."""
    meant = periodic_notes.parse_alias(said, today()) if said.lstrip().startswith("@") else None
    if meant is None:
        return None
    kind, day = meant
    paths = await vault.db.read(lambda tx: [row[0] for row in tx.all("SELECT path FROM notes")])
    pattern = (await run_in(vault.shared.pool, _find_patterns, vault, paths))[kind]
    return DatedNote(periodic_notes.periodic_path(kind, day, pattern), kind, day, pattern.template)


def _find_patterns(vault: Vault, paths: list[str]) -> dict[PeriodKind, periodic_notes.PeriodicPattern]:
    return periodic_notes.infer_patterns(paths, _read_settings(vault))


def _read_settings(vault: Vault) -> str | None:
    try:
        return decode(vault.notes.tree.read(OBSIDIAN, MAX_SETTINGS).data).text
    except (StrongroomError, NotText):
        return None  # no Obsidian here, or one that says nothing we could read: the notes' own habit counts
