"""A tool of another system as a value (``OldTool``), and a ``Toolset`` of them: what clients see, and how a call is put
into calls of ours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from auth.roles import Role
from server.tool_json_schema import simplify_input, to_listed_input
from server.tool_registry import ToolRegistry
from server.tool_spec import CONFIRMED, UNNAMED, Action
from vaults.domain.text.sanitize import to_visible_json

NOT_VALID = "not_valid"
"""The code of arguments that do not fit the old tool: in each of those systems, the protocol tells of that."""


class OurTools(Protocol):
    """Calls tools of ours for a translation, through dispatch."""

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The whole result of a call; arguments that are None are left out. Raises ``OldToolRefusal``."""


class OldToolRefusal(Exception):
    """A call that cannot be served, in our words or theirs; the toolset gives it the shape its users know."""

    def __init__(self, message: str, code: str = "invalid_argument", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details or {}


@dataclass(frozen=True, slots=True)
class OldAnswer:
    """An answer: the object, and the text where it is not that object as JSON."""

    content: dict[str, Any]
    text: str | None = None
    is_error: bool = False


class _OldArguments(BaseModel):
    """Arguments of such a tool. Unknown ones are ignored, as those systems do."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


OldToolFunction = Callable[..., Awaitable[dict[str, Any] | OldAnswer]]


@dataclass(frozen=True)
class OldTool:
    """One tool. ``calls``: by the value of its argument ``action``, or the one that is ``UNNAMED``, the call of ours
    that decides who may: a tool, or a tool and its action."""

    name: str
    description: str
    calls: Mapping[str, str]
    run: OldToolFunction
    hidden: tuple[str, ...] = ()  # arguments of another version of it: taken, not listed

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Of each parameter of ``run`` the argument it takes: ``from_`` takes ``from``."""
        given = inspect.signature(self.run).parameters.values()
        keywords = [each.name for each in given if each.kind is inspect.Parameter.KEYWORD_ONLY]
        return {known: known.removesuffix("_") for known in keywords}

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """What it takes. Made on first use: few processes show a toolset, and a model takes a millisecond."""
        hints, given = get_type_hints(self.run, include_extras=True), inspect.signature(self.run).parameters
        fields: dict[str, Any] = {
            argument: (hints[known], ... if given[known].default is inspect.Parameter.empty else given[known].default)
            for known, argument in self.parameters.items()
        }
        return create_model(self.name, __base__=_OldArguments, **fields)

    def is_there(self, registry: ToolRegistry) -> bool:
        """Whether this server has it: its calls may need a tool of ours that an operator has to ask for."""
        return bool(self._actions(registry))

    def reaches_out(self, registry: ToolRegistry) -> bool:
        """Whether a call of it speaks to another server."""
        ours = (registry.get(call.partition(" ")[0]) for call in self.calls.values())
        return any(each is not None and each.endpoint is not None for each in ours)

    def is_listed(self, registry: ToolRegistry, role: Role, write_mode: str) -> bool:
        """Whether a caller is shown it."""
        return bool(self._open_actions(registry, role, write_mode))

    def is_possible(self, registry: ToolRegistry, role: Role) -> bool:
        """Whether any call of it is open to the role."""
        return bool(self._open_actions(registry, role, "auto"))

    def least_role(self, registry: ToolRegistry) -> Role:
        """Below it, no call of the tool is possible. Of a tool that is there."""
        return min(each.role for each in self._actions(registry).values())

    def writes_for(self, registry: ToolRegistry, role: Role) -> bool:
        """Whether any call ``role`` may make of it writes."""
        return any(each.writes for each in self._open_actions(registry, role, "auto").values())

    def may_ask(self, registry: ToolRegistry, write_mode: str) -> bool:
        """Whether a person may have to agree to a call of it."""
        actions = self._actions(registry).values()
        return any(each.destroys or (write_mode == "ask" and each.writes) for each in actions)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """Everything the tool takes."""
        schema = to_listed_input(simplify_input(self.arguments.model_json_schema()), self.hidden)
        return {key: value for key, value in schema.items() if key not in ("description", "additionalProperties")}

    def input_schema_for(self, registry: ToolRegistry, role: Role, write_mode: str) -> dict[str, Any]:
        """The schema shown to a caller: with the actions it may take and, where a person has to agree, the argument
        that says one did."""
        properties = dict(self.input_schema["properties"])
        if UNNAMED not in self.calls:
            mine = [name for name in self._open_actions(registry, role, write_mode) if name in _values(properties)]
            properties["action"] = {**properties["action"], "enum": mine}
        if write_mode == "ask" and self.writes_for(registry, role) and CONFIRMED not in properties:
            properties[CONFIRMED] = {"type": "boolean"}
        return {**self.input_schema, "properties": properties}

    def _open_actions(self, registry: ToolRegistry, role: Role, write_mode: str) -> dict[str, Action]:
        def is_open(action: Action) -> bool:
            return role >= action.role and not (write_mode == "off" and action.writes)

        return {name: each for name, each in self._actions(registry).items() if is_open(each)}

    def _actions(self, registry: ToolRegistry) -> dict[str, Action]:
        """What each call does, of the calls there are."""
        found = {name: our_action(registry, call) for name, call in self.calls.items()}
        return {name: action for name, action in found.items() if action is not None}


def _values(properties: Mapping[str, Any]) -> list[str]:
    each = properties["action"]
    return list(each.get("enum", [each.get("const")]))


def our_action(registry: ToolRegistry, call: str) -> Action | None:
    """What a call of ours does, named as in ``OldTool.calls``; None where this server has no such tool."""
    tool, _, action = call.partition(" ")
    spec = registry.get(tool)
    return None if spec is None else spec.actions[action]


def old_tool(
    *, calls: str | Mapping[str, str], name: str = "", hidden: tuple[str, ...] = ()
) -> Callable[[OldToolFunction], OldTool]:
    """Make an ``OldTool`` of ``async def name(ask: OurTools, *, argument: …)``. The docstring is what the model
    reads."""

    def make(run: OldToolFunction) -> OldTool:
        return OldTool(
            name=name or run.__name__,
            description=" ".join((inspect.getdoc(run) or "").split()),
            calls={UNNAMED: calls} if isinstance(calls, str) else calls,
            run=run,
            hidden=hidden,
        )

    return make


@dataclass(frozen=True)
class Toolset:
    """The tools of one system. ``to_error`` gives a refusal its shape there; ``to_text`` writes an answer."""

    name: str
    system: str  # as people call it
    published_tokens: int  # of the list it publishes itself, in cl100k: ours costs no more
    instructions: str
    tools: tuple[OldTool, ...]
    to_error: Callable[[OldToolRefusal], OldAnswer]
    to_text: Callable[[Mapping[str, Any]], str] = to_visible_json

    def get(self, name: str) -> OldTool | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, OldTool]:
        return {each.name: each for each in self.tools}

    def visible(self, registry: ToolRegistry, role: Role, write_mode: str) -> list[OldTool]:
        """The tools a caller is shown."""
        return [each for each in self.tools if each.is_listed(registry, role, write_mode)]
