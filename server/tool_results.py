"""Results of tools whose actions answer different things: here a union of dataclasses, for clients one object that has
any of their fields.

Such a union is ``Annotated`` with what clients are told of it and, where not all fields are sent in the order of the
members, with the names of those that are.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

Declared = tuple[Any, Field[Any]]
"""The type of a field, and the field."""


def to_wire_type(result: Any) -> type:
    """The dataclass that is sent for a result: what a member of a union lacks is None there, or a default of others.
    Raises ``TypeError`` where members call different things by one name."""
    if get_origin(result) is not Annotated:
        return cast("type", result)
    union, description, *sent = get_args(result)
    declared = [_declared(member) for member in get_args(union)]
    names = sent[0].split() if sent else dict.fromkeys(name for each in declared for name in each)
    joined = [(name, *_join(name, [each.get(name) for each in declared])) for name in names]
    return make_dataclass("WireResult", joined, namespace={"__doc__": description}, kw_only=True, slots=True)


def _declared(member: type) -> dict[str, Declared]:
    types = get_type_hints(member, include_extras=True)
    return {each.name: (types[each.name], each) for each in fields(member)}


def _join(name: str, declared: list[Declared | None]) -> tuple[Any, Any]:
    several = [each for each in declared if each is not None]
    kinds = {kind | None for kind, _ in several}
    if len(kinds) != 1:
        raise TypeError(f"{name} is of several types: {kinds}")
    for kind, each in several:
        if each.default_factory is not MISSING:
            return kind, field(default_factory=each.default_factory)
        if each.default not in (MISSING, None):
            return kind, field(default=each.default)
    return (kinds.pop(), field(default=None)) if None in declared else (several[0][0], field())


def to_wire(wire: type, result: Any) -> Any:
    """A result as the dataclass that is sent: with what it has of that, be it a field or a property."""
    if isinstance(result, wire):
        return result
    return wire(**{each.name: getattr(result, each.name) for each in fields(wire) if hasattr(result, each.name)})
