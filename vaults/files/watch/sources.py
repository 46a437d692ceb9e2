"""What every source of changes knows: which names matter, and the ways it can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

IGNORE_FILE = ".strongroomignore"
_NOTES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """Why a source stopped: ``gone``: the root is not there; ``limit``: the system gives no more watches;
    ``again``: it lost track and is to be started anew."""

    kind: Literal["gone", "limit", "again"]
    reason: str


def is_folder_watched(name: str) -> bool:
    """Hidden folders (``.git``, ``.obsidian``, our own ``.strongroom``) hold no notes."""
    return not name.startswith(".")


def is_file_watched(name: str) -> bool:
    """Notes and ignore files; not editors' swap files, locks and backups, nor our own temporary files."""
    return (name.lower().endswith(_NOTES) and not name.startswith(".")) or name == IGNORE_FILE
