"""Carries what was recorded to the store: segments, bases, and the deletion of what is too old. Blocking."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ops.change_log import bases, lines
from ops.change_log.bases import PART_BYTES, BaseManifest, BasePart
from ops.change_log.failures import LogTaken
from ops.change_log.follower import BaseSource, Follower, LineEnd
from ops.change_log.lines import StoredEnd
from ops.change_log.names import OWNER_FILE, BaseName, LineListing, log_key
from ops.change_log.retention import find_expired
from ops.change_log.segments import Segment, to_mark
from ops.change_log.store import LogStore
from vaults.db.wal_frames import WalPosition
from vaults.errors import NotFound

ASK_S = 10.0
"""Seconds after which it is asked again, before writing, whether the log is still ours."""


@dataclass(slots=True)
class LogFigures:
    """What was done so far, for metrics and whoever asks how the log is."""

    segments: int = 0
    stored_bytes: int = 0
    commits: int = 0
    bases: int = 0
    gaps: int = 0
    failure: str | None = None
    """The code of what keeps it from going on; None: it goes on."""
    covered_at: float = field(default_factory=time.monotonic)
    """When all that was committed was last known to be restorable."""

    @property
    def behind_s(self) -> float:
        """Seconds of commits that a lost disk would take along, at most."""
        return time.monotonic() - self.covered_at


class Shipper:
    """Of one vault. Everything blocks."""

    def __init__(self, vault_id: str, store: LogStore, seal: Callable[[bytes], bytes], figures: LogFigures) -> None:
        self._vault_id = vault_id
        self._store = store
        self._seal = seal
        self.figures = figures
        self.segments_since_base = 0
        self.bytes_since_base = 0
        self.base_bytes: int | None = None
        """None: the line has no base yet."""
        self._held = contextlib.ExitStack()
        self._mark = secrets.token_hex(16).encode()
        self._asked = 0.0

    def read_end(self) -> tuple[list[LineListing], StoredEnd | None]:
        """Take the log's place in the store, and find where it ends. Raises ``Conflict`` where another has it. A bucket
        knows no locks: there whoever comes last has it, and the one before finds that out."""
        self._held.enter_context(self._store.hold(log_key(self._vault_id)))
        self._store.put(self._owner_key, self._mark)
        self._asked = time.monotonic()
        found = lines.read_lines(self._store, self._vault_id)
        return found, lines.read_end(self._store, self._vault_id, found)

    def go_on(self, stored: StoredEnd) -> None:
        """The line that is there is continued."""
        self.segments_since_base = stored.segments_since_base
        self.base_bytes = 0 if stored.has_base else None

    def begin_line(self, found: list[LineListing]) -> LineEnd:
        """Begin another line."""
        self.segments_since_base, self.bytes_since_base, self.base_bytes = 0, 0, None
        return lines.begin_line(self._store, self._vault_id, found)

    def _require_ours(self) -> None:
        """Raise ``LogTaken`` where somebody else has begun to write this log. Asked now and then, before writing."""
        if time.monotonic() - self._asked < ASK_S:
            return
        with contextlib.suppress(NotFound):  # somebody forgot the log: the segment that comes next says so
            if self._store.get(self._owner_key) != self._mark:
                raise LogTaken(
                    "another installation writes the change log of this vault into the same place",
                    hint="give one of them another backup.to",
                )
        self._asked = time.monotonic()

    @property
    def _owner_key(self) -> str:
        return f"{log_key(self._vault_id)}/{OWNER_FILE}"

    def store_recorded(self, follower: Follower) -> None:
        """Record what was committed so far, and store it."""
        began, is_all = time.monotonic(), False
        while not is_all:
            is_all = follower.record()
            while (segment := follower.next_segment()) is not None:
                self._store_segment(segment)
                follower.confirm(segment)
        self.note_covered(began)

    def note_covered(self, moment: float) -> None:
        """All that was committed until then is stored. Without a base nothing of the line can be restored."""
        if self.base_bytes is not None:
            self.figures.covered_at = moment

    def _store_segment(self, segment: Segment) -> None:
        head = segment.head
        self._require_ours()
        self._store.put(lines.segment_key(self._vault_id, head.line, head.name), segment.data)
        self._store.settle()
        self.segments_since_base += 1
        self.bytes_since_base += len(segment.data)
        self.figures.segments += 1
        self.figures.stored_bytes += len(segment.data)
        self.figures.commits += head.last - head.first + 1

    def store_base(self, source: BaseSource, line: str, position: WalPosition | None) -> Iterator[None]:
        """Store the whole database as it is in ``source``: a part at each step. Raises ``WalGap``."""
        name, parts = BaseName(source.sequence, source.time), list[BasePart]()
        page_size = source.pages.page_size
        self._require_ours()
        for data in source.read(PART_BYTES // page_size):
            part, packed = bases.pack_part(data, self._seal)
            self._store.put(bases.part_key(self._vault_id, line, name, len(parts)), packed)
            parts.append(part)
            yield
        manifest = BaseManifest(
            line=line,
            sequence=source.sequence,
            time=source.time,
            page_size=page_size,
            pages=source.digests.size,
            digest=source.digests.total.hex(),
            wal=to_mark(position),
            parts=tuple(parts),
        )
        self._store.settle()
        self._store.put(bases.manifest_key(self._vault_id, line, name), manifest.model_dump_json().encode())
        self._store.settle()
        self.segments_since_base, self.bytes_since_base, self.base_bytes = 0, 0, manifest.size
        self.figures.bases += 1
        self.figures.stored_bytes += manifest.size

    def delete_expired(self, before: int) -> None:
        """Delete what no moment after ``before`` (milliseconds since 1970) needs."""
        found = lines.read_lines(self._store, self._vault_id)
        if expired := find_expired(found, self._vault_id, before):
            self._store.delete(expired)

    def close(self) -> None:
        """Give the log's place in the store up."""
        self._held.close()
