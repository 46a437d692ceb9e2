"""The composition root: everything a process serves with, opened in order and closed in reverse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from auth.access_cache import AccessCache
from auth.daily_usage import DailyUsage
from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER
from auth.licence_file import LicenceFile
from auth.plans import Plans
from auth.principal import Principal
from auth.quotas import Quotas
from auth.roles import Role
from auth.shared_counts import UNSHARED, SharedCounts
from ops.audit.audit_log import UNWATCHED, AuditLog, AuditWatch
from ops.backup import restore_leftovers
from ops.backup.requested_runs import RequestedRuns
from ops.backup.turns import SCRATCH_FOLDER
from ops.health import HealthRegistry
from ops.logs import CallLine, CallLog
from server.background_plan import SERVER_WORK, BackgroundPlan
from server.call import CallRecord
from server.call_listeners import CallListeners
from server.call_routes import CallRoutes
from server.control_state import open_control
from server.local_attempt import tell_began, tell_elsewhere
from server.settings import Settings
from server.tool_registry import ToolRegistry
from vaults import heap
from vaults import registry as vault_registry
from vaults.background_defects import BackgroundDefects
from vaults.db.transactions import Transactions
from vaults.embed.backend import Embedder
from vaults.embed.endpoint_stamps import stamps_folder
from vaults.embed.resident_models import ResidentModels
from vaults.embed.served_models import ServedModels
from vaults.embed.service import EmbeddingService, loader_of
from vaults.files.scratch_folders import sweep_scratch
from vaults.observer import NullObserver, Observer
from vaults.pool import KnownVaults, VaultPool
from vaults.registry import VaultEntry
from vaults.registry_cache import RegistryCache
from vaults.settings import EmbeddingSettings
from vaults.vault_hosting import VaultElsewhere

if TYPE_CHECKING:  # the library behind it takes a twentieth of a cold start, and over stdio nobody scrapes
    from ops.audit.chain_store import ChainStores
    from ops.metrics import Metrics
    from server.cluster.installation import SharedInstallation
    from server.cluster.parts import Cluster
    from vaults.cluster.cluster_observer import ClusterObserver
    from vaults.domain.social.moltbook import Moltbook
    from vaults.vault import NotesChangedListener, SharedResources

SOCIAL_KEY = "social.key"
"""In the folder of keys: what the API keys of vaults are sealed with."""


@dataclass(frozen=True, slots=True)
class Recorders:
    """Where calls are counted and logged; None: nowhere."""

    metrics: Metrics | None = None
    calls: CallLog | None = None
    cluster: ClusterObserver | None = None
    """Of a server that is one of several."""


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
    control: Transactions
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
    """Of the server's own model; that of a vault is ``Vault.embedder``."""
    health: HealthRegistry
    recorders: Recorders
    change_listeners: ChangeListeners
    defects: BackgroundDefects
    """Of the process's own tasks; those of a vault stand in its ``background``."""
    call_listeners: CallListeners = field(default_factory=CallListeners)
    requested_backups: RequestedRuns = field(default_factory=RequestedRuns)
    home: Path | None = None
    """The home folder of the one person this process serves; None where it serves several."""
    moltbook: Moltbook | None = None
    """A social network; None where no operator asked for it."""
    routes: CallRoutes = field(default_factory=CallRoutes)
    cluster: Cluster | None = None
    """This server as one of several; None on one machine."""
    shared_counts: SharedCounts = UNSHARED
    """What other servers count towards limits over time."""

    def role_in(self, principal: Principal, vault: str) -> Role | None:
        """The principal's role in a vault now; None alike for no grant and no vault."""
        return self.access_cache.current.role_in(principal, vault) if self.registry_cache.known(vault) else None

    def holds(self, vault_id: str) -> bool:
        """Whether calls of a vault are served here: always on one machine."""
        return self.cluster is None or self.cluster.held.is_here(vault_id)

    async def begin_stream(self, entry: VaultEntry) -> None:
        """Have the vault here, as whoever listens hears of the calls that are served here; to be ended once it is not
        ``holds`` any more. Raises ``VaultElsewhere``, and what keeps a vault from being opened."""
        if self.cluster is not None:
            try:
                async with self.pool.lease(entry):
                    tell_began()
            except VaultElsewhere:
                tell_elsewhere()
                raise

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
                    server=None if self.cluster is None else self.cluster.membership.id,
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
        installation = await _open_installation(stack, settings, data)
        shared = None if installation is None else installation.of_control
        control = await open_control(stack, data, settings, observer, background.followers, shared)
        cluster = await _join_cluster(stack, settings, data, installation, recorders, background)
        if background.rounds:
            await _sweep_leftovers(control.db, data)
        access_cache, licence = control.access_cache, control.licence
        plans = Plans(settings.limits, settings.plans, lambda: access_cache.current.holders, licence.current)
        daily_usage = await _start_daily_usage(stack, control.db)
        audit = _open_audit(stack, settings, data, recorders, background, _shared_chains(stack, cluster))
        listeners = ChangeListeners()
        models = _open_models(stack, settings, data, observer, load_model, background)
        of_vaults = await stack.enter_async_context(AsyncExitStack())

        @cache
        def share() -> SharedResources:
            from server.shared_resources import VaultSurroundings, share_resources

            around = VaultSurroundings(
                control.db, data, plans, observer, listeners.tell, audit=audit, metrics=recorders.metrics
            )
            shared = share_resources(of_vaults, settings, around, background, models)
            return shared if cluster is None else cluster.share(shared)

        if background.logs and settings.backup.log:
            share()  # settings with which no log can be kept stop the start
        known = control.registry_cache
        pool = VaultPool(data, settings.storage, observer, share, _known_vaults(known, cluster))
        _start_pool(stack, pool, background, parts=cluster is None)
        if cluster is not None:
            cluster.serve(stack, pool)
        shared_counts = _share_counts(stack, cluster, background)
        requested = RequestedRuns()
        stack.push_async_callback(requested.close)
        yield Services(
            settings=settings,
            data=data,
            instance_id=await vault_registry.instance_id(control.db),
            control=control.db,
            access_cache=access_cache,
            registry_cache=control.registry_cache,
            licence=licence,
            plans=plans,
            quotas=Quotas(settings.limits, plans, shared=shared_counts),
            daily_usage=daily_usage,
            audit=audit,
            registry=registry,
            pool=pool,
            embedder=models.own,
            health=HealthRegistry(),
            recorders=recorders,
            change_listeners=listeners,
            defects=pool.defects,
            requested_backups=requested,
            moltbook=_make_moltbook(stack, settings, data),
            cluster=cluster,
            shared_counts=shared_counts,
        )


async def _open_installation(stack: AsyncExitStack, settings: Settings, data: Path) -> SharedInstallation | None:
    """What all servers of an installation share; ``stack`` closes it. None on one machine. Raises ``InvalidArgument``,
    ``LogUnavailable``."""
    if not settings.cluster.is_on:
        return None
    from server.cluster.installation import open_installation

    return await stack.enter_async_context(open_installation(settings.cluster, data))


async def _join_cluster(
    stack: AsyncExitStack,
    settings: Settings,
    data: Path,
    installation: SharedInstallation | None,
    recorders: Recorders,
    background: BackgroundPlan,
) -> Cluster | None:
    if installation is None:
        return None
    from server.cluster.new_vaults import begin_new_vault
    from server.cluster.parts import open_cluster, to_cache
    from vaults.cluster.cluster_observer import NullClusterObserver

    observer = recorders.cluster or NullClusterObserver()
    cluster = await open_cluster(stack, settings, data, installation.connections, observer, background)
    cluster.held.make_new = partial(
        begin_new_vault, installation.control, cluster.connections, to_cache(settings.storage)
    )
    return cluster


def _known_vaults(known: RegistryCache, cluster: Cluster | None) -> KnownVaults:
    """What the pool visits by itself: in a cluster what is held here, or is to be where a command left work."""

    def announced() -> Mapping[str, str]:
        return known.announced_work

    if cluster is None:
        return KnownVaults(known.entries, announced)
    held = cluster.held

    def is_ours(vault_id: str) -> bool:
        return held.is_here(vault_id) or (vault_id in known.announced_work and held.is_preferred(vault_id))

    def entries() -> list[VaultEntry]:
        return [entry for entry in known.entries() if is_ours(entry.vault_id)]

    return KnownVaults(entries, announced, held.folder_of)


async def _sweep_leftovers(control: Transactions, data: Path) -> None:
    """Clear away what killed restores and backups left."""
    names = {each.name for each in await control.read(vault_registry.list_vaults)}
    await asyncio.to_thread(restore_leftovers.sweep, data / "vaults", names)
    await asyncio.to_thread(sweep_scratch, data / SCRATCH_FOLDER)
    if control.is_shared:
        from vaults.cluster.control import arriving_vaults

        await arriving_vaults.sweep(control)


def _open_models(
    stack: AsyncExitStack,
    settings: Settings,
    data: Path,
    observer: Observer,
    load_model: Callable[[], Embedder] | None,
    background: BackgroundPlan,
) -> ServedModels:
    residents = ResidentModels()

    def make(wanted: EmbeddingSettings, load: Callable[[], Embedder] | None) -> EmbeddingService:
        return EmbeddingService(
            wanted,
            observer,
            load or loader_of(wanted, stamps_folder(data)),
            loads_for_backfill=background.vectors,
            residents=residents,
        )

    models = ServedModels(settings.embedding, make(settings.embedding, load_model), make)
    stack.push_async_callback(models.close)
    return models


def _shared_chains(stack: AsyncExitStack, cluster: Cluster | None) -> ChainStores | None:
    if cluster is None:
        return None
    from server.cluster.audit_chains import open_chains

    return open_chains(stack, cluster.connections)


def _share_counts(stack: AsyncExitStack, cluster: Cluster | None, background: BackgroundPlan) -> SharedCounts:
    if cluster is None or not background.rounds:  # a command is one call, of who owns the machine
        return UNSHARED
    from server.cluster.shared_rates import open_shared_rates

    return open_shared_rates(stack, cluster.connections)


def _open_audit(
    stack: AsyncExitStack,
    settings: Settings,
    data: Path,
    recorders: Recorders,
    background: BackgroundPlan,
    stores: ChainStores | None,
) -> AuditLog:
    watch = UNWATCHED
    if (metrics := recorders.metrics) is not None:
        watch = AuditWatch(metrics.on_audit_failing, partial(metrics.on_background_defect, "audit"))
    passphrase = settings.auth.key_passphrase_file
    audit = AuditLog(data, settings.audit, settings.storage, watch, key_passphrase_file=passphrase, stores=stores)
    stack.push_async_callback(audit.close)
    if background.rounds:
        audit.start()
    return audit


async def _start_daily_usage(stack: AsyncExitStack, control: Transactions) -> DailyUsage:
    usage = DailyUsage(control)
    await usage.start()
    stack.push_async_callback(usage.close)
    return usage


def _start_pool(stack: AsyncExitStack, pool: VaultPool, background: BackgroundPlan, *, parts: bool) -> None:
    """``parts``: nobody goes on with its sessions when this process ends."""
    stack.push_async_callback(pool.close)
    if parts:
        stack.push_async_callback(pool.part)
    if background.rounds:
        pool.start()


def _make_moltbook(stack: AsyncExitStack, settings: Settings, data: Path) -> Moltbook | None:
    """Nothing is sent before somebody calls: a network that is down keeps no server from starting."""
    url = settings.social.moltbook.url
    if url is None:
        return None
    from vaults.domain.social.endpoint import MoltbookEndpoint
    from vaults.domain.social.moltbook import Moltbook
    from vaults.domain.social.token_cipher import TokenCipher

    endpoint = MoltbookEndpoint(url)
    stack.push_async_callback(endpoint.close)
    passphrase = settings.auth.key_passphrase_file
    return Moltbook(endpoint, TokenCipher(partial(open_secret, data / KEYS_FOLDER, SOCIAL_KEY, passphrase)))
