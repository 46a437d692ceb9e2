"""Which commit a moment means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ops.change_log.lines import read_lines, segment_key
from ops.change_log.names import LineListing, SegmentName, to_milliseconds, to_moment
from ops.change_log.segments import read_records
from ops.change_log.store import LogStore, plain
from vaults.errors import NotFound


@dataclass(frozen=True, slots=True)
class LogPoint:
    """One commit of a log. ``complete``: whether no commit can be missing between it and the moment that was asked for,
    as far as the log can tell; False where another line begins later, after a gap. ``is_newest``: the log holds no
    commit after it, because there was none, or because nobody logged."""

    line: str
    sequence: int
    time: str
    complete: bool
    is_newest: bool = False


def find_point(
    store: LogStore,
    vault_id: str,
    *,
    time: str | None = None,
    sequence: int | None = None,
    unseal: Callable[[bytes], bytes] = plain,
) -> LogPoint:
    """The last commit made at ``time`` or before, in the order of the log; or the one numbered ``sequence``; or the
    newest. Blocking. Raises ``NotFound`` where the log does not reach, and ``InvalidArgument`` for a damaged one."""
    until = to_milliseconds(time) if time is not None else None
    found = read_lines(store, vault_id)
    for place in range(len(found) - 1, -1, -1):
        line = found[place]
        if sequence is not None:
            point = _numbered(store, vault_id, line, sequence, unseal)
        else:
            point = _dated(store, vault_id, line, until, unseal)
        if point is not None:
            reached, at = point
            complete = place == len(found) - 1 or sequence is not None or reached < line.last
            is_newest = not any(each.last > reached for each in found)
            return LogPoint(line.name, reached, to_moment(at), complete, is_newest)
    raise NotFound("the change log does not reach that moment", hint="restore a backup made before it")


def _numbered(
    store: LogStore, vault_id: str, line: LineListing, sequence: int, unseal: Callable[[bytes], bytes]
) -> tuple[int, int] | None:
    bases = [each for each in line.bases if each.sequence <= sequence]
    if not bases:
        return None
    if bases[-1].sequence == sequence:
        return sequence, bases[-1].time
    for segment in line.segments:
        if segment.last >= sequence:
            return _in_segment(store, vault_id, line, segment, lambda number, _: number <= sequence, unseal)
    return None


def _dated(
    store: LogStore, vault_id: str, line: LineListing, until: int | None, unseal: Callable[[bytes], bytes]
) -> tuple[int, int] | None:
    bases = [each for each in line.bases if until is None or each.time <= until]
    if not bases:
        return None
    base = bases[-1]
    later = [each for each in line.segments if each.last > base.sequence]
    whole = [number for number, each in enumerate(later) if until is None or each.ended <= until]
    reached = (later[whole[-1]].last, later[whole[-1]].ended) if whole else (base.sequence, base.time)
    following = whole[-1] + 1 if whole else 0
    if until is not None and following < len(later):
        part = _in_segment(store, vault_id, line, later[following], lambda _, at: at <= until, unseal)
        if part is not None and part[0] > reached[0]:
            return part
    return reached


def _in_segment(
    store: LogStore,
    vault_id: str,
    line: LineListing,
    segment: SegmentName,
    wanted: Callable[[int, int], bool],
    unseal: Callable[[bytes], bytes],
) -> tuple[int, int] | None:
    """The last commit of a segment that is wanted."""
    found = None
    for record in read_records(store.get(segment_key(vault_id, line.name, segment)), unseal):
        if wanted(record.sequence, record.time):
            found = record.sequence, record.time
    return found
