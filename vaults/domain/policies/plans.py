"""Validating a policy before it runs: its templates, conditions and tool calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.policies import variables
from vaults.domain.policies.definitions import BUILT_IN, Policy, Step
from vaults.domain.policies.templates import CompiledTemplate, compile_template, is_template
from vaults.errors import InvalidArgument

_ALWAYS_KNOWN = frozenset(BUILT_IN) - {"steps", "item", "index"}

MAX_TEMPLATES = 300
"""Max templates of a policy."""

STEP_PARTS = ("path", "changed", "times")
"""The attributes of a step that later templates may read."""


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """What one tool call did to a draft. ``paths``: notes it changed, its main one first."""

    path: str
    changed: bool
    paths: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)


DraftAction = Callable[[DraftNotes], Awaitable[ToolEffect]]
"""A tool call with checked arguments that drafts instead of writing."""


class PolicyTools(Protocol):
    """The tools that steps may call, with the caller's permissions."""

    def check(self, tool: str, arguments: Mapping[str, Any], later: Set[str]) -> None:
        """Raise ``InvalidArgument`` for a tool or arguments not allowed in a step. ``later``: arguments whose values
        are not known yet."""

    def bound(self, tool: str, arguments: Mapping[str, Any]) -> DraftAction:
        """Prepare a call. Raises ``InvalidArgument``, ``Forbidden``."""


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """A validated policy, with its templates by place."""

    policy: Policy
    templates: Mapping[str, CompiledTemplate]

    def fill(self, value: Any, place: str, values: Mapping[str, Any]) -> Any:
        """Fill in every template in a value of the policy. Blocking for long ones."""
        if isinstance(value, str):
            template = self.templates.get(place)
            return value if template is None else template.render(values)
        if isinstance(value, dict):
            return {key: self.fill(each, f"{place}.{key}", values) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each, f"{place}.{at}", values) for at, each in enumerate(value, start=1)]
        return value


def make_plan(policy: Policy, tools: PolicyTools) -> PolicyPlan:
    """Check a policy as far as possible without its variables' values. Blocking for milliseconds. Raises
    ``InvalidArgument`` that names the place."""
    variables.check_defaults(policy)
    _check_ids(policy)
    templates: dict[str, CompiledTemplate] = {}
    for place, text, known in _find_templates(policy):
        if is_template(text):
            if len(templates) == MAX_TEMPLATES:
                raise InvalidArgument(place, f"is one template too many: {MAX_TEMPLATES} is the most")
            templates[place] = compile_template(text, place)
            _check_names(templates[place], known)
    variables.order_defaults(policy)
    for number, step in enumerate(policy.steps):
        _check_step(policy, number, templates)
        place = step_place(policy, number)
        later = {at.removeprefix(f"{place}.args.").partition(".")[0] for at in templates if at.startswith(f"{place}.")}
        _naming_place(place, lambda step=step, later=later: tools.check(step.tool, step.args, later))  # type: ignore[misc]
    return PolicyPlan(policy, templates)


def step_place(policy: Policy, number: int) -> str:
    """The name of a step in messages."""
    return f"steps.{policy.steps[number].id}"


def _check_ids(policy: Policy) -> None:
    seen: set[str] = set()
    for step in policy.steps:
        if step.id in seen:
            raise InvalidArgument(f"steps.{step.id}", "stands there twice: each step has an id of its own")
        seen.add(step.id)
    for section, names in (("collect", policy.collect), ("conditions", policy.conditions)):
        twice = next((name for name in names if name in policy.variables), None)
        if twice is not None:
            raise InvalidArgument(f"{section}.{twice}", "is the name of a variable, too")


def _find_templates(policy: Policy) -> Iterator[tuple[str, str, Set[str]]]:
    """Every text that may be a template, with its place and the names it may use."""
    given = _ALWAYS_KNOWN | policy.variables.keys()
    for name, variable in policy.variables.items():
        if isinstance(variable.default, str):
            yield f"variables.{name}.default", variable.default, given
    looks = policy.model_dump(include={"conditions", "collect"}, by_alias=True, exclude_none=True)
    for section, values in looks.items():
        yield from ((place, text, given) for place, text in _iter_strings(values, section))
    for number, step in enumerate(policy.steps):
        own = {"item", "index"} if step.each is not None else set()
        for place, text in _iter_strings(step.args, f"{step_place(policy, number)}.args"):
            yield place, text, given | policy.collect.keys() | {"steps"} | own
    if policy.output is not None:
        yield "output.summary", policy.output.summary, given | policy.collect.keys() | {"steps"}


def _iter_strings(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _iter_strings(each, f"{place}.{key}")
    elif isinstance(value, list):
        for at, each in enumerate(value, start=1):
            yield from _iter_strings(each, f"{place}.{at}")


def _check_names(template: CompiledTemplate, known: Set[str]) -> None:
    unknown = sorted(template.names - known)
    if unknown:
        hint = f"it may name: {', '.join(sorted(known))[:500]}"
        raise InvalidArgument(template.place, f"names {unknown[0][:64]}, which nothing here is called", hint=hint)


def _check_step(policy: Policy, number: int, templates: Mapping[str, CompiledTemplate]) -> None:
    """Check that everything a step refers to exists and comes before it."""
    step, place = policy.steps[number], step_place(policy, number)
    known = [*policy.conditions, *(name for name, each in policy.variables.items() if each.type == "boolean")]
    if any(each.removeprefix("not ").strip() not in known for each in step.when):
        hint = f"it has: {', '.join(known) or 'none'}"
        raise InvalidArgument(f"{place}.when", "names no condition of this policy, nor a boolean variable", hint=hint)
    if step.each is not None and not _is_list(policy, step):
        raise InvalidArgument(f"{place}.each", "must be an array among the variables, or something collected")
    before = {step.id for step in policy.steps[:number]}
    for at, template in templates.items():
        if at.startswith(f"{place}."):
            _check_parts(template, before)
        elif at == "output.summary":
            _check_parts(template, {step.id for step in policy.steps})


def _is_list(policy: Policy, step: Step) -> bool:
    variable, collected = policy.variables.get(step.each or ""), policy.collect.get(step.each or "")
    return (variable is not None and variable.type == "array") or (
        collected is not None and (collected.tasks is not None or collected.property is not None)
    )


def _check_parts(template: CompiledTemplate, before: Set[str]) -> None:
    for name, part in template.parts:
        if name == "steps" and part not in before:
            hint = f"of a step it may read {', '.join(STEP_PARTS)}"
            raise InvalidArgument(template.place, f"names steps.{part}, which is no step before it", hint=hint)


def _naming_place(place: str, check: Callable[[], None]) -> None:
    try:
        check()
    except InvalidArgument as failure:
        reason = failure.message.removeprefix("Validation error: ")
        raise InvalidArgument(f"{place}:", reason, hint=failure.hint) from None
