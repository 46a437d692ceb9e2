"""What a search knows about an item besides its text: the columns that each of its passages carries."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_NAME = 80
"""Characters of an author's or entity's name that are searched for in questions."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SearchItem:
    """One searchable thing."""

    kind: str
    number: int
    """Its row in the table of its kind."""
    source_hash: str
    at: str
    modified_at: str
    workspace: str
    hidden: bool = False
    """Archived or superseded."""
    owner: str | None = None
    """Only this principal may find it; None: everybody."""
    expires_at: str | None = None
    type: str = ""
    tier: str = ""
    thread: str | None = None
    applies_to: str = "global"
    collection: str | None = None
    folder: str | None = None
    parent: str | None = None
    position: int | None = None
    """Its place in ``parent``; None: it stands alone."""
    author: str | None = None
    entity: str | None = None

    def columns(self) -> dict[str, object]:
        """The values all passages of the item share."""
        return {
            "source_hash": self.source_hash, "hidden": int(self.hidden), "owner": self.owner,
            "expires_at": self.expires_at, "workspace": self.workspace, "type": self.type, "tier": self.tier,
            "thread": self.thread, "applies_to": self.applies_to, "collection": self.collection,
            "folder": self.folder, "parent": self.parent, "author": name_words(self.author),
            "entity": name_words(self.entity), "at": self.at, "modified_at": self.modified_at,
        }  # fmt: skip

    def sequence(self, passages: int) -> str | None:
        """The sequence its passages belong to: that of the parent's items, or their own. Never across the line between
        shared and private: a neighbour's text is searched, and must not reveal what the searcher may not see."""
        if self.hidden or self.expires_at is not None:  # its words must be gone everywhere the moment it expires
            return None
        owner = self.owner or ""
        whose = f"{self.kind}:{len(owner)}:{owner}"  # people choose names: the length says where this one ends
        if self.parent is not None and self.position is not None:
            return f"{whose}:in:{self.parent}"
        return f"{whose}:{self.number}" if passages > 1 else None


def name_words(name: str | None) -> str | None:
    """A name in the form it is compared in: lower-case words, one space between. None if there are none."""
    return " ".join(_WORD.findall((name or "").lower()))[:MAX_NAME].strip() or None
