"""A schema as people write it: in the frontmatter of a note ``_schema.md``, for its folder and those in it, or as an
argument::

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

from vaults.domain.schema.property_values import TEXT, text_of
from vaults.domain.text.regexes import LONGEST, compiled
from vaults.errors import InvalidArgument

NAMES = ("dated", "kebab-case", "snake_case", "Title Case")

Scalar = str | int | float | bool
Short = Annotated[str, Field(min_length=1, max_length=TEXT)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldRule(_Part):
    """What one field must be. ``min`` and ``max``: of a number its value, of a date the day, of text its characters,
    of a list its items."""

    type: Literal["string", "number", "boolean", "date", "datetime", "list", "link", "mapping"] | None = None
    required: bool = False
    enum: Annotated[tuple[str, ...] | None, Field(max_length=200)] = None
    pattern: Annotated[str | None, Field(max_length=LONGEST)] = None
    min: float | str | None = None
    max: float | str | None = None

    @field_validator("enum", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        return tuple(text_of(each) for each in value) if isinstance(value, list) else value


class Written(_Part):
    """``tags``: every note has to carry; ``names``: how files are named; ``others``: whether fields may be there that
    are not named here."""

    fields: Annotated[dict[Short, FieldRule], Field(max_length=200)] = {}
    tags: Annotated[tuple[Short, ...], Field(max_length=50)] = ()
    names: Literal["dated", "kebab-case", "snake_case", "Title Case"] | None = None
    others: bool = True

    @field_validator("tags")
    @classmethod
    def _plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(tag.lstrip("#").strip("/").lower() for tag in value)


def read(value: Any, said: str) -> Written:
    """A schema. ``said``: where it stands, for whoever has to mend it. Raises ``InvalidArgument``."""
    try:
        written = Written.model_validate(value)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:100]
        raise InvalidArgument(said, f"is no schema: {where or 'it'}: {first['msg']}", hint=HINT) from None
    if not (written.fields or written.tags or written.names):
        raise InvalidArgument(said, "names no fields, tags or names to hold notes against", hint=HINT)
    for name, rule in written.fields.items():
        if rule.pattern is not None:
            compiled(rule.pattern, f"{said}: fields.{name}.pattern")
    return written


HINT = "fields: {status: {type: string, required: true, enum: [open, done]}}, tags: [project], names: kebab-case"
