"""The composition root: everything a process serves with, opened in order and closed in reverse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from auth.access_cache import AccessBoard
from auth.daily_usage import DayCounters
from auth.licence_file import LicenceFile
from auth.plans import Plans
from auth.principal import Principal
from auth.quotas import Quotas
from auth.roles import Role
from ops.health import Health
from ops.logs import CallLine, CallLog
from server.dispatch import CallRecord
from server.settings import Settings
from server.tools._spec import Registry
from vaults import heap
from vaults import registry as vault_registry
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.domain.graph import graph_jobs, link_resolution_job
from vaults.domain.graph.links import entity_vector_job, proactive_links
from vaults.domain.insights import daily_counts_job
from vaults.domain.maintenance import reindexing, retention
from vaults.domain.memories import lifecycle
from vaults.domain.notes.commit import git_commits, recovery
from vaults.domain.notes.sync import sync_loop
from vaults.embed.backend import Embedder
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.cross_encoder_model import CrossOptions
from vaults.embed.service import EmbeddingService
from vaults.files.permissions import FOLDER, private_folder, tighten
from vaults.observer import NullObserver, Observer
from vaults.pool import Pool
from vaults.registry_cache import Roster
from vaults.search.expansion_endpoint import Expander
from vaults.settings import LinkSettings
from vaults.vault import Chore, Heard, Shared

if TYPE_CHECKING:  # the library behind it takes a twentieth of a cold start, and over stdio nobody scrapes
    from ops.metrics import Metrics

CONTROL = "control.db"
CHORES = (
    reindexing.REINDEX,
    reindexing.RECUT,
    sync_loop.COMPLETE,
    graph_jobs.SCORE,
    git_commits.KEEP,
    retention.SWEEP,
    link_resolution_job.UNDERSTAND,
    daily_counts_job.WRITE_DOWN,
    proactive_links.LEARN,
    entity_vector_job.EMBED,
    lifecycle.ERASE,
)
SEARCH_THREADS = 4
"""FAISS and tokenizer calls at once: they release the interpreter, and two cores are kept busy by two."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is done beside calls, besides what a vault owes itself: its owed ``vectors``, ``rounds`` over all vaults,
    and what else follows the changes that the access board looks for."""

    vectors: bool
    rounds: bool
    followers: tuple[Callable[[], object], ...] = ()

    def chores(self) -> tuple[Chore, ...]:
        """What a vault does unasked."""
        return CHORES if self.vectors else tuple(chore for chore in CHORES if chore is not entity_vector_job.EMBED)


LASTING = Upkeep(vectors=True, rounds=True)
BRIEF = Upkeep(vectors=False, rounds=False)
"""Of a process that ends with its command: nothing that needs the model, and no vault but those asked for."""


@dataclass(frozen=True, slots=True)
class Recorders:
    """Where calls are counted and written down; None: nowhere."""

    metrics: Metrics | None = None
    calls: CallLog | None = None


NOBODY = Recorders()


class Heralds:
    """Who wants to hear that notes changed on disk."""

    def __init__(self) -> None:
        self._listeners: list[Heard] = []

    def add(self, listener: Heard) -> None:
        """Tell ``listener`` from now on."""
        self._listeners.append(listener)

    def tell(self, vault: str, paths: Sequence[str]) -> None:
        """Notes of a vault changed."""
        for listener in self._listeners:
            listener(vault, paths)


@dataclass(frozen=True, slots=True)
class Services:
    """What serves. Frozen: nothing is swapped while calls run."""

    settings: Settings
    data: Path
    instance_id: str
    control: Database
    board: AccessBoard
    roster: Roster
    licence: LicenceFile
    plans: Plans
    quotas: Quotas
    days: DayCounters
    registry: Registry
    pool: Pool
    embedder: EmbeddingService
    health: Health
    recorders: Recorders
    heralds: Heralds

    def role_in(self, principal: Principal, vault: str) -> Role | None:
        """What a principal may do in a vault now; None alike for no grant and no vault."""
        return self.board.current.role_in(principal, vault) if self.roster.known(vault) else None

    def record(self, record: CallRecord) -> None:
        """Count a finished call and write its line."""
        caller = record.caller
        if self.recorders.metrics is not None:
            self.recorders.metrics.called(record.tool, record.outcome, record.seconds)
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
    registry: Registry,
    *,
    recorders: Recorders = NOBODY,
    load_model: Callable[[], Embedder] | None = None,
    upkeep: Upkeep = LASTING,
) -> AsyncIterator[Services]:
    """Open control.db, the pool and the model's service. The model loads on first need, by ``load_model`` if given
    (tests bring a small one)."""
    heap.few_arenas()
    observer = recorders.metrics or NullObserver()
    async with AsyncExitStack() as stack:
        control, roster, board, licence = await _open_control(stack, data, settings, observer, upkeep.followers)
        plans = Plans(settings.limits, settings.plans, lambda: board.current.holders, licence.current)
        days = await _counting(stack, control)
        embedder = EmbeddingService(settings.embedding, observer, load_model, loads_for_backfill=upkeep.vectors)
        stack.push_async_callback(embedder.close)
        heralds = Heralds()
        shared = _shared(stack, settings, embedder, observer, heralds.tell)
        pool = _opened(stack, Pool(data, replace(shared, chores=upkeep.chores()), roster.entries), upkeep)
        yield Services(
            settings=settings,
            data=data,
            instance_id=await vault_registry.instance_id(control),
            control=control,
            board=board,
            roster=roster,
            licence=licence,
            plans=plans,
            quotas=Quotas(settings.limits, plans),
            days=days,
            registry=registry,
            pool=pool,
            embedder=embedder,
            health=Health(),
            recorders=recorders,
            heralds=heralds,
        )


async def _counting(stack: AsyncExitStack, control: Database) -> DayCounters:
    days = DayCounters(control)
    await days.start()
    stack.push_async_callback(days.close)
    return days


def _opened(stack: AsyncExitStack, pool: Pool, upkeep: Upkeep) -> Pool:
    stack.push_async_callback(pool.close)
    stack.push_async_callback(pool.part)
    if upkeep.rounds:
        pool.start()
    return pool


def _shared(
    stack: AsyncExitStack, settings: Settings, embedder: EmbeddingService, observer: Observer, heard: Heard
) -> Shared:
    threads = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="search")
    stack.callback(threads.shutdown)
    embedding, rerank, expansion = settings.embedding, settings.rerank, settings.expansion
    # One engine, one number of threads: PyTorch has one setting for a whole process.
    cross = CrossEncoderService(
        CrossOptions(
            rerank.model, embedding.device, embedding.threads, rerank.max_tokens, rerank.timeout_s, rerank.cache
        )
    )
    stack.push_async_callback(cross.close)
    expander = Expander(expansion.endpoint, expansion.timeout_s, expansion.cache)
    stack.push_async_callback(expander.close)
    return Shared(
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
        resident=sync_loop.tend,
        mending=recovery.MEND,
        parting=git_commits.flush,
        heard=heard,
        sessions=settings.sessions,
        telemetry=settings.telemetry,
        hygiene=settings.hygiene,
        links=_links(settings),
    )


def _links(settings: Settings) -> LinkSettings:
    """Nothing is written unasked where nothing, or nothing without a person's word, is written at all."""
    free = settings.server.write_mode == "auto"
    return settings.links if free else settings.links.model_copy(update={"proactive": False})


async def _open_control(
    stack: AsyncExitStack,
    data: Path,
    settings: Settings,
    observer: Observer,
    followers: Sequence[Callable[[], object]],
) -> tuple[Database, Roster, AccessBoard, LicenceFile]:
    _make_data_folder(data)
    control = Database(data / CONTROL, settings.storage, observer)
    stack.push_async_callback(control.close)
    await migrate(control, "control")
    licence = LicenceFile(data, settings.limits, await vault_registry.instance_id(control))
    await asyncio.to_thread(licence.refresh)
    roster, board = Roster(control), AccessBoard(control, followers=(*followers, licence.refresh))
    await roster.start()
    stack.push_async_callback(roster.close)
    await board.start()
    stack.push_async_callback(board.close)
    return control, roster, board, licence


def _make_data_folder(data: Path) -> None:
    if not data.exists():  # one that is there may hold what is not ours
        private_folder(data)
    tighten(data / "vaults", FOLDER)
