"""Names of snapshots."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"(?P<number>\d{8})-(?P<moment>\d{8}T\d{6}Z)\.snapshot", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SnapshotName:
    """A snapshot in a list. ``number`` counts up and is what orders them; ``moment`` is the clock's, for people."""

    number: int
    moment: str

    def __str__(self) -> str:
        return f"{self.number:08}-{self.moment}.snapshot"


def parse_name(text: str) -> SnapshotName | None:
    """The name of a snapshot; None for any other file."""
    found = _NAME.fullmatch(text)
    return SnapshotName(int(found["number"]), found["moment"]) if found else None


def compact_moment(moment: str) -> str:
    """A stored moment, ``2026-11-25T21:00:00Z``, as it stands in names."""
    return f"{moment[:19].replace('-', '').replace(':', '')}Z"
