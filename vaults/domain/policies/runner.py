"""Running a policy: all of it or nothing, as one change that ``history`` undoes as one.

Each step changes a draft of the notes and reads what those before it drafted. Files are only touched after the last
step, by one ``commit``: a failing step leaves nothing to roll back, and a kill leaves all of it or none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.notes import policy_paths
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.policies import lookups, variables
from vaults.domain.policies.definitions import MAX_RUNS, CollectSpec, Condition, fill_lookup
from vaults.domain.policies.plans import PolicyPlan, PolicyTools, ToolEffect, step_place
from vaults.domain.policies.results import PolicyRunRequest, PolicyRunResult, StepResult
from vaults.errors import AlreadyExists, ConfirmationRequired, Conflict, InvalidArgument, StrongroomError, Timeout
from vaults.vault import Vault

TOOL = "policies"

MAX_SECONDS = 10.0
"""Max seconds for drafting: all other writers of notes wait meanwhile."""

MAX_NAMED = 20
"""Max notes that an error names."""


async def run_policy(
    vault: Vault, actor: Actor, plan: PolicyPlan, request: PolicyRunRequest, tools: PolicyTools
) -> PolicyRunResult:
    """Run a policy, or only show what it would change. If another program saves one of the notes meanwhile, everything
    is retried once. Raises ``InvalidArgument`` for a variable, the error of a failing step with its name, ``Conflict``,
    ``ConfirmationRequired`` if notes would be deleted: then nothing is changed."""
    if request.dry_run:
        drafted = await _draft_steps(vault, actor, plan, request, tools)
        diff = await run_in(vault.shared.pool, diff_files, drafted.draft.files)
        return drafted.to_result(plan, changed=False, diff=diff)
    async with vault.notes.writing():
        try:
            return await _run_once(vault, actor, plan, request, tools)
        except _SavedMeanwhile:
            pass
        try:
            return await _run_once(vault, actor, plan, request, tools)
        except _SavedMeanwhile as failure:
            raise failure.conflict from None


class _SavedMeanwhile(Exception):
    """Another program saved one of the notes while the policy was running."""

    def __init__(self, conflict: StrongroomError) -> None:
        super().__init__(conflict.code)
        self.conflict = conflict


@dataclass(frozen=True, slots=True)
class _DraftedRun:
    draft: DraftNotes
    steps: list[StepResult]
    summary: str | None

    def to_result(
        self, plan: PolicyPlan, *, changed: bool, change: str | None = None, diff: str | None = None
    ) -> PolicyRunResult:
        paths = [each.target for each in self.draft.files]
        return PolicyRunResult(
            name=plan.policy.name,
            changed=changed,
            steps=self.steps,
            paths=paths,
            summary=self.summary,
            change=change,
            diff=diff,
        )


async def _run_once(
    vault: Vault, actor: Actor, plan: PolicyPlan, request: PolicyRunRequest, tools: PolicyTools
) -> PolicyRunResult:
    drafted = await _draft_steps(vault, actor, plan, request, tools)
    files = drafted.draft.files
    if not files:
        return drafted.to_result(plan, changed=False)
    gone = [each.path for each in files if each.after is None]
    if gone and not request.confirmed:
        raise ConfirmationRequired(
            f"{plan.policy.name} deletes {len(gone)} of the notes: only with confirmed: true",
            hint="preview shows what would be lost",
            paths=gone[:MAX_NAMED],
        )
    try:
        done = await commit(
            vault, actor, NoteChange(TOOL, f"ran the policy {plan.policy.name}", files, request.session)
        )
    except (Conflict, AlreadyExists) as failure:
        raise _SavedMeanwhile(failure) from failure
    return drafted.to_result(plan, changed=True, change=done.id)


async def _draft_steps(
    vault: Vault, actor: Actor, plan: PolicyPlan, request: PolicyRunRequest, tools: PolicyTools
) -> _DraftedRun:
    draft = DraftNotes(vault)
    try:
        async with asyncio.timeout(MAX_SECONDS):
            running = _StepRunner(plan, draft, tools, await _initial_values(draft, actor, plan, request))
            await running.all()
            return _DraftedRun(draft, running.did, await running.summary())
    except TimeoutError:
        raise Timeout(
            f"the policy took longer than {MAX_SECONDS:g} s; nothing was changed", hint="split it up"
        ) from None


async def _initial_values(
    draft: DraftNotes, actor: Actor, plan: PolicyPlan, request: PolicyRunRequest
) -> dict[str, Any]:
    """The values that templates can use before the first step."""
    vault, policy = draft.vault, plan.policy
    now = datetime.now(UTC).astimezone()
    known: dict[str, Any] = {
        "today": now.date().isoformat(),
        "now": now.isoformat(timespec="seconds"),
        "caller": actor.name,
        "vault": vault.name,
    }
    known |= await run_in(vault.shared.pool, variables.resolve_variables, policy, request.given, known)
    found: dict[str, Any] = {}
    for name, wanted in policy.collect.items():
        place = f"collect.{name}"
        look = fill_lookup(CollectSpec, plan.fill(_lookup_values(wanted), place, known), place)
        found[name] = await _naming_place(place, lookups.collect(draft, look))
    return {**known, **found, "steps": {}}


def _lookup_values(look: Condition | CollectSpec) -> dict[str, Any]:
    return look.model_dump(by_alias=True, exclude_none=True)


async def _naming_place(place: str, work: Awaitable[Any]) -> Any:
    try:
        return await work
    except StrongroomError as failure:
        failure.message = f"{place}: {failure.message}; nothing was changed"
        raise


class _StepRunner:
    """One run of the steps, over one draft."""

    def __init__(self, plan: PolicyPlan, draft: DraftNotes, tools: PolicyTools, values: dict[str, Any]) -> None:
        self.did: list[StepResult] = []
        self._plan = plan
        self._draft = draft
        self._tools = tools
        self._values = values
        self._held: dict[str, bool] = {}
        self._calls = 0

    async def all(self) -> None:
        """Draft every step."""
        steps = self._plan.policy.steps
        for number, step in enumerate(steps):
            try:
                did = await self._step(number)
            except StrongroomError as failure:
                failure.message = (
                    f"step {number + 1} of {len(steps)} ({step.id}): {failure.message}; nothing was changed"
                )
                failure.details["step"] = step.id
                raise
            self.did.append(did)
            self._values["steps"][step.id] = {"path": did.path, "changed": did.changed, "times": did.times or 0}

    async def summary(self) -> str | None:
        """The policy's own summary of what it did."""
        output = self._plan.policy.output
        return str(await self._fill(output.summary, "output.summary", {})) if output else None

    async def _step(self, number: int) -> StepResult:
        step = self._plan.policy.steps[number]
        stopped = await self._find_unmet(step.when)
        if stopped is not None:
            return StepResult(step.id, step.tool, changed=False, skipped=stopped)
        if step.each is None:
            done = await self._call(number, {})
            return StepResult(step.id, step.tool, done.changed, done.path, warnings=done.warnings)
        items = self._values[step.each]
        results = [
            await self._call(number, {"item": item, "index": at})
            for at, item in enumerate(items if isinstance(items, list) else [], start=1)
        ]
        warnings = list(dict.fromkeys(warning for done in results for warning in done.warnings))
        path = results[-1].path if results else None
        changed = any(done.changed for done in results)
        return StepResult(step.id, step.tool, changed, path, times=len(results), warnings=warnings)

    async def _find_unmet(self, when: list[str]) -> str | None:
        """The first condition that is not met. Each is evaluated when first needed, on the notes on disk, so that no
        step changes any."""
        for each in when:
            name = each.removeprefix("not ").strip()
            if name in self._plan.policy.variables:
                self._held[name] = self._values[name] is True
            elif name not in self._held:
                wanted, place = self._plan.policy.conditions[name], f"conditions.{name}"
                look = fill_lookup(Condition, self._plan.fill(_lookup_values(wanted), place, self._values), place)
                self._held[name] = await lookups.is_condition_met(DraftNotes(self._draft.vault), look)
            if self._held[name] == each.startswith("not "):
                return each
        return None

    async def _call(self, number: int, own: Mapping[str, Any]) -> ToolEffect:
        self._calls += 1
        if self._calls > MAX_RUNS:
            raise InvalidArgument("steps", f"come to more than {MAX_RUNS} calls")
        step = self._plan.policy.steps[number]
        arguments = await self._fill(step.args, f"{step_place(self._plan.policy, number)}.args", own)
        done = await self._tools.bound(step.tool, arguments)(self._draft)
        folder = self._draft.vault.notes.settings.policies
        if any(policy_paths.is_in_folder(folder, path) for path in done.paths):
            raise InvalidArgument("path", "lies in the folder of policies, where no policy writes")
        return done

    async def _fill(self, value: Any, place: str, own: Mapping[str, Any]) -> Any:
        values = {**self._values, **own}
        return await run_in(self._draft.vault.shared.pool, self._plan.fill, value, place, values)
