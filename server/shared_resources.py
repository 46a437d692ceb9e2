"""What the vaults of a process share: its model, threads and parsers, what it fetches, and what it keeps of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from auth.plans import Plans
from ops.audit.audit_log import AuditLog
from ops.backup import interrupted_restores
from ops.vault_life import before_upgrade, folder_moves
from server.audited_jobs import audit_jobs
from server.background_jobs import jobs_of
from server.background_plan import BackgroundPlan
from server.settings import Settings
from vaults.db.transactions import Transactions
from vaults.domain.collections import follow_loop
from vaults.domain.maintenance import eviction
from vaults.domain.notes.commit import git_commits
from vaults.domain.notes.sync import sync_loop
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.cross_encoder_backend import CrossEncoderOptions
from vaults.embed.served_models import ServedModels
from vaults.listed_hosts import ListedHosts
from vaults.observer import Observer
from vaults.parsing.parser_pool import ParserPool
from vaults.search.expansion_endpoint import QueryExpander
from vaults.settings import IngestSettings, LinkSettings
from vaults.vault import NotesChangedListener, SharedResources
from vaults.web.page_fetch import PageFetcher, PageLimits

if TYPE_CHECKING:
    from ops.metrics import Metrics

SEARCH_THREADS = 4
"""Concurrent FAISS and tokenizer calls: they release the interpreter lock, and two keep two cores busy."""


@dataclass(frozen=True, slots=True)
class VaultSurroundings:
    """What vaults are told of the process they are open in."""

    control: Transactions
    data: Path
    plans: Plans
    observer: Observer
    on_notes_changed: NotesChangedListener
    audit: AuditLog
    metrics: Metrics | None


def share_resources(
    stack: AsyncExitStack,
    settings: Settings,
    around: VaultSurroundings,
    background: BackgroundPlan,
    models: ServedModels,
) -> SharedResources:
    """Open what vaults share; ``stack`` closes it. The model loads on first need."""
    threads = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="search")
    stack.callback(threads.shutdown)
    shared = SharedResources(
        storage=settings.storage,
        embedding=settings.embedding,
        index=settings.index,
        search=settings.search,
        rerank=settings.rerank,
        expansion=settings.expansion,
        notes=settings.notes,
        models=models,
        cross=_make_cross_encoder(stack, settings),
        expander=_make_expander(stack, settings),
        pool=threads,
        observer=around.observer,
        background_jobs=jobs_of(background),
        jobs_of_vault=(eviction.make_job,) if background.evictions else (),
        run_while_open=(sync_loop.keep_in_sync, follow_loop.keep_following),
        plan_size=partial(_plan_size, around.plans),
        before_migration=partial(before_upgrade.keep_copy, storage=settings.storage),
        recover_on_open=interrupted_restores.RECOVER,
        keeps_note_files=settings.cluster.is_on,
        find_folder=partial(folder_moves.find_folder, around.control, around.data),
        before_close=git_commits.commit_all_pending,
        on_notes_changed=around.on_notes_changed,
        sessions=settings.sessions,
        telemetry=settings.telemetry,
        hygiene=settings.hygiene,
        links=_link_settings(settings),
        code=settings.code,
        collections=settings.collections,
        parsers=_make_parsers(stack, settings),
        ingest=settings.ingest,
        web=_make_page_fetcher(stack, settings.ingest),
    )
    if background.logs and settings.backup.log:
        shared = _keep_change_logs(stack, settings, shared, around.metrics)
    return audit_jobs(shared, around.audit)


def _keep_change_logs(
    stack: AsyncExitStack, settings: Settings, shared: SharedResources, metrics: Metrics | None
) -> SharedResources:
    """``shared``, with a log of every vault. Raises ``InvalidArgument`` or ``VaultUnavailable`` for settings with which
    none could ever be kept."""
    from ops.change_log.kept_logs import KeptLogs

    logs = KeptLogs(settings.backup, settings.storage, metrics)
    stack.push_async_callback(logs.close)
    return replace(shared, commit_log=logs.make, run_while_open=(*shared.run_while_open, logs.keep))


def _make_cross_encoder(stack: AsyncExitStack, settings: Settings) -> CrossEncoderService:
    embedding, rerank = settings.embedding, settings.rerank
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
    return cross


def _make_expander(stack: AsyncExitStack, settings: Settings) -> QueryExpander:
    expansion = settings.expansion
    expander = QueryExpander(expansion.endpoint, expansion.timeout_s, expansion.cache)
    stack.push_async_callback(expander.close)
    return expander


def _make_parsers(stack: AsyncExitStack, settings: Settings) -> ParserPool:
    parsers = ParserPool(settings.ingest)
    stack.push_async_callback(parsers.close)
    return parsers


def _make_page_fetcher(stack: AsyncExitStack, settings: IngestSettings) -> PageFetcher | None:
    """Nothing is fetched, and no library loaded for it, before somebody names a page."""
    if not settings.hosts:
        return None
    fetcher = PageFetcher(ListedHosts(settings.hosts), PageLimits(settings.max_bytes, settings.fetch_seconds))
    stack.push_async_callback(fetcher.close)
    return fetcher


def _plan_size(plans: Plans, vault: str) -> int | None:
    size = plans.of_vault(vault).bound("size")
    return None if size is None else size.limit


def _link_settings(settings: Settings) -> LinkSettings:
    """Turns proactive links off where writing is off or needs a person's consent."""
    free = settings.server.write_mode == "auto"
    return settings.links if free else settings.links.model_copy(update={"proactive": False})
