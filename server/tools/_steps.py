"""The tools that steps of a policy may call: those that change notes. Each keeps its own arguments and role, but drafts
its change instead of writing it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import ValidationError

from auth.roles import Role
from server.call import Call
from server.tool_spec import Arguments
from server.tools._notes import warn_of_secrets
from server.tools.notes_files import NoteDeleteArguments, NoteMoveArguments
from server.tools.notes_write import (
    FrontmatterUpdateArguments,
    NoteEditArguments,
    NoteWriteArguments,
    TasksArguments,
    to_edit,
)
from vaults.domain.notes import policy_paths
from vaults.domain.notes.edit import deletions, frontmatter_edits, moves, section_edits, task_changes, whole_notes
from vaults.domain.notes.edit.amendments import Amendment
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.policies.plans import DraftAction, ToolEffect
from vaults.domain.text.validation_messages import simplify
from vaults.errors import Forbidden, InvalidArgument

REFUSED_ARGUMENTS = frozenset(
    {
        "session", "etag", "dry_run", "confirmed", "commit", "keep_conflict", "auto_link", "suggest_links",
        "folder", "tag", "due_after", "due_before", "sort_by", "limit", "cursor", "max_tokens",
    }
)  # fmt: skip
"""Arguments that are the caller's business, or belong to calls that only read."""

TASK_ACTIONS = ("add", "toggle")
"""Actions of the tool tasks that a step may take."""


async def _amend(draft: DraftNotes, amendment: Amendment) -> ToolEffect:
    done = await draft.amend(replace(amendment, auto_link=False))  # a procedure does what is written in it
    changed = done.file.before != done.file.after
    return ToolEffect(done.base.path, changed, (done.base.path,), list(done.warnings))


async def _write(draft: DraftNotes, args: Any) -> ToolEffect:
    asked = whole_notes.WriteRequest(args.path, args.content, args.frontmatter, args.mode, args.template)
    return await _amend(draft, await whole_notes.plan_write(draft, asked))


async def _edit(draft: DraftNotes, args: Any) -> ToolEffect:
    asked = section_edits.EditRequest(args.path, to_edit(args, draft.vault.notes.settings.guardrails), args.format)
    return await _amend(draft, await section_edits.plan_edit(draft, asked))


async def _set(draft: DraftNotes, args: Any) -> ToolEffect:
    asked = frontmatter_edits.FrontmatterRequest(args.path, args.set, args.unset, args.only_if_missing)
    return await _amend(draft, await frontmatter_edits.plan_frontmatter(draft, asked))


async def _task(draft: DraftNotes, args: Any) -> ToolEffect:
    if args.path is None:
        raise InvalidArgument("path", "is needed: the note of the task")
    if args.action == "toggle":
        wanted = task_changes.ToggleRequest(args.path, args.line, args.text, args.status)
        return await _amend(draft, await task_changes.plan_toggle(draft.vault, wanted))
    new = task_changes.NewTask(args.path, args.text or "", args.section, args.due, args.status or "open")
    asked, warnings = task_changes.to_edit_request(new, draft.vault.notes.settings.guardrails)
    done = await _amend(draft, await section_edits.plan_edit(draft, asked))
    done.warnings.extend(warnings)
    return done


async def _move(draft: DraftNotes, args: Any) -> ToolEffect:
    plan = await moves.plan_move(draft, moves.MoveRequest(args.path, args.to, args.update_backlinks))
    for file in plan.files:
        draft.put(file)
    paths = (plan.to, plan.note.path, *(each.path for each in plan.files))
    return ToolEffect(plan.to, bool(plan.files), paths, list(plan.warnings))


async def _delete(draft: DraftNotes, args: Any) -> ToolEffect:
    removal = await deletions.plan_delete(draft, args.path)
    draft.put(removal.file)
    return ToolEffect(removal.note.path, True, (removal.note.path,), list(removal.warnings))


@dataclass(frozen=True, slots=True)
class _StepTool:
    arguments: type[Arguments]
    act: Callable[[DraftNotes, Any], Awaitable[ToolEffect]]


STEP_TOOLS: Mapping[str, _StepTool] = {
    "note_write": _StepTool(NoteWriteArguments, _write),
    "note_edit": _StepTool(NoteEditArguments, _edit),
    "frontmatter_update": _StepTool(FrontmatterUpdateArguments, _set),
    "tasks": _StepTool(TasksArguments, _task),
    "note_move": _StepTool(NoteMoveArguments, _move),
    "note_delete": _StepTool(NoteDeleteArguments, _delete),
}


@dataclass(frozen=True, slots=True)
class StepTools:
    """The tools of steps as one caller may use them. ``role``: the caller's; None where nothing will be written."""

    call: Call
    role: Role | None = None

    def check(self, tool: str, arguments: Mapping[str, Any], later: Set[str]) -> None:
        """Implements ``vaults.domain.policies.plans.PolicyTools``."""
        known = _find_tool(tool)
        _check_names(tool, known.arguments, arguments)
        given = {name: value for name, value in arguments.items() if name not in later}
        try:
            known.arguments.model_validate(given)
        except ValidationError as failure:
            for error in failure.errors(include_url=False, include_context=False, include_input=False):
                if not error["loc"] or error["loc"][0] not in later:
                    raise _invalid_step(tool, error["loc"], error["type"], error["msg"]) from None
        _check_action(tool, given, later)
        _check_place(self.call, given)

    def bound(self, tool: str, arguments: Mapping[str, Any]) -> DraftAction:
        """Implements ``vaults.domain.policies.plans.PolicyTools``."""
        known, spec = _find_tool(tool), self.call.services.registry.get(tool)
        _check_names(tool, known.arguments, arguments)
        _check_action(tool, arguments, frozenset())
        needed = spec.action_of(arguments).role if spec is not None else Role.ADMIN
        if self.role is not None and self.role < needed:
            raise Forbidden(f"{tool} needs the role {needed.name.lower()} in this vault", role=self.role.name.lower())
        args = _validate(tool, known.arguments, arguments)
        return partial(self._run, known, args, arguments)

    async def _run(
        self, known: _StepTool, args: Arguments, arguments: Mapping[str, Any], draft: DraftNotes
    ) -> ToolEffect:
        done = await known.act(draft, args)
        done.warnings.extend(await warn_of_secrets(self.call, arguments))
        return done


def _find_tool(tool: str) -> _StepTool:
    found = STEP_TOOLS.get(tool)
    if found is None:
        raise InvalidArgument(
            "tool", f"{tool[:64]!r} is none a step may call", hint=f"steps call {', '.join(STEP_TOOLS)}"
        )
    return found


def _check_names(tool: str, model: type[Arguments], arguments: Mapping[str, Any]) -> None:
    fields = [name for name in model.model_fields if name not in REFUSED_ARGUMENTS]
    odd = next((name for name in arguments if name not in fields), None)
    if odd is not None:
        raise InvalidArgument(odd[:64], f"is no argument of {tool} in a step", hint=f"it takes {', '.join(fields)}")


def _check_action(tool: str, arguments: Mapping[str, Any], later: Set[str]) -> None:
    if tool == "tasks" and "action" not in later and arguments.get("action") not in TASK_ACTIONS:
        raise InvalidArgument("action", f"must be {' or '.join(TASK_ACTIONS)} in a step")


def _check_place(call: Call, arguments: Mapping[str, Any]) -> None:
    folder = call.vault.notes.settings.policies
    for name in ("path", "to"):
        path = arguments.get(name)
        if isinstance(path, str) and policy_paths.is_in_folder(folder, path):
            raise InvalidArgument(name, "lies in the folder of policies, where no policy writes")


def _validate(tool: str, model: type[Arguments], arguments: Mapping[str, Any]) -> Arguments:
    """The arguments, validated. A template that is one ``{{ value }}`` keeps the value's type, so a number or truth
    value is written out where the tool wants text."""
    try:
        return model.model_validate(arguments)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_context=False, include_input=False)
    texts = {str(each["loc"][0]) for each in errors if each["type"] == "string_type" and len(each["loc"]) == 1}
    written = {name: _to_text(value) if name in texts else value for name, value in arguments.items()}
    try:
        return model.model_validate(written)
    except ValidationError as failure:
        error = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _invalid_step(tool, error["loc"], error["type"], error["msg"]) from None


def _to_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _invalid_step(tool: str, where: tuple[int | str, ...], kind: str, message: str) -> InvalidArgument:
    if kind == "missing":
        return InvalidArgument(str(where[0])[:64], f"is required by {tool}")
    return InvalidArgument(".".join(map(str, where))[:200] or tool, simplify(message))
