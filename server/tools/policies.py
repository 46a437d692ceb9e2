"""Written procedures of a vault: seen, tried, run, and written by those who may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import Arguments, Effect, tool
from server.tools._notes import DryRun, Etag
from vaults.activity_log.entries import ActivityEntry
from vaults.advice import Advice, tool_clause
from vaults.context import run_in
from vaults.domain.notes import policy_paths
from vaults.domain.notes.edit import moves
from vaults.domain.notes.policy_paths import MAX_BYTES
from vaults.domain.policies.results import PolicyRunRequest, PolicyRunResult, StepResult
from vaults.domain.text.fields import Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import ConfirmationRequired, InvalidArgument

if TYPE_CHECKING:
    from server.tools._steps import StepTools
    from vaults.domain.policies.definitions import Policy
    from vaults.domain.policies.plans import PolicyPlan
    from vaults.domain.policies.storage import ListedPolicy, StoredPolicy


class PoliciesArguments(Arguments):
    action: Annotated[
        Literal["list", "show", "validate", "preview", "execute", "author", "revise", "delete"],
        Field(description="what to do"),
    ] = "list"
    name: Annotated[Text | None, Field(max_length=64, description="the policy, such as weekly-review")] = None
    variables: Annotated[
        dict[str, Any], Field(max_length=50, description="preview, execute: values of its variables")
    ] = {}
    content: Annotated[Text | None, Field(max_length=MAX_BYTES, description="validate, author, revise: the YAML")] = (
        None
    )
    etag: Etag = None
    dry_run: DryRun = False
    confirmed: Annotated[bool, Field(description="true once a person agreed to what is deleted")] = False


@dataclass(frozen=True, slots=True)
class PolicyVariable:
    """A variable of a policy, as its file declares it."""

    name: str
    type: str
    required: bool
    description: str
    default: Any = None
    values: list[str] | None = None


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A policy on the shelf. ``steps``: the tools it calls, in order; ``problem``: why it cannot be run."""

    name: str
    path: str
    description: str = ""
    variables: list[PolicyVariable] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PoliciesResult:
    """Of list: ``policies``. Of show: ``content`` and ``etag``. Of validate: ``valid``, and why not. Of preview and
    execute: ``steps`` with what each did, ``paths`` of notes, ``diff`` of what is only shown, ``change`` that history
    undoes. Of author, revise and delete: ``path``, ``etag``, ``change``."""

    policies: list[PolicyEntry] | None = None
    name: str | None = None
    path: str | None = None
    content: str | None = None
    etag: str | None = None
    valid: bool | None = None
    problem: str | None = None
    steps: list[StepResult] | None = None
    paths: list[str] | None = None
    summary: str | None = None
    diff: str | None = None
    change: str | None = None
    changed: bool | None = None


def _action_summary(arguments: Mapping[str, Any]) -> str:
    what = {
        "execute": "run a written procedure, which changes notes and may delete some",
        "author": "write a new procedure that agents may run",
        "revise": "change a procedure that agents may run",
        "delete": "delete a written procedure",
    }
    return what.get(str(arguments.get("action")), "use written procedures")


def _destroys(arguments: Mapping[str, Any]) -> bool:
    """A run deletes notes only where it is told that somebody agreed: without that it is refused by name."""
    action = arguments.get("action")
    if arguments.get("dry_run") is True:
        return False
    return action == "delete" or (action == "execute" and arguments.get("confirmed") is True)


def _activity_entry(args: PoliciesArguments, result: PoliciesResult) -> ActivityEntry | None:
    if not result.changed:
        return None
    verb = {"execute": "ran the policy", "author": "wrote the policy", "revise": "changed the policy"}
    resource = result.path or next(iter(result.paths or []), None)
    return ActivityEntry("note_changed", resource, f"{verb.get(args.action, 'deleted the policy')} {result.name}")


def _head(found: PoliciesResult) -> str:
    if found.policies is not None:
        return f"{pluralize(len(found.policies), 'policy', 'policies')}."
    if found.steps is not None:
        if found.changed:
            return f"Ran: {pluralize(len(found.paths or []), 'note')} changed."
        return "Only shown, nothing is written." if found.diff else "Ran: nothing to change."
    if found.valid is not None:
        return "Valid: it can be run." if found.valid else "Not valid."
    if found.content is not None:
        return "The policy."
    return ("Saved." if found.etag else "Deleted.") if found.changed else "It is as it was."


@tool(
    role=Role.WRITER,
    head=_head,
    effect=Effect(writes=True, destructive=True, idempotent=False),
    preset="notes",
    actions={
        "list": Role.READER,
        "show": Role.READER,
        "validate": Role.READER,
        "preview": Role.READER,
        "execute": Role.WRITER,
        "author": Role.ADMIN,
        "revise": Role.ADMIN,
        "delete": Role.ADMIN,
    },
    action_summary=_action_summary,
    destroys=_destroys,
    activity_entry=_activity_entry,
)
async def policies(call: Call, args: PoliciesArguments) -> PoliciesResult:
    """Written procedures of this vault that change several notes as one, all or nothing. Look here before you do a
    recurring chore by hand: list them, preview one to see its diff, execute it; history undoes a run as a whole.
    Admins author and revise them."""
    if args.action == "list":
        return await _list(call)
    if args.action == "validate":
        return await _validate(call, args)
    if args.action == "author":
        return await _author(call, args)
    kept = await _open_policy(call, args)
    if args.action == "show":
        content = kept.data.decode("utf-8", "replace")
        return PoliciesResult(name=kept.name, path=kept.path, content=content, etag=kept.etag)
    if args.action in ("preview", "execute"):
        return await _run(call, args, kept)
    return await (_revise if args.action == "revise" else _delete)(call, args, kept)


def _require_name(args: PoliciesArguments) -> str:
    if args.name is None:
        raise InvalidArgument("name", "is needed: which policy")
    return args.name


def _step_tools(call: Call, *, writing: bool = False) -> StepTools:
    """The tools of steps. What makes and checks policies is imported when it is first needed: few processes do."""
    from server.tools._steps import StepTools

    return StepTools(call, call.role if writing else None)


async def _open_policy(call: Call, args: PoliciesArguments) -> StoredPolicy:
    from vaults.domain.policies import storage

    return await storage.open_policy(call.vault, _require_name(args))


async def _list(call: Call) -> PoliciesResult:
    from vaults.domain.policies import storage

    return PoliciesResult(
        policies=[_to_entry(each) for each in await storage.list_policies(call.vault, _step_tools(call))]
    )


def _to_entry(listed: ListedPolicy) -> PolicyEntry:
    policy = listed.policy
    if policy is None:
        return PolicyEntry(listed.name, listed.path, problem=listed.problem)
    steps = [step.tool for step in policy.steps]
    return PolicyEntry(listed.name, listed.path, policy.description, _variables_of(policy), steps)


def _variables_of(policy: Policy) -> list[PolicyVariable]:
    return [
        PolicyVariable(name, each.type, each.required, each.description, each.default, each.values)
        for name, each in policy.variables.items()
    ]


async def _validate(call: Call, args: PoliciesArguments) -> PoliciesResult:
    kept = await _open_policy(call, args) if args.content is None else None
    data = kept.data if kept is not None else (args.content or "").encode()
    try:
        plan = await _plan(call, data, args.name)
    except InvalidArgument as failure:
        hint = f" ({failure.hint})" if failure.hint else ""
        problem = failure.message.removeprefix("Validation error: ") + hint
        return PoliciesResult(name=args.name, valid=False, problem=problem)
    return PoliciesResult(name=plan.policy.name, valid=True)


async def _plan(call: Call, data: bytes, name: str | None) -> PolicyPlan:
    from vaults.domain.policies import storage

    return await run_in(call.vault.shared.pool, storage.plan_from_bytes, data, name, _step_tools(call))


async def _run(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PoliciesResult:
    from vaults.domain.policies import runner

    plan = await _plan(call, kept.data, kept.name)
    only_shown = args.dry_run or args.action == "preview"
    if not only_shown:
        await store_quota(call).check_size()
    if call.vault.lease.held and any(step.tool == "note_move" for step in plan.policy.steps):
        await call.vault.notes.settled(moves.INDEX_WAIT_S)  # links of notes that nobody has read cannot follow
    order = PolicyRunRequest(args.variables, only_shown, args.confirmed, call.session.id)
    ran: PolicyRunResult = await runner.run_policy(
        call.vault, call.actor, plan, order, _step_tools(call, writing=not only_shown)
    )
    return PoliciesResult(
        name=ran.name,
        steps=ran.steps,
        paths=ran.paths,
        summary=ran.summary,
        diff=ran.diff,
        change=ran.change,
        changed=ran.changed,
    )


async def _check_content(call: Call, args: PoliciesArguments, name: str) -> str:
    """The text of a policy that may be saved under a name."""
    if args.content is None:
        raise InvalidArgument("content", "is needed: the policy as YAML")
    await store_quota(call).check_size()
    await _plan(call, args.content.encode(), name)
    return args.content


async def _author(call: Call, args: PoliciesArguments) -> PoliciesResult:
    from vaults.domain.policies import storage

    name = _require_name(args)
    policy_paths.check_name(name)
    content = await _check_content(call, args, name)
    if args.dry_run:
        return PoliciesResult(name=name, valid=True)
    kept, change = await storage.add_policy(call.vault, call.actor, name, content, call.session.id)
    return PoliciesResult(name=name, path=kept.path, etag=kept.etag, change=change, changed=True)


async def _revise(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PoliciesResult:
    from vaults.domain.policies import storage

    storage.check_etag(kept, args.etag)
    content = await _check_content(call, args, kept.name)
    if args.dry_run:
        return PoliciesResult(name=kept.name, valid=True)
    now, change = await storage.revise_policy(call.vault, call.actor, kept, content, call.session.id)
    return PoliciesResult(name=kept.name, path=now.path, etag=now.etag, change=change, changed=change is not None)


async def _delete(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PoliciesResult:
    from vaults.domain.policies import storage

    if args.etag is not None:
        storage.check_etag(kept, args.etag)
    if args.dry_run:
        return PoliciesResult(name=kept.name, path=kept.path, etag=kept.etag, changed=False)
    if not args.confirmed:
        hint = Advice(tool_clause("history brings it back afterwards", "history restore"))
        raise ConfirmationRequired(f"{kept.name} is only deleted with confirmed: true", hint=hint, etag=kept.etag)
    change = await storage.remove_policy(call.vault, call.actor, kept, call.session.id)
    return PoliciesResult(name=kept.name, path=kept.path, change=change, changed=True)
