"""Written procedures of a vault: seen, tried, run, and written by those who may."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import LOOKS, Action, Effect, tool
from server.tools._policies import (
    PoliciesArguments,
    PoliciesResult,
    PolicyEdit,
    PolicyEntry,
    PolicyList,
    PolicyText,
    PolicyVariable,
    PolicyVerdict,
    policies_entry,
    policies_head,
)
from vaults.advice import Advice, tool_clause
from vaults.context import run_in
from vaults.domain.notes import policy_paths
from vaults.domain.notes.edit import moves
from vaults.domain.policies.results import PolicyRunRequest, PolicyRunResult
from vaults.errors import ConfirmationRequired, InvalidArgument

if TYPE_CHECKING:
    from server.tools._steps import StepTools
    from vaults.domain.policies.definitions import Policy
    from vaults.domain.policies.plans import PolicyPlan
    from vaults.domain.policies.storage import ListedPolicy, StoredPolicy


RUNNING = Action(Role.WRITER, "run a written procedure, which changes notes and may delete some")


@tool(
    role=Role.WRITER,
    head=policies_head,
    effect=Effect(destructive=True, idempotent=False),
    preset="notes",
    actions={
        "list": LOOKS,
        "show": LOOKS,
        "validate": LOOKS,
        "preview": LOOKS,
        # It deletes notes only where it is told that somebody agreed: without that it is refused by name.
        "execute": replace(RUNNING, instead={("confirmed", True): replace(RUNNING, destroys=True)}),
        "author": Action(Role.ADMIN, "write a new procedure that agents may run"),
        "revise": Action(Role.ADMIN, "change a procedure that agents may run"),
        "delete": Action(Role.ADMIN, "delete a written procedure", destroys=True),
    },
    activity_entry=policies_entry,
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
        return PolicyText(kept.name, kept.path, kept.data.decode("utf-8", "replace"), kept.etag)
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


async def _list(call: Call) -> PolicyList:
    from vaults.domain.policies import storage

    return PolicyList([_to_entry(each) for each in await storage.list_policies(call.vault, _step_tools(call))])


def _to_entry(listed: ListedPolicy) -> PolicyEntry:
    policy = listed.policy
    if policy is None:
        return PolicyEntry(listed.name, listed.path, problem=listed.problem)
    steps = [step.tool for step in policy.steps]
    return PolicyEntry(listed.name, listed.path, policy.description, _variables_of(policy), steps)


def _variables_of(policy: Policy) -> list[PolicyVariable]:
    return [
        PolicyVariable(
            name=name,
            type=each.type,
            required=each.required,
            description=each.description,
            default=each.default,
            values=each.values,
        )
        for name, each in policy.variables.items()
    ]


async def _validate(call: Call, args: PoliciesArguments) -> PolicyVerdict:
    kept = await _open_policy(call, args) if args.content is None else None
    data = kept.data if kept is not None else (args.content or "").encode()
    try:
        plan = await _plan(call, data, args.name)
    except InvalidArgument as failure:
        hint = f" ({failure.hint})" if failure.hint else ""
        problem = failure.message.removeprefix("Validation error: ") + hint
        return PolicyVerdict(args.name, False, problem)
    return PolicyVerdict(plan.policy.name, True)


async def _plan(call: Call, data: bytes, name: str | None) -> PolicyPlan:
    from vaults.domain.policies import storage

    return await run_in(call.vault.shared.pool, storage.plan_from_bytes, data, name, _step_tools(call))


async def _run(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PolicyRunResult:
    from vaults.domain.policies import runner

    plan = await _plan(call, kept.data, kept.name)
    only_shown = args.dry_run or args.action == "preview"
    if not only_shown:
        await store_quota(call).check_size()
    if call.vault.lease.held and any(step.tool == "note_move" for step in plan.policy.steps):
        await call.vault.notes.wait_for_index(moves.INDEX_WAIT_S)  # links of notes that nobody has read cannot follow
    order = PolicyRunRequest(args.variables, only_shown, args.confirmed, call.session.id)
    return await runner.run_policy(call.vault, call.actor, plan, order, _step_tools(call, writing=not only_shown))


async def _check_content(call: Call, args: PoliciesArguments, name: str) -> str:
    """The text of a policy that may be saved under a name."""
    if args.content is None:
        raise InvalidArgument("content", "is needed: the policy as YAML")
    await store_quota(call).check_size()
    await _plan(call, args.content.encode(), name)
    return args.content


async def _author(call: Call, args: PoliciesArguments) -> PolicyVerdict | PolicyEdit:
    from vaults.domain.policies import storage

    name = _require_name(args)
    policy_paths.check_name(name)
    content = await _check_content(call, args, name)
    if args.dry_run:
        return PolicyVerdict(name, True)
    kept, change = await storage.add_policy(call.vault, call.actor, name, content, call.session.id)
    return PolicyEdit(name, kept.path, kept.etag, change, True)


async def _revise(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PolicyVerdict | PolicyEdit:
    from vaults.domain.policies import storage

    storage.check_etag(kept, args.etag)
    content = await _check_content(call, args, kept.name)
    if args.dry_run:
        return PolicyVerdict(kept.name, True)
    now, change = await storage.revise_policy(call.vault, call.actor, kept, content, call.session.id)
    return PolicyEdit(kept.name, now.path, now.etag, change, change is not None)


async def _delete(call: Call, args: PoliciesArguments, kept: StoredPolicy) -> PolicyEdit:
    from vaults.domain.policies import storage

    if args.etag is not None:
        storage.check_etag(kept, args.etag)
    if args.dry_run:
        return PolicyEdit(kept.name, kept.path, kept.etag, None, False)
    if not args.confirmed:
        hint = Advice(tool_clause("history brings it back afterwards", "history restore"))
        raise ConfirmationRequired(f"{kept.name} is only deleted with confirmed: true", hint=hint, etag=kept.etag)
    change = await storage.remove_policy(call.vault, call.actor, kept, call.session.id)
    return PolicyEdit(kept.name, kept.path, None, change, True)
