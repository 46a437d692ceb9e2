"""The activity log of an open vault: which session a call belongs to, and what was done, written in batches.

A call never waits for its row: events are kept in memory for ``FLUSH_S`` and share one transaction. A process that is
killed loses what it had not written by then, of the log and of nothing else; what cannot be written is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace

from vaults import clock
from vaults.activity_log import query_contexts, session_rows, stale_sessions
from vaults.activity_log.entries import ActivityRecord
from vaults.activity_log.session_rows import SessionRows
from vaults.activity_log.sessions import Session, SessionOwner, begin_session, is_own_handle
from vaults.activity_log.stale_sessions import SessionCutoffs
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import NotFound, ReadOnly, StrongroomError
from vaults.observer import Observer
from vaults.settings import SessionSettings

FLUSH_S = 0.5
"""Seconds an event waits for others to share its transaction."""

READ_S = 1.0
"""Seconds a reader of sessions and events waits for the newest to be written. If that takes longer, the answer goes
without them, and nobody waits again until it is done."""

MAX_WAITING = 10_000
"""Events kept while they cannot be written; older ones are lost, and counted."""

MAX_PRESENT = 20_000
"""Sessions remembered between calls; a forgotten one is found again by its row."""

SWEEP_S = 60.0
"""Seconds between two sweeps, as long as there are calls."""


class ActivityLog:
    """One per open vault, used on its event loop."""

    def __init__(
        self, db: Database, settings: SessionSettings, observer: Observer, *, keeps_queries: bool = False
    ) -> None:
        self._db = db
        self._settings = settings
        self._observer = observer
        self._keeps_queries = keeps_queries  # where the vault does not say
        self._present: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self._touched: dict[str, Session] = {}
        self._records: list[ActivityRecord] = []
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: set[asyncio.Task[None]] = set()
        self._next: asyncio.Task[None] | None = None
        self._late = False
        self._swept = float("-inf")
        self.lost = 0

    async def find_or_begin(self, owner: SessionOwner) -> Session:
        """The session of a caller that names none: its recent one, or a new one."""
        known = await self._find_remembered(owner.identity, owner.name)
        if known is None or known.idle:
            known = await self._db.read(
                lambda tx: session_rows.find_by_name(tx, owner, owner.name, clock.ago(owner.idle_s))
            ) or begin_session(owner, owner.name)
        return self._touch_session(known)

    async def open_named(self, owner: SessionOwner, name: str) -> Session:
        """The session a client calls ``name``: a handle given out here, or a name of its own, which begins a session if
        it is new. Raises ``NotFound`` for a handle that is not this caller's."""
        if is_own_handle(name):
            return await self.find(owner, name)
        known = await self._find_remembered(owner.identity, name)
        if known is None or known.completed:
            known = await self._db.read(lambda tx: session_rows.find_by_name(tx, owner, name, "")) or begin_session(
                owner, name
            )
        return self._touch_session(known)

    async def _find_remembered(self, owner: str, name: str) -> Session | None:
        """The session remembered by a name, unless another process ended it since."""
        known, mark = self._present.get((owner, name)), self._db.mark()
        seq = known.seq if known is not None else None
        if known is None or seq is None or known.mark == mark:
            return known
        with contextlib.suppress(StrongroomError):  # if the log cannot be read, the call goes on
            if await self._db.read(lambda tx: session_rows.is_completed(tx, seq)):
                self.end(known, "completed")
                return None
            known.mark = mark  # the earlier mark: what was committed meanwhile is found at the next call
        return known

    async def find(self, owner: SessionOwner, handle: str) -> Session:
        """The session of a given handle. Raises the same ``NotFound`` for one made up, expired or another's."""
        handle = handle.lower() if is_own_handle(handle) else handle
        known = self._present.get((owner.identity, handle))
        if known is None and handle.isprintable():  # else it is no name, and may not even be text
            known = await self._db.read(
                lambda tx: (
                    session_rows.find_by_handle(tx, owner, handle) or session_rows.find_by_name(tx, owner, handle, "")
                )
            )
        if known is None:
            raise NotFound("no such session", hint="leave session out, or take the handle session_resume gives")
        return self._touch_session(known)

    def _touch_session(self, session: Session) -> Session:
        key = (session.owner, session.name)
        session = self._choose_known(key, session)
        session.touch()
        if not session.completed:
            for each in (key, (session.owner, session.id)):
                self._present[each] = session
                self._present.move_to_end(each)
            while len(self._present) > 2 * MAX_PRESENT:
                self._present.popitem(last=False)
        self._touched[session.id] = session
        self._begin_timer()
        return session

    def _choose_known(self, key: tuple[str, str], session: Session) -> Session:
        """The session to use: while a row was read, another call may have found it, or begun the same session."""
        present = self._present.get(key)
        unwritten = present is not None and session.seq is None and not present.idle and not present.completed
        return present if present is not None and (unwritten or present.id == session.id) else session

    def begin_end(self, session: Session) -> None:
        """Before a session is ended by a write: what is known of when it was seen is not written behind that write,
        which would make it active again."""
        self._touched.pop(session.id, None)

    def end(self, session: Session, status: str) -> None:
        """Forget a session that was paused or completed. After the latter, a call without a handle begins another."""
        session.completed = status == "completed"
        for handle in (session.name, session.id):
            self._present.pop((session.owner, handle), None)
        self._touched.pop(session.id, None)

    def record(self, record: ActivityRecord) -> None:
        """Queue an event to be written soon."""
        self._records.append(record)
        self._drop_oldest(len(self._records) - MAX_WAITING)
        self._begin_timer()

    def _keep_for_later(self, records: list[ActivityRecord], touched: dict[str, Session]) -> None:
        self._records[:0] = records
        self._touched = dict([*touched.items(), *self._touched.items()][-MAX_PRESENT:])
        self._drop_oldest(len(self._records) - MAX_WAITING)

    def _drop_oldest(self, count: int) -> None:
        if count > 0:
            del self._records[:count]
            self._count_lost(count)

    def _count_lost(self, count: int) -> None:
        self.lost += count
        self._observer.on_events_lost(count)

    def _begin_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._begin_flush)

    def _begin_flush(self) -> None:
        self._timer = None
        self._schedule_flush()

    def _schedule_flush(self) -> asyncio.Task[None]:
        """Write what waits as soon as the current write is done. Those who ask meanwhile share the task."""
        if self._next is None:
            self._next = self._see_to_the_end(self._flush_quietly())
        return self._next

    def _see_to_the_end(self, flush: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(flush, name="activity-log")
        self._flushing.add(task)
        task.add_done_callback(self._forget_flush)
        return task

    def _forget_flush(self, task: asyncio.Task[None]) -> None:
        self._flushing.discard(task)
        if not task.cancelled():
            task.exception()  # kept for later as it is; whoever waited was told

    async def _flush_quietly(self) -> None:
        with contextlib.suppress(StrongroomError):
            await self._flush()
        self._late = False

    async def flush(self) -> None:
        """Write what waits, waiting ``READ_S`` at most: another process may hold the vault. Never raises for what
        happens to disk or database: the next flush tries again."""
        writing = self._schedule_flush()
        if not self._late:
            done, _ = await asyncio.wait({writing}, timeout=READ_S)
            self._late = not done

    async def write_out(self) -> None:
        """As ``flush``, however long it takes."""
        await asyncio.shield(self._schedule_flush())

    async def ensure_row(self, session: Session) -> int:
        """The row number of a session, which is written first if need be. Raises what keeps it from being written."""
        if session.seq is None:
            self._touched[session.id] = session
            await self._flush_for_call()
        assert session.seq is not None
        return session.seq

    async def refresh_row(self, session: Session) -> int:
        """As ``ensure_row``, after writing that the session was just seen: a paused one is active again."""
        if session.id in self._touched:
            await self._flush_for_call()
        return await self.ensure_row(session)

    async def _flush_for_call(self) -> None:
        """Write what waits, and raise what keeps it from being written. A call that is cancelled meanwhile leaves it to
        be written all the same: sessions must learn their rows, or nobody would pause them at the end."""
        flush = self._see_to_the_end(self._flush())
        done, _ = await asyncio.wait({flush})
        done.pop().result()

    async def _flush(self) -> None:
        async with self._writing:
            self._next = None  # what comes from here on is for the next flush
            records, self._records = self._records, []
            touched, self._touched = self._touched, {}
            if not records and not touched:
                return
            started = time.monotonic()
            write = self._write if started - self._swept < SWEEP_S else self._write_and_sweep
            try:
                placed = await self._db.write_uncounted(lambda tx: write(tx, list(touched.values()), records))
            except StrongroomError as failure:
                if isinstance(failure, ReadOnly):  # it will stay so: keep nothing for later
                    self._count_lost(len(records))
                else:
                    self._keep_for_later(records, touched)
                raise
            if write == self._write_and_sweep:
                self._swept = started
            self._adopt_rows(touched, placed)

    def _adopt_rows(self, touched: Mapping[str, Session], placed: SessionRows) -> None:
        """Give sessions their rows. A session that another process began first takes that one's handle, also in events
        queued meanwhile."""
        renamed = {}
        for handle, session in touched.items():
            session.seq, session.id = placed[handle]
            if session.id != handle:
                renamed[handle] = session.id
        if renamed:
            self._touched = {session.id: session for session in self._touched.values()}
            self._records = [replace(each, session=renamed.get(each.session, each.session)) for each in self._records]

    def _write(self, tx: Writer, sessions: Sequence[Session], records: Sequence[ActivityRecord]) -> SessionRows:
        placed = dict(session_rows.write_sessions(tx, sessions))
        for owner in {session.owner for session in sessions if session.seq is None}:
            session_rows.pause_excess(tx, owner, self._settings.max_active)
        known = {handle: seq for handle, (seq, _) in placed.items()}
        rows = {**session_rows.find_row_numbers(tx, {e.session for e in records} - known.keys()), **known}
        if not query_contexts.is_kept(tx, usual=self._keeps_queries):
            records = [replace(each, context=None) for each in records]
        session_rows.insert_events(tx, records, rows)
        session_rows.record_threads(tx, records, rows)
        return placed

    def _write_and_sweep(
        self, tx: Writer, sessions: Sequence[Session], records: Sequence[ActivityRecord]
    ) -> SessionRows:
        placed = self._write(tx, sessions, records)
        stale_sessions.pause_stale(tx, self.cutoffs())
        return placed

    def cutoffs(self) -> SessionCutoffs:
        """When sessions count as stale, as of now."""
        return SessionCutoffs.of(self._settings)

    async def pause_served(self) -> None:
        """Before the process ends: pause the sessions it serves and release their claims. Sessions of commands go on:
        there each call is a process, and the next one continues the session."""
        present, self._present = list(self._present.values()), OrderedDict()
        await self.write_out()
        served = [session for session in present if session.transport != "cli" and not session.idle]
        ids = {session.seq for session in served if session.seq is not None}
        with contextlib.suppress(StrongroomError):
            if ids:
                await self._db.write_uncounted(lambda tx: stale_sessions.pause_sessions(tx, ids))

    async def close(self) -> None:
        """Write the rest; what cannot be written now is lost, and counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await asyncio.gather(*self._flushing, return_exceptions=True)
        await self.write_out()
        self._drop_oldest(len(self._records))
