"""Which parts of a log are old enough to go. Pure."""

from __future__ import annotations

from ops.change_log.bases import manifest_key
from ops.change_log.lines import line_key, segment_key
from ops.change_log.names import BaseName, LineListing


def find_expired(lines: list[LineListing], vault_id: str, before: int) -> list[str]:
    """The keys to delete, in an order that leaves every moment after ``before`` (milliseconds since 1970) restorable
    wherever deleting stops. The newest base that is not younger than that stays, and all that follows it; parts of
    bases that were never finished go, except in the newest line."""
    expired: list[str] = []
    kept = _find_start(lines, before)
    for line in lines:
        whole_line = kept is not None and line.number < kept[0].number
        for base in sorted(line.parts.keys() | set(line.bases)):
            is_older = whole_line or (kept is not None and line is kept[0] and base < kept[1])
            is_left_over = base not in line.bases and line is not lines[-1]
            if is_older or is_left_over:
                expired += _keys_of_base(vault_id, line, base)
        for segment in line.segments:
            if whole_line or (kept is not None and line is kept[0] and segment.last <= kept[1].sequence):
                expired.append(segment_key(vault_id, line.name, segment))
        if whole_line and line.begun:
            expired.append(line_key(vault_id, line.name))
    return expired


def _find_start(lines: list[LineListing], before: int) -> tuple[LineListing, BaseName] | None:
    """The base from which everything is kept."""
    old = [(line, base) for line in lines for base in line.bases if base.time <= before]
    return max(old, key=lambda each: (each[0].number, each[1])) if old else None


def _keys_of_base(vault_id: str, line: LineListing, base: BaseName) -> list[str]:
    """What says that it is whole goes first."""
    first = [manifest_key(vault_id, line.name, base)] if base in line.bases else []
    return [*first, *line.parts.get(base, [])]
