"""A tool is a value (``ToolSpec``): everything about tools elsewhere is a loop over these."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar, Unpack, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from auth.roles import Role
from server.tool_json_schema import drop_required, inline_definitions, simplify_input, to_listed_input
from vaults.activity_log.entries import ActivityEntry

if TYPE_CHECKING:
    from server.rendering.plain_text import TextAnswer

Preset = Literal["agent", "notes", "full"]
PRESETS: tuple[Preset, ...] = ("agent", "notes", "full")


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call leaves behind, sent to clients as hints. ``idempotent``: repeating the call changes nothing more."""

    writes: bool
    destructive: bool = False
    idempotent: bool = True


CONFIRMED = "confirmed"
"""The argument that says a person agreed; every writing tool takes it. A tool that needs the answer itself declares it
among its own arguments."""

OLD_CONFIRMED = "confirm"
"""The former name of that argument, which such a tool still takes."""

READS = Effect(writes=False)
ADDS = Effect(writes=True)
EDITS = Effect(writes=True, idempotent=False)
REMOVES = Effect(writes=True, destructive=True)


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


def destroys_nothing(arguments: Mapping[str, Any]) -> bool:  # noqa: ARG001  for most tools, whatever they get
    """No call of the tool destroys."""
    return False


@dataclass(frozen=True)
class ToolSpec:
    """One tool: what clients see of it, who may call it, and how to run it and render its result."""

    name: str
    description: str
    group: str
    role: Role
    effect: Effect
    preset: Preset  # the smallest preset that lists it
    arguments: type[Arguments]
    result: Any
    run: Callable[[Any, Any], Awaitable[Any]]
    # the text of a result, for clients that show their model no JSON; None: the JSON, line by line
    render: Callable[[Any], str | TextAnswer] | None
    head: Callable[[Any], str] | None = None  # the sentence above that JSON
    # the JSON that connector clients expect as the text of this call; None for other calls
    connector: Callable[[Any, Any], dict[str, Any] | None] | None = None
    links: Callable[[Any, Any], Sequence[ResourceLink]] = no_links  # resources that show more of a result
    actions: Mapping[str, Role] = field(default_factory=dict)  # the role of each value of the argument ``action``
    hidden_args: tuple[str, ...] = ()  # taken but not shown in the preset agent
    # what the activity log records of a successful call
    activity_entry: Callable[[Any, Any], ActivityEntry | None] = no_activity_entry
    action_summary: str | Callable[[Mapping[str, Any]], str] = ""  # what a call would do, as the words after "wants to"
    # whether these arguments make the call destroy something
    destroys: Callable[[Mapping[str, Any]], bool] = destroys_nothing
    looking: frozenset[str] = frozenset()  # actions that only read, although they need more than a reader
    writes_if: Callable[[Mapping[str, Any]], bool] | None = None  # which calls write, for a tool that otherwise reads
    role_if: Callable[[Mapping[str, Any]], Role] | None = None  # the role a call needs, where its arguments decide
    # actions that write and have no dry run, although others of the tool have one
    at_once: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        return self.effect.writes

    @property
    def destructive(self) -> bool:
        return self.effect.destructive

    @property
    def idempotent(self) -> bool:
        return self.effect.idempotent

    @cached_property
    def pages(self) -> bool:
        """Whether its result says where the next page begins, so that nothing may be cut from it silently."""
        return bool({"cursor", "next_line"} & {each.name for each in fields(self.result)})

    @cached_property
    def shows_budget(self) -> bool:
        """Whether a listing shows ``max_tokens``: only where the tool declares its own."""
        own = self.arguments.__mro__[: self.arguments.__mro__.index(Arguments)]
        return any("max_tokens" in vars(each).get("__annotations__", {}) for each in own)

    @cached_property
    def output(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.result)

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
        if self.actions:
            properties["action"] = {**properties["action"], "enum": self.actions_for(role, write_mode)}
        destroys = self.destroys is not destroys_nothing and not self.hidden_args_in(preset)
        if (write_mode == "ask" or destroys) and self.writes_for(role) and CONFIRMED not in properties:
            properties[CONFIRMED] = {"type": "boolean", "description": "true once the person you work for agreed"}
        return schema

    def hidden_args_in(self, preset: str) -> tuple[str, ...]:
        """Arguments that a preset takes but does not show."""
        return () if preset in PRESETS[1:] else self.hidden_args

    def actions_for(self, role: Role, write_mode: str = "auto") -> list[str]:
        """The actions a caller may take."""
        mine = [action for action, least in self.actions.items() if role >= least]
        return [action for action in mine if self._looks(action)] if write_mode == "off" else mine

    def least_role(self, arguments: Mapping[str, Any]) -> Role:
        """The role this call needs. An action that does not exist is refused later, by name."""
        if self.role_if is not None:
            return self.role_if(arguments)
        if not self.actions:
            return max(self.role, Role.WRITER) if self.is_write(arguments) else self.role
        action = arguments.get("action", self.arguments.model_fields["action"].default)
        return self.actions.get(action, min(self.actions.values())) if isinstance(action, str) else self.role

    def writes_for(self, role: Role) -> bool:
        """Whether any call ``role`` may make of it writes."""
        if self.writes_if is not None:
            return role >= Role.WRITER
        if not self.actions:
            return self.writes
        return self.writes and any(role >= least for action, least in self.actions.items() if not self._looks(action))

    def is_dry_run(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this call shows what it would write, and writes nothing."""
        known = self.arguments.model_fields.get("dry_run")
        action = arguments.get("action")
        if known is None or (isinstance(action, str) and action in self.at_once):
            return False
        return arguments.get("dry_run", known.default) is True

    def _looks(self, action: str) -> bool:
        return self.actions.get(action, self.role) == Role.READER or action in self.looking

    def summarize_action(self, arguments: Mapping[str, Any]) -> str:
        """What this call would do, in plain words."""
        return (
            self.action_summary if isinstance(self.action_summary, str) else self.action_summary(arguments)
        ) or f"use {self.name}"

    def is_write(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this call writes."""
        if self.writes_if is not None:
            return self.writes_if(arguments)
        if not self.actions:
            return self.writes
        action = arguments.get("action", self.arguments.model_fields["action"].default)
        return self.writes and not (isinstance(action, str) and self._looks(action))


class ToolOptions(TypedDict, total=False):
    """Fields of ``ToolSpec`` that few tools set."""

    actions: Mapping[str, Role]
    hidden_args: tuple[str, ...]
    activity_entry: Callable[[Any, Any], ActivityEntry | None]
    action_summary: str | Callable[[Mapping[str, Any]], str]
    destroys: Callable[[Mapping[str, Any]], bool]
    looking: frozenset[str]
    writes_if: Callable[[Mapping[str, Any]], bool]
    role_if: Callable[[Mapping[str, Any]], Role]
    at_once: frozenset[str]
    head: Callable[[Any], str]
    connector: Callable[[Any, Any], dict[str, Any] | None]
    links: Callable[[Any, Any], Sequence[ResourceLink]]


def tool(
    *,
    role: Role,
    render: Callable[[Any], str | TextAnswer] | None = None,
    effect: Effect = READS,
    preset: Preset = "agent",
    **more: Unpack[ToolOptions],
) -> Callable[[Callable[[Any, A], Awaitable[R]]], ToolSpec]:
    """Make a ``ToolSpec`` of ``async def name(call, args: Arguments) -> Result``. The docstring is what the model
    reads."""

    def make(run: Callable[[Any, A], Awaitable[R]]) -> ToolSpec:
        hints = get_type_hints(run, include_extras=True)
        return ToolSpec(
            name=run.__name__,
            description=" ".join((inspect.getdoc(run) or "").split()),
            group=run.__module__.rpartition(".")[2],
            role=role,
            effect=effect,
            preset=preset,
            arguments=hints["args"],
            result=hints["return"],
            run=run,
            render=render,
            **more,
        )

    return make


class ToolRegistry:
    """Every tool of this server, in listing order. Two tools with one name stop the start."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._specs: dict[str, ToolSpec] = {}
        for spec in specs:
            if spec.name in self._specs:
                raise RuntimeError(f"two tools are called {spec.name}")
            self._specs[spec.name] = spec

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def get(self, name: str) -> ToolSpec | None:
        return self._specs.get(name)

    def visible(self, role: Role, preset: str, write_mode: str) -> list[ToolSpec]:
        """The tools a caller is shown: those of its role and preset, without writing tools where writing is off."""
        rank = PRESETS.index(preset) if preset in PRESETS else 0
        return [spec for spec in self._specs.values() if self.shows(spec, role, rank, write_mode)]

    @staticmethod
    def shows(spec: ToolSpec, role: Role, rank: int, write_mode: str) -> bool:
        """Whether a caller is shown this tool."""
        least = min(spec.actions.values(), default=spec.role)
        readable = not spec.writes or (bool(spec.actions) and least == Role.READER) or bool(spec.looking)
        return role >= least and rank >= PRESETS.index(spec.preset) and (write_mode != "off" or readable)
