"""A schema as people write it: in the frontmatter of a note ``_schema.md``, for its folder and those below, or as a
tool's argument::

    fields:
      status: {type: string, required: true, enum: [open, done]}
      rating: {type: number, min: 1, max: 5}
      id: {pattern: "[A-Z]+-[0-9]+"}
    tags: [project]
    names: dated
    others: false
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from vaults.domain.schema.property_values import TEXT_LENGTH, to_short_text
from vaults.domain.text.regexes import MAX_PATTERN_LENGTH, compile_pattern
from vaults.errors import InvalidArgument

ShortText = Annotated[str, Field(min_length=1, max_length=TEXT_LENGTH)]


class _SchemaModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldRule(_SchemaModel):
    """What one field must be. ``min`` and ``max``: of a number its value, of a date the day, of text its characters,
    of a list its items."""

    type: Literal["string", "number", "boolean", "date", "datetime", "list", "link", "mapping"] | None = None
    required: bool = False
    enum: Annotated[tuple[str, ...] | None, Field(max_length=200)] = None
    pattern: Annotated[str | None, Field(max_length=MAX_PATTERN_LENGTH)] = None
    min: float | str | None = None
    max: float | str | None = None

    @field_validator("enum", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        return tuple(to_short_text(each) for each in value) if isinstance(value, list) else value


class WrittenSchema(_SchemaModel):
    """``tags``: every note has to carry; ``names``: how files are named; ``others``: whether fields may be there that
    are not named here."""

    fields: Annotated[dict[ShortText, FieldRule], Field(max_length=200)] = {}
    tags: Annotated[tuple[ShortText, ...], Field(max_length=50)] = ()
    names: Literal["dated", "kebab-case", "snake_case", "Title Case"] | None = None
    others: bool = True

    @field_validator("tags")
    @classmethod
    def _plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(tag.lstrip("#").strip("/").lower() for tag in value)


def parse_schema(value: Any, place: str) -> WrittenSchema:
    """Validate a schema. ``place``: where it is written, for error messages. Raises ``InvalidArgument``."""
    try:
        written = WrittenSchema.model_validate(value)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:100]
        raise InvalidArgument(place, f"is no schema: {where or 'it'}: {first['msg']}", hint=SCHEMA_HINT) from None
    if not (written.fields or written.tags or written.names):
        raise InvalidArgument(place, "names no fields, tags or names to hold notes against", hint=SCHEMA_HINT)
    for name, rule in written.fields.items():
        if rule.pattern is not None:
            compile_pattern(rule.pattern, f"{place}: fields.{name}.pattern")
    return written


SCHEMA_HINT = "fields: {status: {type: string, required: true, enum: [open, done]}}, tags: [project], names: kebab-case"
