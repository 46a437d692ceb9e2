"""One open vault: a tenant's database, vectors and background work. Opens and closes; knows no feature."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from uuid_utils import uuid7

from vaults import clock, database_checks
from vaults.activity_log import access_counts
from vaults.activity_log.log_writer import ActivityLog
from vaults.activity_log.shown_texts import ShownTexts
from vaults.background_defects import BackgroundDefects, TaskName
from vaults.background_work import BackgroundWork, LastingTask
from vaults.context import run_in
from vaults.db.commit_log import CommitLog, NoCommitLog
from vaults.db.connection import Database
from vaults.db.lease import Lease
from vaults.db.migration import migrate
from vaults.db.sql import Reader, Writer
from vaults.disk_reserve import DiskReserve
from vaults.embed.backend import ModelIdentity
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.served_models import ServedModels
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
from vaults.history.ancestry import WorkRepository
from vaults.history.vault_history import VaultHistory
from vaults.index import backfill, embeddings, model_choice
from vaults.index.projection import Projection
from vaults.index.shelves import DOCUMENTS
from vaults.observer import Observer
from vaults.opening_turns import OpeningTurns
from vaults.parsing.parser_pool import ParserPool
from vaults.registry import DATABASE_FILE, VaultEntry
from vaults.report_cache import ReportCache
from vaults.search.expansion_endpoint import QueryExpander
from vaults.search.facts_cache import FactsCache
from vaults.search.ranking_cache import RankingCache
from vaults.search.relevance_threshold import ThresholdCache
from vaults.search.search_run import SearchEngines
from vaults.search.vocabulary import Vocabulary
from vaults.settings import (
    CodeSettings,
    CollectionSettings,
    EmbeddingSettings,
    ExpansionSettings,
    HygieneSettings,
    IndexSettings,
    IngestSettings,
    LinkSettings,
    NotesSettings,
    RerankSettings,
    SearchSettings,
    SessionSettings,
    StorageSettings,
    TelemetrySettings,
)
from vaults.storage_limits import StorageLimits, limits_of
from vaults.vault_disk import VaultDisk
from vaults.vault_hosting import LOCAL_HOSTING, VaultHosting
from vaults.web.page_fetch import PageFetcher

NOTES_FOLDER = "notes"
"""Notes folder of a vault that is not served in place."""

MAX_AWAITED_PASSAGES = 16
"""Max passages of one write whose vectors the call waits for; a longer document answers ``pending``."""


EntryTask: TypeAlias = Callable[[VaultEntry], Coroutine[Any, Any, object]]
"""Work on a vault that is not open."""

VaultTask: TypeAlias = "Callable[[Vault], Coroutine[Any, Any, object]]"
"""Work on an open vault that is not done for a caller."""


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Work a vault does for itself, in the process that holds its lease, whenever ``is_due`` says so."""

    name: TaskName
    is_due: Callable[[Reader], bool]
    run: VaultTask


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors of texts, and their model. ``vectors`` None: they would take too long, or there are no texts."""

    model: ModelIdentity | None
    vectors: list[bytes] | None

    @property
    def key(self) -> str | None:
        """The model's key."""
        return self.model.key if self.model else None


NotesChangedListener = Callable[[str, Sequence[str]], None]
"""Called with the name of a vault and the paths of notes that changed on disk."""


def keep_no_log(_entry: VaultEntry, _database: Path) -> CommitLog:
    """The default: nobody is told what a vault commits."""
    return NoCommitLog()


def ignore_changes(vault: str, paths: Sequence[str]) -> None:
    """The default listener: does nothing."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """What all vaults of a process share: settings, models, one pool of search threads, hooks."""

    storage: StorageSettings
    embedding: EmbeddingSettings
    index: IndexSettings
    search: SearchSettings
    rerank: RerankSettings
    expansion: ExpansionSettings
    notes: NotesSettings
    models: ServedModels
    cross: CrossEncoderService
    expander: QueryExpander
    pool: Executor
    observer: Observer
    background_jobs: tuple[BackgroundJob, ...] = ()
    run_while_open: tuple[Callable[[Vault], LastingTask], ...] = ()
    """Last as long as a vault is open, in the process that holds its lease; made for each vault that is opened."""
    jobs_of_vault: tuple[Callable[[Vault], BackgroundJob], ...] = ()
    """Jobs that need to know whose they are to say whether they are due; made for each vault that is opened."""
    plan_size: Callable[[str], int | None] = lambda _: None
    """Bytes that the plan of a vault allows; None: no bound."""
    recover_on_open: BackgroundJob | None = None
    """Finishes a change that a kill interrupted."""
    before_migration: Callable[[Database, int], Awaitable[object]] | None = None
    """Awaited with a vault's database and the number of its steps before it is first changed for this version; what it
    raises keeps the vault from being opened, and as it is."""
    find_folder: EntryTask | None = None
    """Awaited where the folder of a vault is missing: a process that was killed may have left it under another name."""
    before_close: VaultTask | None = None
    """Awaited before a vault closes."""
    commit_log: Callable[[VaultEntry, Path], CommitLog] = keep_no_log
    """Who is told what a vault commits; made for each vault that is opened, with the path of its database."""
    keeps_note_files: bool = False
    """Whether the files of notes are rows of the vault's database, and their folder a view of these."""
    hosting: VaultHosting = LOCAL_HOSTING
    """Where the files of vaults come from, and whether another server has them."""
    openings: OpeningTurns = field(default_factory=OpeningTurns)
    """Which vault is opened next, where many are asked for."""
    on_notes_changed: NotesChangedListener = ignore_changes
    sessions: SessionSettings = field(default_factory=SessionSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    hygiene: HygieneSettings = field(default_factory=HygieneSettings)
    links: LinkSettings = field(default_factory=LinkSettings)
    code: CodeSettings = field(default_factory=CodeSettings)
    collections: CollectionSettings = field(default_factory=CollectionSettings)
    parsers: ParserPool = field(default_factory=ParserPool)
    """What reads files. Starts no process before it has a file."""
    ingest: IngestSettings = field(default_factory=IngestSettings)
    web: PageFetcher | None = None
    """What reads pages; None where no operator listed a host."""


class Vault:
    """An open vault. Get one from ``VaultPool.lease``; nothing else makes one."""

    def __init__(self, entry: VaultEntry, folder: Path, shared: SharedResources, reserve: DiskReserve) -> None:
        self.entry = entry
        self.folder = folder
        self.shared = shared
        database = folder / DATABASE_FILE
        self.db = Database(database, shared.storage, shared.observer, shared.commit_log(entry, database))
        self.disk = VaultDisk(entry.name, folder, self.db, reserve, shared.storage)
        self.projection = Projection(folder, entry.vault_id, self.db, shared.index, shared.pool)
        self.document_projection = Projection(folder, entry.vault_id, self.db, shared.index, shared.pool, DOCUMENTS)
        self.parsers = shared.parsers.of(entry.vault_id)
        self.vocabulary = Vocabulary()
        self.rankings = RankingCache()
        self.reports = ReportCache()
        self.facts = FactsCache()
        self.graph_cache = GraphCache(self.db)
        self.lease = Lease(folder / ".lease")
        self.notes = Notebook(notes_root(entry, folder), folder, shared.notes)
        self.history = VaultHistory(self.notes.root, folder, entry.vault_id, shared.notes.history)
        self.work_repository = WorkRepository(_work_folder(entry, shared.notes))
        self.activity_log = ActivityLog(
            self.db, shared.sessions, shared.observer, keeps_queries=shared.telemetry.query_context
        )
        self.access_counts: Counter[int] = Counter()
        self.opened_documents: set[int] = set()
        self.shown_texts = ShownTexts()
        self.engines = SearchEngines(
            db=self.db,
            projection=self.projection,
            documents=self.document_projection,
            vocabulary=self.vocabulary,
            rankings=self.rankings,
            facts=self.facts,
            embedder=shared.models.own,
            model_name=None,
            cross=shared.cross,
            expander=shared.expander,
            observer=shared.observer,
            threshold=ThresholdCache(),
            settings=shared.search,
            rerank=shared.rerank,
            expansion=shared.expansion,
        )
        lasting = [make(self) for make in shared.run_while_open]
        self.background = BackgroundWork(
            self.lease,
            self._run_due_work,
            BackgroundDefects(shared.observer, of=entry.name),
            lasting,
            shared.openings.wait_for_calm,
        )
        self._jobs = (*shared.background_jobs, *(make(self) for make in shared.jobs_of_vault))
        self._model: str | None = None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def embedder(self) -> EmbeddingService:
        """The model that serves the vault now: its own or the server's. Hold on to it where a vector and the identity
        of its model must belong together."""
        return self.engines.embedder

    @property
    def keeps_note_files(self) -> bool:
        """Whether its notes folder is a view of what its database holds."""
        return self.shared.keeps_note_files and self.entry.path is None

    async def open(self) -> None:
        """Check and migrate the database, then start background work. Raises ``VaultQuarantined`` (reason missing,
        damaged, foreign, future) or ``VaultUnavailable``, and then leaves nothing open."""
        try:
            self.disk.identify()
            tighten_permissions(self.folder, FOLDER_MODE)
            if database_checks.is_marked_damaged(self.db.path):
                await run_in(self.shared.pool, database_checks.recheck_damage, self.db.path, self.shared.storage)
            has_lease = self.lease.try_acquire()
            unclean = has_lease and database_checks.is_left_open(self.db.path)
            await self.db.read(database_checks.refuse_damaged)
            await self.shared.hosting.furnish(self.entry, self.folder, self.db)
            await migrate(self.db, "vault", before=self._before_migration)
            if unclean:
                await self.db.run_on_writer(database_checks.quick_check)
            recorded = await self.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))
            await self.refresh_model()
            if recorded != self.entry.vault_id:
                raise VaultQuarantined(f"the files of vault {self.name} belong to another vault", reason="foreign")
            await self._ensure_notes_folder()
            recovery = self.shared.recover_on_open
            if has_lease and recovery is not None and await self.db.read(recovery.is_due):
                # Before the first answer: a change may be half done. If recovery fails now, it is tried again later.
                with contextlib.suppress(StrongroomError):
                    await recovery.run(self)
            if has_lease and await self.db.read(self.has_due_jobs):
                self.background.start()
            self.background.resume_lasting_tasks()
        except BaseException:
            await self.close()
            raise

    async def _before_migration(self, schema: int) -> None:
        if self.shared.before_migration is not None:
            await self.shared.before_migration(self.db, schema)

    async def _ensure_notes_folder(self) -> None:
        """Make the notes folder, once: if it is missing later, somebody took it away, and it is not made again."""
        if await self.db.read(lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'notes'")):
            return
        with contextlib.suppress(ReadOnly, OSError):  # then there are no notes, and nothing to lose
            if self.entry.path is None:
                self.notes.root.mkdir(mode=0o700, exist_ok=True)
            await self.db.write(
                lambda tx: tx.run("INSERT INTO vault_info VALUES ('notes', 'kept') ON CONFLICT (key) DO NOTHING")
            )

    async def close(self) -> None:
        """Stop background work, write what is worth keeping, close files and threads."""
        try:
            await self._close()
        finally:
            await self.shared.hosting.put_down(self.entry, self.folder)

    async def _close(self) -> None:
        await self.background.stop()
        try:
            if self.shared.before_close is not None and self.lease.held:
                with contextlib.suppress(StrongroomError):  # stays due until the vault is next open
                    await self.shared.before_close(self)
            await self.settle()
            await self.activity_log.close()
        finally:
            await self.drop_vectors()
            await self.db.close()
            self.lease.release()

    async def settle(self) -> None:
        """Save counters and, in the process that holds the lease, a vector snapshot."""
        await self.activity_log.write_out()
        await self.graph_cache.co_access.write_out()
        # Nothing here is worth failing for: the rows are the truth, and they are all there.
        with contextlib.suppress(ReadOnly, StorageFull, VaultUnavailable):
            await self.write_accesses()
            if self.lease.held and any([await each.save() for each in self.projections]):
                await self.db.write(embeddings.prune_removals)

    async def write_accesses(self) -> None:
        """Save what was read. Raises what a write raises, and then still knows it."""
        accesses, self.access_counts = self.access_counts, Counter()
        opened, self.opened_documents = self.opened_documents, set()

        def write(tx: Writer) -> None:
            access_counts.add_access_counts(tx, accesses)
            access_counts.record_opened_documents(tx, opened)

        try:
            if accesses or opened:
                await self.db.write_uncounted(write)
        except (ReadOnly, StorageFull, VaultUnavailable):
            self.access_counts.update(accesses)
            self.opened_documents |= opened
            raise

    async def rest(self) -> None:
        """Release everything but the vectors and the task that follows the files. Where no such task runs, release the
        lease too, so that another process may do the background work."""
        if self.background.is_busy:
            return
        await self.settle()
        self.rankings.clear()
        self.reports.clear()
        self.facts.clear()
        self.vocabulary.clear()
        self.graph_cache.clear()
        await self.db.rest()
        if not (self.background.is_busy or self.background.has_lasting_task):  # a call may have begun work meanwhile
            self.lease.release()

    @property
    def limits(self) -> StorageLimits:
        """How much it may hold, and for how long."""
        return limits_of(self.shared.storage, self.name, self.shared.plan_size(self.name))

    @property
    def projections(self) -> tuple[Projection, ...]:
        """The vector indexes of every shelf."""
        return self.projection, self.document_projection

    @property
    def vector_bytes(self) -> int:
        """Bytes the vectors take in memory now."""
        return sum(each.memory_bytes for each in self.projections)

    async def drop_vectors(self) -> None:
        """Free the memory of vectors; the next search loads them again."""
        for each in self.projections:
            await each.drop()

    async def erase_removed_vectors(self) -> None:
        """After a purge: remove every trace of vectors that are gone."""
        for each in self.projections:
            await each.erase_removed()

    async def embed_now(self, texts: Sequence[str]) -> EmbeddedTexts:
        """Vectors for a live write, or none when they would take too long: then the write queues them."""
        embedder, vectors = self.embedder, None
        is_away = embedder.state().status in ("off", "failed", "hung")
        if texts and len(texts) <= MAX_AWAITED_PASSAGES and not is_away:
            with contextlib.suppress(TimeoutError, EmbeddingUnavailable, Overloaded):
                async with asyncio.timeout(self.shared.embedding.write_wait_s):
                    vectors = [vector.tobytes() for vector in await embedder.texts(texts, urgent=True)]
        return EmbeddedTexts(embedder.identity, vectors)

    async def refresh_model(self) -> None:
        """Have the model answer whose vectors the vault holds: another process may have changed it."""
        self.use_model(await self.db.read(model_choice.read_serving))

    def use_model(self, name: str | None) -> None:
        """Have the model of this name answer from now on; what is under way ends with the one it began with."""
        if name != self.engines.model_name:
            self.engines = replace(self.engines, embedder=self.shared.models.of(name), model_name=name)
            self._model = None

    async def adopt_model(self) -> None:
        """Adopt a changed model, once it is known which one serves. Cheap when nothing changed."""
        model = self.embedder.identity
        if model is not None and self._model != model.key:
            try:
                missing = await backfill.adopt_model(self.db, model, self.engines.model_name)
            except (ReadOnly, StorageFull):
                return  # searches use the vectors the vault has; tried again once it can be written
            if missing is None:
                await self.refresh_model()
                return
            if missing:
                self.background.start()
            self._model = model.key

    def has_due_jobs(self, tx: Reader) -> bool:
        """Whether a background job is due."""
        return any(job.is_due(tx) for job in self._jobs)

    def _find_due_jobs(self, tx: Reader) -> set[BackgroundJob]:
        return {job for job in self._jobs if job.is_due(tx)}

    async def _run_due_work(self) -> None:
        defects = self.background.defects
        # In one snapshot: this follows every write, and mostly nothing is due.
        due = await self.db.read(self._find_due_jobs)
        for job in self._jobs:  # a defect of one must not keep the others from being done
            if job in due:
                await defects.outlive(job.name, job.run(self))
                due = await self.db.read(self._find_due_jobs)  # one may make another due, or do its work
        await defects.outlive("backfill_vectors", self._fill_in_vectors())

    async def _fill_in_vectors(self) -> None:
        await self.refresh_model()
        await backfill.run_backfill(self.db, self.embedder, self.disk.has_room_in_bulk)
        await self.adopt_model()
        await backfill.run_backfill(self.db, self.embedder, self.disk.has_room_in_bulk)

    def start_background_work(self) -> None:
        """Compute missing vectors and run due jobs in the background, if this process has or gets the lease."""
        self.background.start()

    def start_background_work_soon(self) -> None:
        """``start_background_work`` once the call was answered."""
        self.background.start_soon()

    def check_writable(self) -> None:
        """Call before a write. Raises what ``VaultDisk.check_writable`` raises."""
        self.disk.check_writable()


def notes_root(entry: VaultEntry, folder: Path) -> Path:
    """Where the notes lie: in the folder served in place, or next to the vault's files."""
    return entry.path or folder / NOTES_FOLDER


async def create_files(folder: Path, settings: StorageSettings, vault_id: str | None = None) -> str:
    """Make the folder and database of a new vault; returns its vault id, which is ``vault_id`` if given. Existing files
    stay and keep their id. Raises ``VaultQuarantined`` for a database that is something else."""
    make_private_folder(folder)
    db = Database(folder / DATABASE_FILE, settings)

    def stamp(tx: Writer) -> str:
        for key, value in (("vault_id", vault_id or str(uuid7())), ("created_at", clock.now())):
            tx.run(
                "INSERT INTO vault_info (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING",
                {"key": key, "value": value},
            )
        return str(tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))

    try:
        await migrate(db, "vault")
        return await db.write(stamp)
    finally:
        await db.close()


def _work_folder(entry: VaultEntry, settings: NotesSettings) -> Path | None:
    """The folder of the repository the vault's work is in: the folder served in place, or the one in the settings."""
    if entry.path is not None:
        return entry.path
    return Path(settings.repository) if settings.repository else None
