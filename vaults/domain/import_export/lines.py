"""The lines of an export: every kind of record as JSON, checked where it arrives.

A line names its ``kind`` (a memory's may leave it out) and, but for memories of one's own making, its ``external_id``:
the id it has where it comes from, by which a second import knows it again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from vaults import clock
from vaults.domain.continuity.checkpoints import MAX_STATE_KB
from vaults.domain.memories.memory_model import Keywords, MemoryFields, Metadata, Tags, Visibility
from vaults.domain.text.fields import Filled, Label, Text, check_json_size
from vaults.errors import InvalidArgument


class LineRejected(Exception):
    """A line that is no record; ``reason`` is for the owner of the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _time(value: str) -> str:
    try:
        return clock.parse(value, "time")
    except InvalidArgument as failure:
        raise ValueError(failure.message.removeprefix("Validation error: time ")) from None


Time = Annotated[str, Field(max_length=64), AfterValidator(_time)]
Sentence = Annotated[Filled, Field(max_length=2000)]
Sentences = Annotated[list[Sentence], Field(max_length=1000)]
JsonObject = dict[str, Any]
MemorySubjectLine = tuple[Label, Literal["note", "entity"], Annotated[Filled, Field(min_length=1, max_length=1024)]]
MemoryLink = tuple[Label, Label, Label]


class MemoryLine(MemoryFields):
    """A memory. ``ttl_days`` counts from ``created_at``. A ``key`` that is taken stays with the memory that has it."""

    # Empty ones are made: pydantic copies a default three times as slowly.
    tags: Tags = Field(default_factory=list)
    keywords: Keywords = Field(default_factory=list)
    metadata: Metadata = Field(default_factory=dict)
    created_at: Time | None = None
    updated_at: Time | None = None
    occurred_at: Time | None = None
    archived_at: Time | None = None
    archived_reason: Annotated[Filled | None, Field(max_length=500)] = None
    supersedes: Label | None = None  # external id of the older memory
    # JSON has no tuples: a strict model would refuse its lists.
    links: Annotated[list[Annotated[MemoryLink, Field(strict=False)]], Field(max_length=10_000)] = Field(
        default_factory=list
    )
    subjects: Annotated[list[Annotated[MemorySubjectLine, Field(strict=False)]], Field(max_length=10_000)] = Field(
        default_factory=list
    )
    access_count: Annotated[int, Field(ge=0, le=2**53)] = 0
    accessed_at: Time | None = None
    partial: bool = False  # of a memory that is here, only what the line has is changed


class RecordLine(BaseModel):
    """Base of the lines that are no memories."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    external_id: Label


class SessionLine(RecordLine):
    """A session that is over, or may be resumed by whoever imports it."""

    started_at: Time
    who: Label | None = None
    client: Label | None = None
    workspace: Label | None = None
    status: Literal["paused", "completed"] = "completed"
    goal: Annotated[Filled | None, Field(max_length=1000)] = None
    summary: Sentence | None = None
    actions: Sentences = []
    outcomes: Sentences = []
    where_left_off: Sentence | None = None
    metadata: Annotated[JsonObject, AfterValidator(lambda value: check_json_size(value, 10))] = {}
    seen_at: Time | None = None
    ended_at: Time | None = None
    threads: Annotated[list[Label], Field(max_length=1000)] = []


class EventLine(RecordLine):
    """Something that was done. Its words stay behind: events never repeat titles or texts."""

    at: Time
    type: Label
    session: Label | None = None  # external id
    tool: Label = "import"
    resource: Label | None = None
    outcome: Label = "ok"
    ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class ClaimLine(RecordLine):
    """A claim that a session still holds."""

    resource: Label
    session: Label  # external id
    claimed_at: Time
    description: Sentence | None = None


class HandoffLine(RecordLine):
    """A handoff."""

    goal: Sentence
    created_at: Time
    current_state: Annotated[Text, Field(max_length=8000)] = ""
    next_action: Annotated[Text, Field(max_length=2000)] = ""
    session: Label | None = None  # external id
    who: Label | None = None
    workspace: Label | None = None
    constraints: Sentences = []
    known_unknowns: Sentences = []
    artifacts: Sentences = []
    stop_conditions: Sentences = []
    claims: Sentences = []
    to: Label | None = None
    expires_at: Time | None = None
    accepted_who: Label | None = None
    accepted_at: Time | None = None


class CheckpointLine(RecordLine):
    """A version of a thread's state."""

    reason: Sentence
    created_at: Time
    state: Annotated[JsonObject, AfterValidator(lambda value: check_json_size(value, MAX_STATE_KB))] = {}
    workspace: Label | None = None
    thread: Label | None = None
    session: Label | None = None  # external id
    who: Label | None = None


class FeedbackLine(RecordLine):
    """What somebody thought of a tool."""

    type: Literal["bug", "feature_request", "friction", "right_tool", "wrong_tool"]
    at: Time
    message: Sentence | None = None
    tool: Label | None = None
    session: Label | None = None  # external id
    who: Label | None = None
    call_id: Label | None = None


class CorrectionLine(RecordLine):
    """What is wrong, and what is right instead."""

    about: Literal["fact", "note", "memory", "link", "entity", "behaviour"]
    at: Time
    wrong: Sentence
    instead: Sentence
    subject: Annotated[Filled | None, Field(max_length=1024)] = None
    status: Literal["open", "resolved", "undone"] = "open"
    resolution: Sentence | None = None
    resolved_at: Time | None = None
    resolved_by: Label | None = None
    workspace: Label | None = None
    who: Label | None = None


class LinkLine(RecordLine):
    """A relation between two memories, by their external ids."""

    from_: Label = Field(alias="from")
    relation: Label
    to: Label
    at: Time | None = None


NoteName = Annotated[Filled, Field(max_length=1024)]


class LinkFeedbackLine(RecordLine):
    """What was thought of linking to an entity in a note."""

    entity: NoteName
    at: Time
    verdict: Literal["accepted", "rejected", "removed", "kept", "suppressed", "pardoned"]
    path: Annotated[Text, Field(max_length=1024)] = ""
    term: NoteName | None = None
    weight: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    who: Label | None = None


class LinkSuppressionLine(RecordLine):
    """An entity that is not to be linked to in a folder; an empty one means everywhere."""

    entity: NoteName
    at: Time
    folder: Annotated[Text, Field(max_length=1024)] = ""
    learned: bool = False  # by what was thought of its links, not by a person


class LinkApplicationLine(RecordLine):
    """A link that was set."""

    entity: NoteName
    path: NoteName
    term: NoteName
    at: Time
    source: Literal["auto", "accepted", "proactive"] = "auto"
    state: Literal["standing", "missing", "lasting", "kept", "removed", "undone"] = "kept"
    gone: Time | None = None
    who: Label | None = None


class DismissalLine(RecordLine):
    """A proposal nobody wants to see again: merging two names, or writing a note for one."""

    about: Literal["merge", "prospect"]
    at: Time
    names: Annotated[list[NoteName], Field(min_length=1, max_length=2)]


class NoteLine(RecordLine):
    """A Markdown file of the notes folder, whole."""

    path: NoteName
    content: Text
    modified_at: Time | None = None


MAX_PARTS = 20_000
MAX_TEXT = 8_000_000
"""Max characters of a line's parts together: what is longer goes on in lines with ``append``."""


class PartLine(BaseModel):
    """A turn of a transcript, a page or section of a document. Without a position it takes the next."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    text: Annotated[Text, Field(max_length=1_000_000)]
    position: Annotated[int | None, Field(ge=0, le=10**9)] = None
    heading: Annotated[Filled | None, Field(max_length=500)] = None
    locator: Label | None = None
    author: Label | None = None
    role: Label | None = None
    at: Time | None = None
    thinking: bool = False


class DocumentLine(RecordLine):
    """A document, or with ``append`` further parts of one, each with its position."""

    format: Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$")] = "text"  # transcript, artifact, markdown, code …
    title: Annotated[Filled | None, Field(max_length=500)] = None
    uri: Annotated[Filled | None, Field(max_length=2048)] = None
    workspace: Label | None = None
    collection: Label | None = None
    thread: Label | None = None
    author: Label | None = None
    agent: Label | None = None  # with whom a conversation was held
    parent: Label | None = None  # external id of the conversation it was begun in
    visibility: Visibility = "shared"
    mime: Label | None = None  # of the file it was read from
    source_hash: Label | None = None  # of its bytes, by which the file is known when it comes again
    created_at: Time | None = None
    modified_at: Time | None = None
    metadata: Annotated[JsonObject, AfterValidator(lambda value: check_json_size(value, 10))] = {}
    parts: Annotated[list[PartLine], Field(max_length=MAX_PARTS)] = []
    append: bool = False

    @model_validator(mode="after")
    def _has_places(self) -> DocumentLine:
        if sum(len(part.text) for part in self.parts) > MAX_TEXT:
            raise ValueError(f"parts must have at most {MAX_TEXT} characters: continue with append")
        numbered = {part.position is not None for part in self.parts}
        if len(numbered) > 1 or (self.append and False in numbered):
            raise ValueError("parts must have positions: all of them where the line appends, else all or none")
        return self


class PolicyLine(RecordLine):
    """A policy as YAML."""

    name: Label
    yaml: Annotated[Filled, Field(max_length=256 * 1024)]


Line = MemoryLine | RecordLine
LINE_KINDS: dict[str, type[Line]] = {
    "memory": MemoryLine,
    "session": SessionLine,
    "event": EventLine,
    "claim": ClaimLine,
    "handoff": HandoffLine,
    "checkpoint": CheckpointLine,
    "feedback": FeedbackLine,
    "correction": CorrectionLine,
    "link": LinkLine,
    "link_feedback": LinkFeedbackLine,
    "link_suppression": LinkSuppressionLine,
    "link_application": LinkApplicationLine,
    "dismissal": DismissalLine,
    "document": DocumentLine,
    "note": NoteLine,
    "policy": PolicyLine,
}
"""Every kind of line by its name."""


def to_line(fields: dict[str, Any]) -> tuple[str, Line]:
    """The kind of a line and the line itself, checked, all times in the stored form. Raises ``LineRejected``."""
    kind = fields.get("kind", "memory")
    model = LINE_KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise LineRejected(f"kind must be one of {', '.join(LINE_KINDS)}")
    try:
        if "kind" in fields:
            fields = {name: value for name, value in fields.items() if name != "kind"}
        return kind, model.model_validate(fields)
    except ValidationError as failure:
        raise LineRejected(_describe_failure(failure, kind)) from None
    except RecursionError:
        raise LineRejected("is nested too deep") from None


def _describe_failure(failure: ValidationError, kind: str) -> str:
    first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:200] or "line"
    reason = {"extra_forbidden": f"is not a field of a {kind.replace('_', ' ')}", "missing": "is required"}.get(
        first["type"], first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    )
    return f"{_to_printable(field)} {reason[:1].lower()}{reason[1:]}"


def _to_printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


def hash_line(line: Line) -> str:
    """Equal for lines that say the same."""
    return hashlib.sha256(line.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:32]


def encode_line(fields: dict[str, Any]) -> bytes:
    """A line as it is written, with its newline and without what is empty."""
    filled = {name: value for name, value in fields.items() if value not in (None, [], {}, "")}
    return json.dumps(filled, ensure_ascii=False, allow_nan=False).encode() + b"\n"
