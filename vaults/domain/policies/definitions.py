"""The format of policies: from a file's text to validated values. Every error names its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from vaults.domain.notes.policy_paths import MAX_BYTES
from vaults.domain.text.validation_messages import simplify
from vaults.errors import InvalidArgument
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.frontmatter.yaml_reader import load_yaml

MAX_STEPS = 50
MAX_RUNS = 200
"""Max steps in a file, and max calls they may expand to by ``each``."""

MAX_TEXT = 20_000
"""Max characters of a variable's text, and of a template."""

MAX_ITEMS = 200
"""Max items of an array."""

VERSION = "1.0"

BUILT_IN = ("today", "now", "caller", "vault", "steps", "item", "index")
"""Names that templates may use without a declaration."""

_RESERVED = frozenset(
    ("and", "as", "else", "false", "for", "if", "in", "is", "loop", "none", "not", "or", "recursive", "self", "true")
)


def _check_version(value: object) -> str:
    if str(value) != VERSION:
        raise ValueError(f'must be "{VERSION}", the only version of the format there is')
    return VERSION


def _check_not_reserved(name: str) -> str:
    if name in _RESERVED or name in BUILT_IN:
        raise ValueError(f"'{name}' has a meaning of its own in templates: choose another name")
    return name


VariableName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$"), AfterValidator(_check_not_reserved)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
ShortLine = Annotated[str, Field(max_length=500)]
TemplateText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
ScalarValue = str | int | float | bool


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Variable(_StrictModel):
    """``min`` and ``max``: of a number its value, of a string its characters, of an array its items. ``values``: of an
    enum. A ``default`` may be a template that names other variables."""

    type: Literal["string", "number", "boolean", "array", "enum"]
    description: ShortLine = ""
    required: bool = False
    default: str | int | float | bool | list[ScalarValue] | None = None
    min: int | float | None = None
    max: int | float | None = None
    values: Annotated[list[ShortLine], Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Variable:
        if self.required and self.default is not None:
            raise ValueError("is required and has a default: one of them says nothing")
        if (self.type == "enum") != (self.values is not None):
            raise ValueError("must have values where its type is enum, and only there")
        if self.type in ("boolean", "enum") and (self.min is not None or self.max is not None):
            raise ValueError(f"has bounds, which a {self.type} has not")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("has a min above its max")
        return self


class Condition(_StrictModel):
    """A look at a note: whether it, a ``section`` or a ``property`` of it is there, or what the property says."""

    path: TemplateText
    section: TemplateText | None = None
    property: ShortLine | None = None
    exists: bool | None = None
    equals: ScalarValue | None = None
    among: list[ScalarValue] | None = Field(default=None, alias="in", min_length=1, max_length=100)

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Condition:
        if sum(each is not None for each in (self.exists, self.equals, self.among)) != 1:
            raise ValueError("must have one of exists, equals and in")
        if self.section is not None and self.property is not None:
            raise ValueError("has a section and a property: make two conditions of it")
        if self.exists is None and self.property is None:
            raise ValueError("compares nothing: equals and in need a property")
        return self


class CollectSpec(_StrictModel):
    """What is read of a note before the first step: its ``tasks`` of a status, the text of a ``section``, or the value
    of a ``property``. Of a note that is not there: nothing."""

    path: TemplateText
    tasks: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    section: TemplateText | None = None
    property: ShortLine | None = None

    @model_validator(mode="after")
    def _collects_one_thing(self) -> CollectSpec:
        if self.tasks is None and self.property is None and self.section is None:
            raise ValueError("must have tasks, section or property: what to read")
        if self.property is not None and (self.tasks is not None or self.section is not None):
            raise ValueError("reads a property and something else: make two of it")
        return self


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


LookupT = TypeVar("LookupT", bound=_StrictModel)


class Step(_StrictModel):
    """A call of a tool. ``when``: conditions or boolean variables that must all hold, negated as ``not name``.
    ``each``: make the call once for each ``item`` of this list."""

    id: Identifier
    tool: Annotated[str, Field(min_length=1, max_length=64)]
    args: Annotated[dict[str, Any], Field(max_length=30)] = {}
    when: Annotated[list[Annotated[str, Field(max_length=70)]], BeforeValidator(_as_list), Field(max_length=20)] = []
    each: Identifier | None = None


class Output(_StrictModel):
    summary: TemplateText


class Policy(_StrictModel):
    version: Annotated[str, BeforeValidator(_check_version)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    description: Annotated[str, Field(min_length=1, max_length=1000)]
    variables: Annotated[dict[VariableName, Variable], Field(max_length=50)] = {}
    conditions: Annotated[dict[Identifier, Condition], Field(max_length=50)] = {}
    collect: Annotated[dict[VariableName, CollectSpec], Field(max_length=20)] = {}
    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    output: Output | None = None


def parse_policy(data: bytes) -> Policy:
    """The policy in a file. Raises ``InvalidArgument`` that names the place."""
    if len(data) > MAX_BYTES:
        raise InvalidArgument("policy", f"has {len(data):,} bytes; {MAX_BYTES:,} is the most")
    try:
        text = decode(data).text
    except NotText as failure:
        raise InvalidArgument("policy", f"is no UTF-8 text: {failure.reason}") from None
    loaded = load_yaml(text.replace("\r\n", "\n").replace("\r", "\n"), first_line=1)
    if loaded.error is not None:
        raise InvalidArgument("policy", f"cannot be read: {loaded.error}", hint="it is YAML of keys and values")
    return from_values(loaded.values)


def from_values(values: Mapping[str, Any]) -> Policy:
    """Validate a policy's values. Raises ``InvalidArgument`` that names the place."""
    try:
        return Policy.model_validate(values)
    except ValidationError as failure:
        where, reason = _first_error(failure)
        hint = "docs/policies.md shows the format"
        raise InvalidArgument(_describe_place(where, values) or "policy", reason, hint=hint) from None


def fill_lookup(kind: type[LookupT], values: Mapping[str, Any], place: str) -> LookupT:
    """Validate a condition or collection with its templates filled in. Raises ``InvalidArgument`` for bad results."""
    try:
        found: LookupT = kind.model_validate(values)
    except ValidationError as failure:
        where, reason = _first_error(failure)
        inside = ".".join([place, *map(str, where[:1])])
        raise InvalidArgument(inside, f"comes to what it cannot be: {reason}") from None
    return found


def _describe_place(where: tuple[int | str, ...], values: Mapping[str, Any]) -> str:
    """Such as ``steps.2.args (step add)``, steps from 1."""
    parts = [str(each + 1) if isinstance(each, int) else each for each in where if each != "[key]"]
    place = ".".join(parts)[:200]
    if len(where) > 1 and where[0] == "steps" and isinstance(where[1], int):
        step = values["steps"][where[1]]
        known = step.get("id") if isinstance(step, dict) else None
        return f"{place} (step {known[:64]})" if isinstance(known, str) else place
    return place


def _first_error(failure: ValidationError) -> tuple[tuple[int | str, ...], str]:
    """The place of the first error, and its reason."""
    error = failure.errors(include_url=False, include_context=False, include_input=False)[0]
    return error["loc"], _describe_reason(error["type"], error["msg"])


def _describe_reason(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "is not a key that is known here"
    if kind == "missing":
        return "is required"
    return simplify(message)
