"""What all sources of changes share: which names matter, and how a source can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

IGNORE_FILE = ".strongroomignore"
_NOTES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """Why a source stopped. ``gone``: the root is not there; ``limit``: the system gives no more watches; ``again``: it
    lost track and must be restarted."""

    kind: Literal["gone", "limit", "again"]
    reason: str


def is_folder_watched(name: str) -> bool:
    """Whether a folder is watched: hidden ones (``.git``, ``.obsidian``, ``.strongroom``) hold no notes."""
    return not name.startswith(".")


def is_file_watched(name: str) -> bool:
    """Whether it is a note or an ignore file; not an editor's swap file, lock or backup, nor a temporary file."""
    return (name.lower().endswith(_NOTES) and not name.startswith(".")) or name == IGNORE_FILE
