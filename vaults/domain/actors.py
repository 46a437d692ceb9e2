"""Who acts, and in which workspace."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

GLOBAL = "global"
"""The workspace, and the scope, of what belongs to no project."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as far as storage needs to know. ``identity`` owns private memories; ``name`` is the default author;
    ``workspace`` is where the caller works, or None."""

    identity: str
    name: str
    workspace: str | None = None


def workspace_key(value: str) -> str:
    """A workspace's stored name: 12 hex digits of the SHA-256 of its name or path; ``global`` and such digests stay as
    they are."""
    if value == GLOBAL or re.fullmatch(r"[0-9a-f]{12}", value):
        return value
    return hashlib.sha256(value.encode()).hexdigest()[:12]
