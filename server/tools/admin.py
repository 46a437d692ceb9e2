"""The server itself: how it is, which vaults there are, what it can do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from ops.audit.entries import MAX_NAME, AuditEntry
from server import allowance, vault_admin
from server.allowance import Allowances
from server.audited_calls import actor_of
from server.call import Call
from server.services import Services
from server.tool_discovery import ranking, similarity
from server.tool_discovery.ranking import ToolChoice
from server.tool_spec import LOOKS, REMOVES, Action, Arguments, is_in_preset, tool
from server.version import version
from vaults import clock
from vaults.domain.continuity import feedback
from vaults.domain.continuity import live_status as pulses
from vaults.domain.continuity.live_status import ClaimsSummary, RecentAction, SessionsSummary
from vaults.domain.maintenance import eviction_outlook, vault_status
from vaults.domain.maintenance.eviction_outlook import EvictionOutlook
from vaults.domain.maintenance.vault_status import (
    CollectionStatus,
    DocumentCounts,
    EmbeddingStatus,
    IndexStatus,
    MemoryCounts,
    NotesStatus,
)
from vaults.domain.retrieval.explanations import read_vault_threshold
from vaults.domain.text.fields import Text
from vaults.errors import Forbidden, InvalidArgument, NotFound, VaultUnavailable
from vaults.registry import VaultEntry
from vaults.search.relevance_threshold import RelevanceThreshold


@dataclass(frozen=True, slots=True)
class CallerInfo:
    """Who the server takes the caller for."""

    subject: str
    role: str
    preset: str
    write_mode: str
    workspace: str | None


@dataclass(frozen=True, slots=True)
class StatusResult:
    """Sections of the answer. ``health``: the share of the last 100 calls that went well, 0 to 1; absent before the
    first. ``recent``: the last five minutes. ``relevance``: from where a hit is likely to answer here, and why.
    ``eviction``: what limits of storage let go, where there are any."""

    vault: str
    version: str
    you: CallerInfo
    memories: MemoryCounts
    notes: NotesStatus
    documents: DocumentCounts
    collections: list[CollectionStatus]
    embedding: EmbeddingStatus
    index: IndexStatus
    storage_bytes: int
    created_at: str
    health: float | None
    sessions: SessionsSummary
    claims: ClaimsSummary
    recent: list[RecentAction]
    limits: Allowances
    relevance: RelevanceThreshold
    eviction: EvictionOutlook | None = None


SIZE_STEP = 2**20


def _rounded_size(size: int, role: Role) -> int:
    """The bytes a vault takes, but to admins in steps: the last bytes tell how much somebody else just stored."""
    return size if role == Role.ADMIN else -(-size // SIZE_STEP) * SIZE_STEP


@tool(role=Role.READER)
async def status(call: Call, args: Arguments) -> StatusResult:  # noqa: ARG001  every tool has the same shape
    """How the vault is: sizes, what is pending, who you are, who else is here. Use it when results look incomplete."""
    vault, caller = await vault_status.read_status(call.vault, call.actor), call.caller
    now = await pulses.read_live_status(call.vault, call.actor)
    you = CallerInfo(
        caller.principal.subject, caller.role.label, caller.preset, caller.write_mode, call.actor.workspace
    )
    return StatusResult(
        vault=vault.vault,
        version=version(),
        you=you,
        memories=vault.memories,
        notes=vault.notes,
        documents=vault.documents,
        collections=vault.collections,
        embedding=vault.embedding,
        index=vault.index,
        storage_bytes=_rounded_size(vault.storage_bytes, call.role),
        created_at=vault.created_at,
        health=now.health,
        sessions=now.sessions,
        claims=now.claims,
        recent=now.recent,
        limits=await allowance.store_quota(call).allowances(),
        relevance=await read_vault_threshold(call.vault, clock.now()),
        eviction=await eviction_outlook.read_outlook(call.vault, None if caller.principal.is_owner else call.actor),
    )


class VaultsArguments(Arguments):
    action: Annotated[
        Literal["list", "info", "create", "archive", "unarchive", "rename", "copy", "delete"],
        Field(description="what to do"),
    ] = "list"
    name: Annotated[Text | None, Field(max_length=63, description="vault; default: this one")] = None
    to: Annotated[Text | None, Field(max_length=63, description="the new name")] = None
    name_again: Annotated[Text | None, Field(max_length=63, description="to delete: the vault's name again")] = None


@dataclass(frozen=True, slots=True)
class VaultSummary:
    """One vault the caller may enter."""

    name: str
    role: str
    state: str
    created_at: str
    memories: int | None = None
    storage_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class VaultsResult:
    """The vaults, by name."""

    vaults: list[VaultSummary]


@tool(
    role=Role.ADMIN,
    effect=REMOVES,
    preset="full",
    actions={
        "list": LOOKS,
        "info": LOOKS,
        "create": Action(Role.ADMIN, "make a vault"),
        "archive": Action(Role.ADMIN, "take a vault out of service", destroys=True),
        "unarchive": Action(Role.ADMIN, "put an archived vault back into service"),
        "rename": Action(Role.ADMIN, "give a vault another name", destroys=True),
        "copy": Action(Role.ADMIN, "make a second vault with what one holds"),
        "delete": Action(Role.ADMIN, "delete a vault for good", destroys=True),
    },
)
async def vaults(call: Call, args: VaultsArguments) -> VaultsResult:
    """The vaults you may enter. Use it before naming one. What changes them needs the role admin in every vault."""
    services, principal = call.services, call.caller.principal
    if args.action == "list":
        known = [entry.name for entry in services.registry_cache.entries()]
        granted = services.access_cache.current.vaults_of(principal, known)
        lines = [_summarize_vault(call, name, role) for name, role in granted.items()]
        return VaultsResult(lines)
    if args.action == "info":
        return VaultsResult([await _vault_info(call, args.name or call.vault.name)])
    if args.name is None:
        raise InvalidArgument("name", "is required")
    if not vault_admin.is_admin_everywhere(services, principal):
        raise Forbidden("only an admin of every vault may do this")
    if args.action in ("rename", "delete") and args.name == call.vault.name:
        raise InvalidArgument("name", "is the vault of this connection", hint="call from another vault")
    act = AuditEntry("act", "vault", "ok", actor=actor_of(call.caller), action=args.action, vault=args.name[:MAX_NAME])
    async with services.audit.acting(act):
        entry = await _change_vault(services, args, args.name)
    state = "deleted" if args.action == "delete" else entry.state
    return VaultsResult([VaultSummary(entry.name, Role.ADMIN.label, state, entry.created_at)])


async def _change_vault(services: Services, args: VaultsArguments, name: str) -> VaultEntry:
    if args.action == "create":
        return await vault_admin.create(services, name)
    if args.action == "archive":
        return await vault_admin.archive(services, name)
    if args.action == "unarchive":
        return await vault_admin.unarchive(services, name)
    if args.action in ("rename", "copy"):
        if args.to is None:
            raise InvalidArgument("to", "is required")
        change = vault_admin.rename if args.action == "rename" else vault_admin.copy
        return await change(services, name, args.to)
    return (await vault_admin.delete(services, name, confirm=args.name_again)).entry


def _summarize_vault(call: Call, name: str, role: Role) -> VaultSummary:
    entry = call.services.registry_cache.entry(name)
    return VaultSummary(name, role.label, entry.state, entry.created_at)


async def _vault_info(call: Call, name: str) -> VaultSummary:
    role = call.services.role_in(call.caller.principal, name)
    if role is None:
        raise NotFound("no such vault, or no grant for it")
    entry = call.services.registry_cache.entry(name)
    if name != call.vault.name and not call.services.holds(entry.vault_id):
        return await _ask_holder(call, name)
    async with call.services.pool.lease(entry) as vault:
        found = await vault_status.read_status(vault, call.actor)
    return VaultSummary(
        name=name,
        role=role.label,
        state=entry.state,
        created_at=entry.created_at,
        memories=found.memories.living,
        storage_bytes=_rounded_size(found.storage_bytes, role),
    )


async def _ask_holder(call: Call, name: str) -> VaultSummary:
    """The same call, made in that vault by the server that has it."""
    route, caller = call.services.routes.call, replace(call.caller, vault=name, form="data")
    if route is None:
        raise VaultUnavailable("another server has the vault", hint="call again")
    outcome = await route(caller, "vaults", {"action": "info", "name": name}, _is_here)
    if outcome is None or not outcome.ok:
        raise VaultUnavailable("the vault cannot be looked at where it is", hint="call again")
    return VaultSummary(**outcome.content["vaults"][0])


async def _is_here() -> None:
    """It came here meanwhile."""


class DiscoverArguments(Arguments):
    query: Annotated[Text, Field(max_length=1000, description="what you want to do")]


@dataclass(frozen=True, slots=True)
class ToolAdvice:
    """A tool that may fit, with the ``action`` that would do. ``available`` false: this connection does not show it, or
    not that action; ``needs`` says what would. ``also_takes``: arguments that are taken but not shown."""

    name: str
    purpose: str
    available: bool
    action: str | None = None
    needs: str | None = None
    also_takes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DiscoverToolsResult:
    """Tools that fit, best first, each of another group."""

    tools: list[ToolAdvice] = field(default_factory=list)


@tool(
    role=Role.READER,
    head=lambda advice: "" if advice.tools else "No tool fits.",
)
async def discover_tools(call: Call, args: DiscoverArguments) -> DiscoverToolsResult:
    """Find the tool for a job, also one this connection does not show. Use it when none of yours fits; it advises only,
    and names arguments that are taken but not shown."""
    specs = [spec for spec in call.services.registry if call.role >= spec.least_role]
    near = await similarity.find_near_tools(call.services.embedder, specs, args.query)
    right = await call.vault.db.read(feedback.posteriors)
    return DiscoverToolsResult([_advice(call, each) for each in ranking.rank_tools(specs, args.query, near, right)])


def _advice(call: Call, choice: ToolChoice) -> ToolAdvice:
    spec, caller = choice.spec, call.caller
    purpose = spec.description.split(". ")[0].rstrip(".") + "."
    needs = _missing_grant(call, choice)
    rest = [] if needs else list(spec.hidden_args_in(caller.preset))
    return ToolAdvice(
        name=spec.name, purpose=purpose, available=needs is None, action=choice.action, needs=needs, also_takes=rest
    )


def _missing_grant(call: Call, choice: ToolChoice) -> str | None:
    """What the caller lacks for it; None where it is shown."""
    spec, caller = choice.spec, call.caller
    if not is_in_preset(spec.preset, caller.preset):
        return f"the tool preset {spec.preset}"
    if not spec.is_listed(call.role, caller.preset, caller.write_mode):
        return "a connection that may write"
    if choice.action is None or choice.action in spec.actions_for(call.role, caller.write_mode):
        return None
    least = spec.actions[choice.action].role
    return f"the role {least.label}" if call.role < least else "a connection that may write"
