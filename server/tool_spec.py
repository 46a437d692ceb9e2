"""A tool is a value (``ToolSpec``): everything about tools elsewhere is a loop over these."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar, Unpack, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from auth.roles import Role
from server.tool_json_schema import drop_required, inline_definitions, simplify_input, to_listed_input
from server.tool_results import to_wire_type
from vaults.activity_log.entries import ActivityEntry

if TYPE_CHECKING:
    from server.rendering.plain_text import TextAnswer

Preset = Literal["agent", "notes", "full"]
PRESETS: tuple[Preset, ...] = ("agent", "notes", "full")


TOOLSETS = ("moltmind", "mempack", "local-recall", "flywheel", "nano-brain")
"""Views that show the tools of another system instead of these, under their own names."""


def is_in_preset(least: Preset, preset: str) -> bool:
    """Whether a preset shows what needs ``least``. An unknown one shows what the smallest does, a toolset nothing."""
    return preset not in TOOLSETS and PRESETS.index(least) <= (PRESETS.index(preset) if preset in PRESETS else 0)


@dataclass(frozen=True, slots=True)
class Effect:
    """What calls of a tool may leave behind, sent to clients as hints."""

    destructive: bool = False
    idempotent: bool = True  # repeating a call changes nothing more


REPEATABLE = Effect()
EDITS = Effect(idempotent=False)
REMOVES = Effect(destructive=True)


@dataclass(frozen=True, slots=True)
class Action:
    """What a call does: who may, and whether a person has to agree to it."""

    role: Role  # the least that may
    summary: str = ""  # what it would do, as the words after "wants to"; without them it only reads
    destroys: bool = False  # whether a person is asked in any write mode, unless the vault lets such calls pass
    dry_run: bool = True  # whether the argument of that name, where the tool has it, holds it back
    # what it does instead where an argument has a value, such as ("purge", True)
    instead: Mapping[tuple[str, bool], Action] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        return bool(self.summary)


LOOKS = Action(Role.READER)
"""What anyone may do."""

UNNAMED = ""
"""The one action of a tool whose calls name none."""

CONFIRMED = "confirmed"
"""The argument that says a person agreed; every writing tool takes it. A tool that needs the answer itself declares it
among its own arguments."""

OLD_CONFIRMED = "confirm"
"""The former name of that argument, which such a tool still takes."""


def no_activity_entry(args: object, result: object) -> None:
    """For calls about which the activity log records no more than the tool's name."""


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A resource that shows what an answer is about: pictures are sent as links, not as text."""

    uri: str
    name: str
    mime_type: str

    def as_block(self) -> dict[str, str]:
        """The content block of MCP."""
        return {"type": "resource_link", "uri": self.uri, "name": self.name, "mimeType": self.mime_type}


def no_links(args: object, result: object) -> Sequence[ResourceLink]:  # noqa: ARG001  for most tools
    """An answer that points to no resource."""
    return ()


A = TypeVar("A", bound="Arguments")
R = TypeVar("R")


MaxTokens = Annotated[int, Field(ge=50, le=100_000, description="tokens of the answer at most")]


class Arguments(BaseModel):
    """Base of every tool's arguments: unknown ones and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    session: str | None = Field(default=None, max_length=200, description="session handle")
    max_tokens: MaxTokens = 2000

    def token_budget(self) -> int:
        """Max tokens of the answer's text, and of its JSON."""
        return self.max_tokens


COMMON_ARGUMENTS = ("session", "max_tokens")
"""Arguments every tool takes: the instructions name them once, so the listings leave them out."""


@dataclass(frozen=True)
class ToolSpec:
    """One tool: what clients see of it, who may call it, and how to run it and render its result."""

    name: str
    description: str
    group: str
    role: Role  # what its purpose needs; an action may need less, or more
    effect: Effect
    actions: Mapping[str, Action]  # by the value of the argument ``action``, or the one that is ``UNNAMED``
    preset: Preset  # the smallest preset that lists it
    arguments: type[Arguments]
    result: Any  # a dataclass, or a union of those of its actions, ``Annotated`` with what clients are told of it
    run: Callable[[Any, Any], Awaitable[Any]]
    # the text of a result, for clients that show their model no JSON; None: the JSON, line by line
    render: Callable[[Any], str | TextAnswer] | None = None
    head: Callable[[Any], str] | None = None  # the sentence above that JSON
    # the JSON that connector clients expect as the text of this call; None for other calls
    connector: Callable[[Any, Any], dict[str, Any] | None] | None = None
    links: Callable[[Any, Any], Sequence[ResourceLink]] = no_links  # resources that show more of a result
    hidden_args: tuple[str, ...] = ()  # taken but not shown in the preset agent
    # the setting with the address of the server it speaks to: where that is not set, there is no such tool
    endpoint: str | None = None
    # what the activity log records of a successful call
    activity_entry: Callable[[Any, Any], ActivityEntry | None] = no_activity_entry

    @property
    def least_role(self) -> Role:
        """Below it, no call of the tool is possible."""
        return min(each.role for each in self.actions.values())

    @property
    def writes(self) -> bool:
        """Whether it is for writing, or has an action that is."""
        return any(each.writes for each in self.actions.values())

    def writes_for(self, role: Role) -> bool:
        """Whether any call ``role`` may make of it writes."""
        return any(each.writes and role >= each.role for each in self._possible)

    @cached_property
    def _possible(self) -> list[Action]:
        return [one for each in self.actions.values() for one in (each, *each.instead.values())]

    def action_of(self, arguments: Mapping[str, Any]) -> Action:
        """What this call does. An action that does not exist is refused later, by name: whoever may take any may hear
        that."""
        name = UNNAMED
        if UNNAMED not in self.actions:
            name = arguments.get("action", self.arguments.model_fields["action"].default)
        action = self.actions.get(name) if isinstance(name, str) else None
        if action is None:  # of a tool for writing, it counts as a write
            return Action(self.least_role, f"use {self.name}" if self.role > Role.READER else "")
        return next((other for (flag, value), other in action.instead.items() if arguments.get(flag) is value), action)

    def is_dry_run(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this call shows what it would write, and writes nothing."""
        known = self.arguments.model_fields.get("dry_run")
        held_back = known is not None and arguments.get("dry_run", known.default) is True
        return held_back and self.action_of(arguments).dry_run

    def actions_for(self, role: Role, write_mode: str = "auto") -> list[str]:
        """The names of the actions a caller may take."""
        return [
            name
            for name, each in self.actions.items()
            if name != UNNAMED and role >= each.role and not (write_mode == "off" and each.writes)
        ]

    def is_listed(self, role: Role, preset: str, write_mode: str) -> bool:
        """Whether a caller is shown it. Where writing is off, only if there is something to read."""
        if write_mode == "off" and all(each.writes for each in self.actions.values()):
            return False
        return role >= self.least_role and is_in_preset(self.preset, preset)

    @cached_property
    def pages(self) -> bool:
        """Whether its result says where the next page begins, so that nothing may be cut from it silently."""
        return bool({"cursor", "next_line"} & {each.name for each in fields(self.wire_type)})

    @cached_property
    def shows_budget(self) -> bool:
        """Whether a listing shows ``max_tokens``: only where the tool declares its own."""
        own = self.arguments.__mro__[: self.arguments.__mro__.index(Arguments)]
        return any("max_tokens" in vars(each).get("__annotations__", {}) for each in own)

    @cached_property
    def wire_type(self) -> type:
        """The dataclass that is sent for a result."""
        return to_wire_type(self.result)

    @cached_property
    def output(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.wire_type)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The schema of a result. Nothing is required: empty and default values, and what exceeds the budget, are left
        out."""
        return drop_required(inline_definitions(self.output.json_schema(mode="validation")))

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """Everything the tool takes."""
        schema = simplify_input(self.arguments.model_json_schema())
        return {key: value for key, value in schema.items() if key != "description"}  # ours, not the model's

    def input_schema_for(self, role: Role, preset: str = "full", write_mode: str = "auto") -> dict[str, Any]:
        """The schema shown to ``role``: only the actions it may take and, where a person may have to agree, the
        argument that says one did. ``session`` is common to all tools and named once, in the instructions."""
        taken_by_all = COMMON_ARGUMENTS[:1] if self.shows_budget else COMMON_ARGUMENTS
        schema = to_listed_input(self.input_schema, {*taken_by_all, *self.hidden_args_in(preset)})
        properties = schema["properties"]
        if UNNAMED not in self.actions:
            properties["action"] = {**properties["action"], "enum": self.actions_for(role, write_mode)}
        destroys = any(each.destroys for each in self._possible) and not self.hidden_args_in(preset)
        if (write_mode == "ask" or destroys) and self.writes_for(role) and CONFIRMED not in properties:
            properties[CONFIRMED] = {"type": "boolean", "description": "true once the person you work for agreed"}
        return schema

    def whole_input_schema_for(self, role: Role, preset: str = "full", write_mode: str = "auto") -> dict[str, Any]:
        """The same arguments for programs: with those every tool takes, and with each bound and default."""
        listed, whole = self.input_schema_for(role, preset, write_mode), self.input_schema["properties"]
        names = dict.fromkeys([*listed["properties"], *COMMON_ARGUMENTS])
        properties = {name: whole.get(name) or listed["properties"][name] for name in names}
        if UNNAMED not in self.actions:
            properties["action"] = {**properties["action"], "enum": self.actions_for(role, write_mode)}
        return {**self.input_schema, "properties": properties}

    def hidden_args_in(self, preset: str) -> tuple[str, ...]:
        """Arguments that a preset takes but does not show."""
        return () if preset in PRESETS[1:] else self.hidden_args


class ToolOptions(TypedDict, total=False):
    """Fields of ``ToolSpec`` that few tools set."""

    hidden_args: tuple[str, ...]
    endpoint: str
    activity_entry: Callable[[Any, Any], ActivityEntry | None]
    render: Callable[[Any], str | TextAnswer]
    head: Callable[[Any], str]
    connector: Callable[[Any, Any], dict[str, Any] | None]
    links: Callable[[Any, Any], Sequence[ResourceLink]]


def tool(
    *,
    role: Role,
    summary: str = "",
    actions: Mapping[str, Action] | None = None,
    effect: Effect = REPEATABLE,
    preset: Preset = "agent",
    **more: Unpack[ToolOptions],
) -> Callable[[Callable[[Any, A], Awaitable[R]]], ToolSpec]:
    """Make a ``ToolSpec`` of ``async def name(call, args: Arguments) -> Result``. The docstring is what the model
    reads. ``summary``: of the only action of a tool that writes, where ``actions`` does not say more."""

    def make(run: Callable[[Any, A], Awaitable[R]]) -> ToolSpec:
        hints = get_type_hints(run, include_extras=True)
        return ToolSpec(
            name=run.__name__,
            description=" ".join((inspect.getdoc(run) or "").split()),
            group=run.__module__.rpartition(".")[2],
            role=role,
            effect=effect,
            actions=actions or {UNNAMED: Action(role, summary)},
            preset=preset,
            arguments=hints["args"],
            result=hints["return"],
            run=run,
            **more,
        )

    return make
