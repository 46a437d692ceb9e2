"""One open vault: a tenant's database, vectors and background work. Opens and closes; knows no feature."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from uuid_utils import uuid7

from vaults import clock, database_checks
from vaults.activity_log import access_counts as reads
from vaults.activity_log.log_writer import ActivityLog
from vaults.activity_log.shown_texts import ShownTexts
from vaults.context import run_in
from vaults.db.connection import Database
from vaults.db.lease import Lease
from vaults.db.migration import migrate
from vaults.db.sql import Reader, Writer
from vaults.disk_reserve import MB, DiskReserve, free_bytes
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.service import EmbeddingService
from vaults.errors import (
    EmbeddingUnavailable,
    Overloaded,
    ReadOnly,
    StorageFull,
    StrongroomError,
    VaultQuarantined,
    VaultUnavailable,
)
from vaults.files.notebook import Notebook
from vaults.files.permissions import FOLDER_MODE, make_private_folder, tighten_permissions
from vaults.graph.graph_cache import GraphCache
from vaults.index import backfill, embeddings
from vaults.index.projection import Projection
from vaults.observer import Observer
from vaults.registry import VaultEntry
from vaults.search.expansion_endpoint import QueryExpander
from vaults.search.pipeline import SearchEngines
from vaults.search.ranking_cache import RankingCache
from vaults.search.vocabulary import Vocabulary
from vaults.settings import (
    EmbeddingSettings,
    ExpansionSettings,
    HygieneSettings,
    IndexSettings,
    LinkSettings,
    NotesSettings,
    RerankSettings,
    SearchSettings,
    SessionSettings,
    StorageSettings,
    TelemetrySettings,
)

DATABASE_FILE = "vault.db"

NOTES_FOLDER = "notes"
"""The folder of notes of a vault that is not served in place."""

MAX_AWAITED_PASSAGES = 16
"""Passages of one write whose vectors are waited for; a longer document is answered ``pending``."""


VaultTask: TypeAlias = "Callable[[Vault], Coroutine[Any, Any, object]]"
"""Something that is done with an open vault, and not for a caller."""


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Work a vault does for itself, in the process that holds its lease, whenever ``is_due`` says so."""

    is_due: Callable[[Reader], bool]
    run: VaultTask


NotesChangedListener = Callable[[str, Sequence[str]], None]
"""Told the name of a vault and the paths of notes that changed on disk."""


def ignore_changes(vault: str, paths: Sequence[str]) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What every vault of a process uses together: settings, one model of each kind, one pool of search threads, the
    jobs each vault does for itself. ``background_task`` runs as long as a vault is open, ``recover_on_open`` finishes a
    change that a kill interrupted, ``before_close`` is awaited before it closes."""

    storage: StorageSettings
    embedding: EmbeddingSettings
    index: IndexSettings
    search: SearchSettings
    rerank: RerankSettings
    expansion: ExpansionSettings
    notes: NotesSettings
    embedder: EmbeddingService
    cross: CrossEncoderService
    expander: QueryExpander
    pool: Executor
    observer: Observer
    background_jobs: tuple[BackgroundJob, ...] = ()
    background_task: VaultTask | None = None
    recover_on_open: BackgroundJob | None = None
    before_close: VaultTask | None = None
    on_notes_changed: NotesChangedListener = ignore_changes
    sessions: SessionSettings = field(default_factory=SessionSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    hygiene: HygieneSettings = field(default_factory=HygieneSettings)
    links: LinkSettings = field(default_factory=LinkSettings)


class Vault:
    """An open vault. Get one from ``Pool.lease``; nothing else makes one."""

    def __init__(self, entry: VaultEntry, folder: Path, shared: SharedResources, reserve: DiskReserve) -> None:
        self.entry = entry
        self.folder = folder
        self.shared = shared
        self.reserve = reserve
        self.db = Database(folder / DATABASE_FILE, shared.storage, shared.observer)
        self.projection = Projection(folder, entry.vault_id, self.db, shared.index, shared.pool)
        self.vocabulary = Vocabulary()
        self.rankings = RankingCache()
        self.graph_cache = GraphCache(self.db)
        self.lease = Lease(folder / ".lease")
        self.notes = Notebook(notes_root(entry, folder), folder, shared.notes)
        self.activity_log = ActivityLog(self.db, shared.sessions, shared.observer)
        self.access_counts: Counter[int] = Counter()
        self.shown_texts = ShownTexts()
        self._file: tuple[int, int] | None = None
        self._model: str | None = None
        self._is_work_due = False
        self._background_work: asyncio.Task[None] | None = None
        self._background_task: asyncio.Task[object] | None = None
        self._follow_up_task: asyncio.Task[object] | None = None
        self._later: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def engines(self) -> SearchEngines:
        """What ``vaults.search`` runs on."""
        shared = self.shared
        return SearchEngines(
            self.db,
            self.projection,
            self.vocabulary,
            self.rankings,
            shared.embedder,
            shared.cross,
            shared.expander,
            shared.observer,
            shared.search,
            shared.rerank,
            shared.expansion,
        )

    async def open(self) -> None:
        """Check and migrate. Raises ``VaultQuarantined`` (reason missing, damaged, foreign, future) or
        ``VaultUnavailable``; then nothing stays open."""
        self._file = database_checks.file_identity(self.db.path, self.name)
        tighten_permissions(self.folder, FOLDER_MODE)
        if self.is_marked_damaged():
            await run_in(self.shared.pool, database_checks.recheck_damage, self.db.path, self.shared.storage)
        try:
            alone = self.lease.try_acquire()
            unclean = alone and database_checks.is_left_open(self.db.path)
            await self.db.read(database_checks.refuse_damaged)
            await migrate(self.db, "vault")
            if unclean:
                await self.db.run_on_writer(database_checks.quick_check)
            held = await self.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))
            if held != self.entry.vault_id:
                raise VaultQuarantined(f"the files of vault {self.name} belong to another vault", reason="foreign")
            await self._ensure_notes_folder()
            recovery = self.shared.recover_on_open
            if alone and recovery is not None and await self.db.read(recovery.is_due):
                # Before anybody is answered: half of a change may stand. What hinders it now is tried again later.
                with contextlib.suppress(StrongroomError):
                    await recovery.run(self)
            if alone and await self.db.read(self.has_due_jobs):
                self.start_background_work()
            self.resume_background_task()
        except BaseException:
            await self.close()
            raise

    async def _ensure_notes_folder(self) -> None:
        """Make the folder of notes, once: one that is missing later was taken away, and is not made up for."""
        if await self.db.read(lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'notes'")):
            return
        with contextlib.suppress(ReadOnly, OSError):  # then there is none, and nothing to lose
            if self.entry.path is None:
                self.notes.root.mkdir(mode=0o700, exist_ok=True)
            await self.db.write(
                lambda tx: tx.run("INSERT INTO vault_info VALUES ('notes', 'kept') ON CONFLICT (key) DO NOTHING")
            )

    async def close(self) -> None:
        """Stop background work, write what is worth keeping, close files and threads."""
        if self._later is not None:
            self._later.cancel()
        await asyncio.sleep(0)  # what was asked for just now begins: only then can it end as it should
        for task in (self._background_task, self._follow_up_task, self._background_work):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        try:
            if self.shared.before_close is not None and self.lease.held:
                with contextlib.suppress(StrongroomError):  # it stays owed, and is done when the vault is next open
                    await self.shared.before_close(self)
            await self.settle()
            await self.activity_log.close()
        finally:
            await self.projection.drop()
            await self.db.close()
            self.lease.release()

    async def settle(self) -> None:
        """Write down counters and, in the process that holds the lease, a vector snapshot."""
        accesses, self.access_counts = self.access_counts, Counter()
        await self.activity_log.write_out()
        await self.graph_cache.co_access.write_out()
        try:
            if accesses:
                await self.db.write_uncounted(lambda tx: reads.add_access_counts(tx, accesses))
            if self.lease.held and await self.projection.save():
                await self.db.write(embeddings.prune_removals)
        except (ReadOnly, StorageFull, VaultUnavailable):
            # Nothing here is worth failing for: the rows are the truth, and they are all there.
            self.access_counts.update(accesses)

    async def rest(self) -> None:
        """Keep the vectors, and whoever follows the files, and give everything else back. Where nobody does, the lease
        too: another process may work here now."""
        if self.busy:
            return
        await self.settle()
        self.rankings.clear()
        self.vocabulary.clear()
        self.graph_cache.clear()
        await self.db.rest()
        if self._background_task is None or self._background_task.done():
            self.lease.release()

    async def embed_now(self, texts: Sequence[str]) -> list[bytes] | None:
        """Vectors for a live write, or None when they are not to be had cheaply: then the write queues them."""
        if len(texts) > MAX_AWAITED_PASSAGES or self.shared.embedder.state().status in ("off", "failed", "hung"):
            return None
        try:
            async with asyncio.timeout(self.shared.embedding.write_wait_s):
                vectors = await self.shared.embedder.texts(texts, urgent=True)
        except (TimeoutError, EmbeddingUnavailable, Overloaded):
            return None
        return [vector.tobytes() for vector in vectors]

    async def adopt_model(self) -> None:
        """Notice a changed model, once it is known which one serves; cheap when nothing changed."""
        model = self.shared.embedder.identity
        if model is not None and self._model != model.key:
            try:
                owed = await backfill.adopt_model(self.db, model)
            except (ReadOnly, StorageFull):
                return  # searches go on with what the vault holds; once it can be written it is tried again
            if owed:
                self.start_background_work()
            self._model = model.key

    def start_background_work(self) -> None:
        """Have the owed vectors paid in the background, if this is the process that does such work here."""
        self._is_work_due = True
        if (self._background_work is None or self._background_work.done()) and self.lease.try_acquire():
            self._background_work = asyncio.create_task(self._run_background_work())

    def schedule_background_work(self, seconds: float) -> None:
        """Nudge in a while; the last call counts."""
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self.start_background_work)

    def resume_background_task(self) -> None:
        """Do what goes on as long as a vault is open, if this is the process that does such work here."""
        # One that ended by itself has nothing more to do; one that failed begins again.
        idle = self._background_task is None or (self._background_task.done() and _has_failed(self._background_task))
        if idle and self.shared.background_task is not None and self.lease.try_acquire():
            self._background_task = asyncio.create_task(self.shared.background_task(self), name="background-task")

    def run_in_background(self, work: VaultTask) -> None:
        """Have something finished soon after a call, in whatever process; one such work at a time."""
        if self._follow_up_task is None or self._follow_up_task.done():
            self._follow_up_task = asyncio.create_task(work(self), name="aside")

    def has_due_jobs(self, tx: Reader) -> bool:
        """Whether a background job is due."""
        return any(job.is_due(tx) for job in self.shared.background_jobs)

    @property
    def busy(self) -> bool:
        """Whether background work is under way."""
        return self._background_work is not None and not self._background_work.done()

    async def _run_background_work(self) -> None:
        try:
            while self._is_work_due:  # also what came to be owed meanwhile
                self._is_work_due = False
                for job in self.shared.background_jobs:
                    if await self.db.read(job.is_due):
                        await job.run(self)
                await backfill.run_backfill(self.db, self.shared.embedder)
                await self.adopt_model()
                await backfill.run_backfill(self.db, self.shared.embedder)
        except StrongroomError:
            # The model or the disk is down; both report themselves, and the pool's next round tries again.
            return

    def check_writable(self) -> None:
        """Before a write. As ``check_in_place``; raises ``StorageFull`` while the disk is below its reserve, which lets
        owners delete and recover."""
        self.check_in_place()
        if not self.has_room_for(0):
            raise StorageFull("the disk is nearly full; nothing was written", hint="free space; reading still works")

    def check_in_place(self) -> None:
        """Before a write that frees space. Raises ``VaultQuarantined`` when the files were taken away under us: a
        database that lost its name would accept writes and lose them. Raises ``ReadOnly`` on a read-only file system.
        """
        if not self._in_place():
            raise VaultQuarantined(
                f"the files of vault {self.name} were moved or deleted", hint="restore a backup", reason="missing"
            )
        if os.statvfs(self.folder).f_flag & os.ST_RDONLY:
            raise ReadOnly("the vault's files cannot be written", hint="the operator must check mount and owner")

    def has_room_for(self, size: int) -> bool:
        """Whether so many bytes can be written and what is left free stays so."""
        return free_bytes(self.folder) >= self.shared.storage.reserve_mb * MB + size

    async def make_room(self) -> None:
        """Before a write that deletes. As ``check_in_place``; gives the reserve up where the disk is full, and empties
        the log: what stands in it takes room twice."""
        self.check_in_place()
        if self.reserve.is_needed():
            self.reserve.give_up()
            with contextlib.suppress(StorageFull):
                await self.db.checkpoint()

    def is_marked_damaged(self) -> bool:
        """Whether damage was found in the database, by whatever process."""
        return database_checks.is_marked_damaged(self.db.path)

    def _in_place(self) -> bool:
        try:
            found = self.db.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._file


def notes_root(entry: VaultEntry, folder: Path) -> Path:
    """Where the notes lie: in the folder served in place, or beside the vault's files."""
    return entry.path or folder / NOTES_FOLDER


async def create_files(folder: Path, settings: StorageSettings) -> str:
    """Make the folder and database of a new vault; returns its vault id. Files that are there already are left
    alone and keep theirs. Raises ``VaultQuarantined`` for a database that is something else."""
    make_private_folder(folder)
    db = Database(folder / DATABASE_FILE, settings)

    def stamp(tx: Writer) -> str:
        for key, value in (("vault_id", str(uuid7())), ("created_at", clock.now())):
            tx.run("INSERT INTO vault_info (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", (key, value))
        return str(tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))

    try:
        await migrate(db, "vault")
        return await db.write(stamp)
    finally:
        await db.close()


def _has_failed(task: asyncio.Task[object]) -> bool:
    return task.cancelled() or task.exception() is not None
