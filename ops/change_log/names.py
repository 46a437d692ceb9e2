"""Where the parts of a log lie in a store, and what their names say.

::

    vaults/<vault_id>/log/owner                                           who writes it: the mark of who began last
    vaults/<vault_id>/log/<line>/line.json                                the line was begun
    vaults/<vault_id>/log/<line>/base-<sequence>-<time>/<part>            the whole database at a commit
    vaults/<vault_id>/log/<line>/base-<sequence>-<time>/base.json         written last: the base is whole
    vaults/<vault_id>/log/<line>/seg-<number>-<last sequence>-<time>      commits

A line is a run of commits without a gap. Names hold the time of the last commit, so that a moment is found without
reading what lies before it. They are hints: what the objects themselves say is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vaults.errors import InvalidArgument

OWNER_FILE = "owner"
LINE_FILE = "line.json"
BASE_FILE = "base.json"

_VAULT = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_LINE = re.compile(r"([0-9]{6})-[0-9a-f]{8}", re.ASCII)
_BASE = re.compile(r"base-([0-9]{15})-([0-9]{15})", re.ASCII)
_SEGMENT = re.compile(r"seg-([0-9]{10})-([0-9]{15})-([0-9]{15})", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """``ended``: milliseconds since 1970 of its last commit."""

    number: int
    last: int
    ended: int

    def __str__(self) -> str:
        return f"seg-{self.number:010d}-{self.last:015d}-{self.ended:015d}"


@dataclass(frozen=True, slots=True, order=True)
class BaseName:
    sequence: int
    time: int

    def __str__(self) -> str:
        return f"base-{self.sequence:015d}-{self.time:015d}"


@dataclass(slots=True)
class LineListing:
    """What a store holds of a line. A base that is not whole has parts only."""

    name: str
    bases: list[BaseName] = field(default_factory=list)
    segments: list[SegmentName] = field(default_factory=list)
    parts: dict[BaseName, list[str]] = field(default_factory=dict)
    """Keys of everything of a base but its last part."""
    begun: bool = False

    @property
    def number(self) -> int:
        return int(self.name.partition("-")[0])

    @property
    def last(self) -> int:
        """The highest sequence number anything in it has."""
        return max([0, *(each.last for each in self.segments), *(each.sequence for each in self.bases)])


def log_key(vault_id: str) -> str:
    """The part of a store that is a vault's log. Raises ``InvalidArgument`` for what cannot be an id."""
    if not _VAULT.fullmatch(vault_id):
        raise InvalidArgument("vault_id", "is none")
    return f"vaults/{vault_id}/log"


def list_lines(keys: Iterable[str], vault_id: str) -> list[LineListing]:
    """The lines that ``keys`` name, oldest first. What is not the log's is passed over."""
    lines: dict[str, LineListing] = {}
    prefix = f"{log_key(vault_id)}/"
    for key in keys:
        line, _, rest = key.removeprefix(prefix).partition("/")
        if key.startswith(prefix) and _LINE.fullmatch(line):
            _add(lines.setdefault(line, LineListing(line)), rest, key)
    found = sorted(lines.values(), key=lambda each: each.name)
    for each in found:
        each.bases.sort()
        each.segments.sort()
    return found


def _add(line: LineListing, rest: str, key: str) -> None:
    first, _, second = rest.partition("/")
    if rest == LINE_FILE:
        line.begun = True
    elif match := _SEGMENT.fullmatch(rest):
        line.segments.append(SegmentName(*map(int, match.groups())))
    elif match := _BASE.fullmatch(first):
        base = BaseName(*map(int, match.groups()))
        if second == BASE_FILE:
            line.bases.append(base)
        else:
            line.parts.setdefault(base, []).append(key)


def to_milliseconds(time: str) -> int:
    """A stored moment as milliseconds since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def to_moment(milliseconds: int) -> str:
    """Milliseconds since 1970 in the stored form."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"
