"""Checking a caller's values for a policy's variables, and filling in defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from vaults.domain.policies.definitions import MAX_ITEMS, MAX_TEXT, Policy, Variable
from vaults.domain.policies.templates import CompiledTemplate, compile_template, is_template
from vaults.errors import InvalidArgument

MAX_INPUT = 200_000
"""Max characters of all values together."""


def order_defaults(policy: Policy) -> dict[str, CompiledTemplate]:
    """The defaults that are templates, in order of dependency. Raises ``InvalidArgument`` for a cycle."""
    found = {
        name: compile_template(each.default, f"variables.{name}.default")
        for name, each in policy.variables.items()
        if isinstance(each.default, str) and is_template(each.default)
    }
    sorter = TopologicalSorter({name: sorted(each.names & found.keys()) for name, each in found.items()})
    try:
        return {name: found[name] for name in sorter.static_order()}
    except CycleError as failure:
        circle = " → ".join(failure.args[1])
        raise InvalidArgument("variables", f"have defaults that go in a circle: {circle}") from None


def check_defaults(policy: Policy) -> None:
    """Raise ``InvalidArgument`` for a default that is not valid for its variable."""
    for name, each in policy.variables.items():
        if each.default is not None and not (isinstance(each.default, str) and is_template(each.default)):
            check_variable(each, each.default, f"variables.{name}.default")


def resolve_variables(policy: Policy, given: Mapping[str, Any], built_in: Mapping[str, Any]) -> dict[str, Any]:
    """Every variable with its value, None if it has none. Raises ``InvalidArgument``."""
    unknown = next((name for name in given if name not in policy.variables), None)
    if unknown is not None:
        known = ", ".join(policy.variables) or "none"
        raise InvalidArgument(f"variables.{unknown[:64]}", "is none of this policy", hint=f"it has: {known}")
    values: dict[str, Any] = {}
    for name, each in policy.variables.items():
        if given.get(name) is not None:
            values[name] = check_variable(each, given[name], f"variables.{name}")
        elif each.required:
            raise InvalidArgument(f"variables.{name}", "is required", hint=each.description or None)
        else:
            values[name] = each.default
    for name, template in order_defaults(policy).items():
        if given.get(name) is None:
            filled = template.render({**built_in, **values})
            values[name] = None if filled is None else check_variable(policy.variables[name], filled, template.place)
    if sum(_size(each) for each in values.values()) > MAX_INPUT:
        raise InvalidArgument("variables", f"have more than {MAX_INPUT:,} characters together")
    return values


def check_variable(variable: Variable, value: Any, place: str) -> Any:
    """Return the value if it is valid for the variable. Raises ``InvalidArgument`` otherwise."""
    reason = _REASONS[variable.type](variable, value)
    if reason is not None:
        raise InvalidArgument(place, reason)
    return value


def _string(variable: Variable, value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "must be valid Unicode"
    if "\0" in value:
        return "must not hold NUL"
    most = MAX_TEXT if variable.max is None else min(variable.max, MAX_TEXT)
    return _bounds_problem(len(value), variable.min, most, "characters")


def _number(variable: Variable, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -(2**53) <= value <= 2**53:
        return "must be a number"
    return _bounds_problem(value, variable.min, variable.max, "")


def _boolean(_: Variable, value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _enum(variable: Variable, value: Any) -> str | None:
    values = variable.values or []
    return None if value in values and isinstance(value, str) else f"must be one of {', '.join(values)[:500]}"


def _array(variable: Variable, value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list"
    most = MAX_ITEMS if variable.max is None else min(variable.max, MAX_ITEMS)
    reason = _bounds_problem(len(value), variable.min, most, "items")
    return reason or next((problem for each in value if (problem := _item(each)) is not None), None)


def _item(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _number(_ITEM, value)
    return _string(_ITEM, value)


_ITEM = Variable(type="string")

_REASONS = {"string": _string, "number": _number, "boolean": _boolean, "enum": _enum, "array": _array}


def _bounds_problem(size: float, least: float | None, most: float | None, of: str) -> str | None:
    if least is not None and size < least:
        return f"must be at least {least:g} {of}".rstrip()
    if most is not None and size > most:
        return f"must be at most {most:g} {of}".rstrip()
    return None


def _size(value: object) -> int:
    if isinstance(value, list):
        return sum(_size(each) + 1 for each in value)
    return len(value) if isinstance(value, str) else 8
