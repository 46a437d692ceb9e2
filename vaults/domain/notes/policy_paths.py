"""Paths and names of policies. Pure."""

from __future__ import annotations

import re

from vaults.errors import InvalidArgument
from vaults.files.paths import collision_key, join_path, normalize_path, to_note_path

SUFFIX = ".yaml"

MAX_BYTES = 64 * 1024
"""Max bytes of a policy's file."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")


def check_name(name: str) -> None:
    """Raise ``InvalidArgument`` for an invalid policy name."""
    if not _NAME.match(name):
        raise InvalidArgument("name", "must be a-z, 0-9, '-' and '_', 64 at most, such as weekly-review")


def policy_path(folder: str, name: str) -> str:
    """The path of a policy's file. Raises ``InvalidArgument``."""
    check_name(name)
    return join_path(folder, f"{name}{SUFFIX}")


def is_in_folder(folder: str, path: str) -> bool:
    """Whether a path lies in the policies folder, however it is spelled."""
    return collision_key(path).startswith(f"{collision_key(folder)}/")


def parse_path(folder: str, text: str) -> str:
    """Interpret a caller's path as that of a policy or of a note. Raises ``InvalidArgument``."""
    return normalize_path(text) if is_policy(folder, text) else to_note_path(text)


def is_policy(folder: str, path: str) -> bool:
    """Whether a path is a policy's."""
    return is_in_folder(folder, path) and path.lower().endswith(SUFFIX)
