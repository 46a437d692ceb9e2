"""What a search knows of an item besides its text: the columns each of its passages carries."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_NAME = 80
"""Characters of an author's or entity's name that are looked for in questions."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SearchItem:
    """One searchable thing: ``number`` is its row in the table of its ``kind``. ``hidden``: archived or superseded.
    ``owner``: only this principal may find it. ``position`` is its place in ``parent``; None: it stands alone."""

    kind: str
    number: int
    source_hash: str
    at: str
    modified_at: str
    workspace: str
    hidden: bool = False
    owner: str | None = None
    expires_at: str | None = None
    type: str = ""
    tier: str = ""
    thread: str | None = None
    applies_to: str = "global"
    collection: str | None = None
    folder: str | None = None
    parent: str | None = None
    position: int | None = None
    author: str | None = None
    entity: str | None = None

    def columns(self) -> dict[str, object]:
        """The values all passages of the item share."""
        return {
            "source_hash": self.source_hash, "hidden": int(self.hidden), "owner": self.owner,
            "expires_at": self.expires_at, "workspace": self.workspace, "type": self.type, "tier": self.tier,
            "thread": self.thread, "applies_to": self.applies_to, "collection": self.collection,
            "folder": self.folder, "parent": self.parent, "author": name_key(self.author),
            "entity": name_key(self.entity), "at": self.at, "modified_at": self.modified_at,
        }  # fmt: skip

    def sequence(self, passages: int) -> str | None:
        """What its passages are in a row with: the parent's other items, or each other. Never across the line between
        shared and private: the text of a neighbour is searched, and must not tell of what the searcher may not see."""
        if self.hidden or self.expires_at is not None:  # its words must be gone everywhere the moment it expires
            return None
        owner = self.owner or ""
        whose = f"{self.kind}:{len(owner)}:{owner}"  # its length tells where a name ends that somebody chose
        if self.parent is not None and self.position is not None:
            return f"{whose}:in:{self.parent}"
        return f"{whose}:{self.number}" if passages > 1 else None


def name_key(name: str | None) -> str | None:
    """A name as it is compared: its words in lower case, one space between. None when there is nothing to compare."""
    return " ".join(_WORD.findall((name or "").lower()))[:MAX_NAME].strip() or None
