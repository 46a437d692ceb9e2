"""The composition root: everything a process serves with, opened in order and closed in reverse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from auth.access_cache import AccessCache
from auth.daily_usage import DailyUsage
from auth.keys import KEYS_FOLDER, open_secret
from auth.licence_file import LicenceFile
from auth.plans import Plans
from auth.principal import Principal
from auth.quotas import Quotas
from auth.roles import Role
from ops.audit.audit_log import AuditLog
from ops.backup import interrupted_restores, restore_places
from ops.health import HealthRegistry
from ops.logs import CallLine, CallLog
from ops.vault_life import before_upgrade, folder_moves
from server.call import CallRecord
from server.control_database import migrate_control
from server.settings import Settings
from server.tool_registry import ToolRegistry
from vaults import heap
from vaults import registry as vault_registry
from vaults.db.connection import Database
from vaults.domain.collections import follow_loop, removal
from vaults.domain.documents import page_intake
from vaults.domain.graph import graph_jobs
from vaults.domain.graph.links import entity_vector_job, proactive_links
from vaults.domain.maintenance import eviction, integrity_round, reindexing, retention
from vaults.domain.memories import lifecycle
from vaults.domain.notes.commit import git_commits
from vaults.domain.notes.sync import sync_loop
from vaults.domain.social.endpoint import MoltbookEndpoint
from vaults.domain.social.moltbook import Moltbook
from vaults.domain.social.token_cipher import TokenCipher
from vaults.embed.backend import Embedder
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.cross_encoder_model import CrossEncoderOptions
from vaults.embed.service import EmbeddingService
from vaults.files.permissions import FOLDER_MODE, make_private_folder, tighten_permissions
from vaults.listed_hosts import ListedHosts
from vaults.observer import NullObserver, Observer
from vaults.parsing.parser_pool import ParserPool
from vaults.pool import VaultPool
from vaults.registry_cache import RegistryCache
from vaults.search.expansion_endpoint import QueryExpander
from vaults.settings import IngestSettings, LinkSettings
from vaults.vault import BackgroundJob, NotesChangedListener, SharedResources
from vaults.web.page_fetch import PageFetcher, PageLimits

if TYPE_CHECKING:  # the library behind it takes a twentieth of a cold start, and over stdio nobody scrapes
    from ops.metrics import Metrics

CONTROL_DB = "control.db"
SOCIAL_KEY = "social.key"
"""In the folder of keys: what the API keys of vaults are sealed with."""
BACKGROUND_JOBS = (
    reindexing.REINDEX,
    reindexing.RECHUNK,
    sync_loop.READ_INCOMPLETE,
    graph_jobs.RESCORE,
    git_commits.COMMIT_PENDING,
    retention.SWEEP,
    graph_jobs.RESOLVE_LINKS,
    graph_jobs.WRITE_DAILY_COUNTS,
    proactive_links.LEARN_AND_LINK,
    entity_vector_job.BACKFILL_ENTITY_VECTORS,
    removal.REMOVE,
    lifecycle.ERASE,
    page_intake.REREAD,
    integrity_round.LOOK,
)
_OF_SERVERS = (entity_vector_job.BACKFILL_ENTITY_VECTORS, page_intake.REREAD, integrity_round.LOOK)
"""Jobs a process leaves to others that ends with its command: they need the model, the network, or a long time."""
SEARCH_THREADS = 4
"""Concurrent FAISS and tokenizer calls: they release the interpreter lock, and two keep two cores busy."""


@dataclass(frozen=True, slots=True)
class BackgroundPlan:
    """What a process does besides calls and a vault's own upkeep."""

    vectors: bool  # backfill the vectors a vault lacks
    rounds: bool  # visit all vaults in turn
    evictions: bool  # let go what is above the limits
    logs: bool  # keep change logs, where the settings ask for them
    followers: tuple[Callable[[], object], ...] = ()  # run at each poll of the access cache

    def background_jobs(self) -> tuple[BackgroundJob, ...]:
        """The jobs a vault runs unasked."""
        return BACKGROUND_JOBS if self.vectors else tuple(job for job in BACKGROUND_JOBS if job not in _OF_SERVERS)


SERVER_WORK = BackgroundPlan(vectors=True, rounds=True, evictions=True, logs=True)
COMMAND_WORK = BackgroundPlan(vectors=False, rounds=False, evictions=False, logs=False)
"""For a process that ends with its command: nothing that needs the model, only the vaults asked for, and nothing goes
because somebody looked."""


@dataclass(frozen=True, slots=True)
class Recorders:
    """Where calls are counted and logged; None: nowhere."""

    metrics: Metrics | None = None
    calls: CallLog | None = None


NO_RECORDERS = Recorders()


class ChangeListeners:
    """The listeners to call when notes changed on disk."""

    def __init__(self) -> None:
        self._listeners: list[NotesChangedListener] = []

    def add(self, listener: NotesChangedListener) -> None:
        """Call ``listener`` from now on."""
        self._listeners.append(listener)

    def tell(self, vault: str, paths: Sequence[str]) -> None:
        """Call every listener: these notes of a vault changed."""
        for listener in self._listeners:
            listener(vault, paths)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a process serves with. Frozen: nothing is swapped while calls run."""

    settings: Settings
    data: Path
    instance_id: str
    control: Database
    access_cache: AccessCache
    registry_cache: RegistryCache
    licence: LicenceFile
    plans: Plans
    quotas: Quotas
    daily_usage: DailyUsage
    audit: AuditLog
    registry: ToolRegistry
    pool: VaultPool
    embedder: EmbeddingService
    health: HealthRegistry
    recorders: Recorders
    change_listeners: ChangeListeners
    home: Path | None = None
    """The home folder of the one person this process serves; None where it serves several."""
    moltbook: Moltbook | None = None
    """A social network; None where no operator asked for it."""

    def role_in(self, principal: Principal, vault: str) -> Role | None:
        """The principal's role in a vault now; None alike for no grant and no vault."""
        return self.access_cache.current.role_in(principal, vault) if self.registry_cache.known(vault) else None

    def record(self, record: CallRecord) -> None:
        """Count a finished call and write its line."""
        caller = record.caller
        if self.recorders.metrics is not None:
            self.recorders.metrics.on_call(record.tool, record.outcome, record.seconds)
        if self.recorders.calls is not None:
            self.recorders.calls.write(
                CallLine(
                    request=caller.request_id or None,
                    principal=caller.principal.key,
                    vault=caller.vault,
                    tool=record.tool if self.registry.get(record.tool) else "unknown",
                    transport=caller.transport,
                    era=caller.era or None,
                    outcome=record.outcome,
                    seconds=record.seconds,
                    ref=record.reference,
                    failure=record.failure,
                )
            )


@asynccontextmanager
async def open_services(
    settings: Settings,
    data: Path,
    registry: ToolRegistry,
    *,
    recorders: Recorders = NO_RECORDERS,
    load_model: Callable[[], Embedder] | None = None,
    background: BackgroundPlan = SERVER_WORK,
) -> AsyncIterator[Services]:
    """Open control.db, the vault pool and the embedding service. The model loads on first need, by ``load_model`` if
    given (tests bring a small one)."""
    heap.limit_arenas()
    observer = recorders.metrics or NullObserver()
    async with AsyncExitStack() as stack:
        control, registry_cache, access_cache, licence = await _open_control(
            stack, data, settings, observer, background.followers
        )
        if background.rounds:
            await asyncio.to_thread(restore_places.sweep, data / "vaults")
        plans = Plans(settings.limits, settings.plans, lambda: access_cache.current.holders, licence.current)
        daily_usage = await _start_daily_usage(stack, control)
        audit = _open_audit(stack, settings, data, recorders, background)
        embedder = EmbeddingService(settings.embedding, observer, load_model, loads_for_backfill=background.vectors)
        stack.push_async_callback(embedder.close)
        listeners = ChangeListeners()
        shared = _make_shared(stack, settings, embedder, observer, listeners.tell)
        if background.logs and settings.backup.log:
            shared = _keep_change_logs(stack, settings, shared, recorders.metrics)
        pool = _start_pool(
            stack,
            VaultPool(
                data,
                replace(
                    shared,
                    background_jobs=background.background_jobs(),
                    jobs_of_vault=(eviction.make_job,) if background.evictions else (),
                    plan_size=partial(_plan_size, plans),
                    find_folder=partial(folder_moves.find_folder, control, data),
                ),
                registry_cache.entries,
            ),
            background,
        )
        yield Services(
            settings=settings,
            data=data,
            instance_id=await vault_registry.instance_id(control),
            control=control,
            access_cache=access_cache,
            registry_cache=registry_cache,
            licence=licence,
            plans=plans,
            quotas=Quotas(settings.limits, plans),
            daily_usage=daily_usage,
            audit=audit,
            registry=registry,
            pool=pool,
            embedder=embedder,
            health=HealthRegistry(),
            recorders=recorders,
            change_listeners=listeners,
            moltbook=_make_moltbook(stack, settings, data),
        )


def _open_audit(
    stack: AsyncExitStack, settings: Settings, data: Path, recorders: Recorders, background: BackgroundPlan
) -> AuditLog:
    told = {} if recorders.metrics is None else {"on_failing": recorders.metrics.on_audit_failing}
    passphrase = settings.auth.key_passphrase_file
    audit = AuditLog(data, settings.audit, settings.storage, key_passphrase_file=passphrase, **told)
    stack.push_async_callback(audit.close)
    if background.rounds:
        audit.start_forwarding()
    return audit


def _plan_size(plans: Plans, vault: str) -> int | None:
    size = plans.of_vault(vault).bound("size")
    return None if size is None else size.limit


async def _start_daily_usage(stack: AsyncExitStack, control: Database) -> DailyUsage:
    usage = DailyUsage(control)
    await usage.start()
    stack.push_async_callback(usage.close)
    return usage


def _start_pool(stack: AsyncExitStack, pool: VaultPool, background: BackgroundPlan) -> VaultPool:
    stack.push_async_callback(pool.close)
    stack.push_async_callback(pool.part)
    if background.rounds:
        pool.start()
    return pool


def _make_shared(
    stack: AsyncExitStack,
    settings: Settings,
    embedder: EmbeddingService,
    observer: Observer,
    on_notes_changed: NotesChangedListener,
) -> SharedResources:
    threads = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="search")
    stack.callback(threads.shutdown)
    embedding, rerank, expansion = settings.embedding, settings.rerank, settings.expansion
    # One engine, one number of threads: PyTorch has one setting for a whole process.
    cross = CrossEncoderService(
        CrossEncoderOptions(
            model=rerank.model,
            device=embedding.device,
            threads=embedding.threads,
            max_tokens=rerank.max_tokens,
            timeout_s=rerank.timeout_s,
            cache=rerank.cache,
        )
    )
    stack.push_async_callback(cross.close)
    parsers = ParserPool(settings.ingest)
    stack.push_async_callback(parsers.close)
    expander = QueryExpander(expansion.endpoint, expansion.timeout_s, expansion.cache)
    stack.push_async_callback(expander.close)
    return SharedResources(
        storage=settings.storage,
        embedding=embedding,
        index=settings.index,
        search=settings.search,
        rerank=rerank,
        expansion=expansion,
        notes=settings.notes,
        embedder=embedder,
        cross=cross,
        expander=expander,
        pool=threads,
        observer=observer,
        run_while_open=(sync_loop.keep_in_sync, follow_loop.keep_following),
        before_migration=before_upgrade.keep_copy,
        recover_on_open=interrupted_restores.RECOVER,
        before_close=git_commits.commit_all_pending,
        on_notes_changed=on_notes_changed,
        sessions=settings.sessions,
        telemetry=settings.telemetry,
        hygiene=settings.hygiene,
        links=_link_settings(settings),
        code=settings.code,
        collections=settings.collections,
        parsers=parsers,
        ingest=settings.ingest,
        web=_make_page_fetcher(stack, settings.ingest),
    )


def _keep_change_logs(
    stack: AsyncExitStack, settings: Settings, shared: SharedResources, metrics: Metrics | None
) -> SharedResources:
    """``shared``, with a log of every vault. Raises ``InvalidArgument`` or ``VaultUnavailable`` for settings with which
    none could ever be kept."""
    from ops.change_log.kept_logs import KeptLogs

    logs = KeptLogs(settings.backup, settings.storage, metrics)
    stack.push_async_callback(logs.close)
    return replace(shared, commit_log=logs.make, run_while_open=(*shared.run_while_open, logs.keep))


def _make_page_fetcher(stack: AsyncExitStack, settings: IngestSettings) -> PageFetcher | None:
    """Nothing is fetched, and no library loaded for it, before somebody names a page."""
    if not settings.hosts:
        return None
    fetcher = PageFetcher(ListedHosts(settings.hosts), PageLimits(settings.max_bytes, settings.fetch_seconds))
    stack.push_async_callback(fetcher.close)
    return fetcher


def _make_moltbook(stack: AsyncExitStack, settings: Settings, data: Path) -> Moltbook | None:
    """Nothing is sent before somebody calls: a network that is down keeps no server from starting."""
    url = settings.social.moltbook.url
    if url is None:
        return None
    endpoint = MoltbookEndpoint(url)
    stack.push_async_callback(endpoint.close)
    return Moltbook(endpoint, TokenCipher(partial(open_secret, data / KEYS_FOLDER, SOCIAL_KEY)))


def _link_settings(settings: Settings) -> LinkSettings:
    """Turns proactive links off where writing is off or needs a person's consent."""
    free = settings.server.write_mode == "auto"
    return settings.links if free else settings.links.model_copy(update={"proactive": False})


async def _open_control(
    stack: AsyncExitStack,
    data: Path,
    settings: Settings,
    observer: Observer,
    followers: Sequence[Callable[[], object]],
) -> tuple[Database, RegistryCache, AccessCache, LicenceFile]:
    _make_data_folder(data)
    control = Database(data / CONTROL_DB, settings.storage, observer)
    stack.push_async_callback(control.close)
    await migrate_control(control)
    await folder_moves.finish_all(control, data)
    licence = LicenceFile(data, settings.limits, await vault_registry.instance_id(control))
    await asyncio.to_thread(licence.refresh)
    registry_cache, access_cache = RegistryCache(control), AccessCache(control, followers=(*followers, licence.refresh))
    await registry_cache.start()
    stack.push_async_callback(registry_cache.close)
    await access_cache.start()
    stack.push_async_callback(access_cache.close)
    return control, registry_cache, access_cache, licence


def _make_data_folder(data: Path) -> None:
    if not data.exists():  # an existing one may hold files of others
        make_private_folder(data)
    tighten_permissions(data / "vaults", FOLDER_MODE)
