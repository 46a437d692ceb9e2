"""Resolving what callers call a note to a path: ``@daily``, ``@weekly:2026-W47``, ``@memory``, addresses, plain paths.

Where dated notes lie depends on the vault: Obsidian's settings, else the pattern of the existing notes, else the
defaults of ``vaults.markdown.periodic_notes``.
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
    """A note named by its date."""

    path: str  # not validated, as it may come from settings: see ``paths.check_creatable``
    kind: PeriodKind
    day: date
    template: str | None  # path of the template that the vault's settings name


def today() -> date:
    """The date in the server's time zone: a diary follows its writer's day, not UTC."""
    return datetime.now(UTC).astimezone().date()


async def resolve_path(vault: Vault, name: str) -> str:
    """The path meant by a path, an address or an alias of a dated note. Raises ``InvalidArgument`` for a date that
    cannot be parsed."""
    if (path := path_from_address(name)) is not None:
        return path
    meant = await resolve_dated(vault, name)
    return meant.path if meant else name


async def resolve_dated(vault: Vault, name: str) -> DatedNote | None:
    """The dated note that an alias means; None if it is not an alias. Raises ``InvalidArgument``."""
    meant = periodic_notes.parse_alias(name, today()) if name.lstrip().startswith("@") else None
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
        return None  # no Obsidian settings, or unreadable ones: the pattern of the notes counts
