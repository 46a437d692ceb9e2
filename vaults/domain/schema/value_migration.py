"""Replacing the values of a field, or converting their type, in every note that has it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vaults.domain.actors import Actor
from vaults.domain.notes.read.note_listing import parse_folder, warn_if_behind, warn_if_no_folder
from vaults.domain.schema.bulk_edits import FrontmatterEditRequest, FrontmatterEditResult, edit_notes
from vaults.domain.schema.note_properties import warn_of_unreadable
from vaults.domain.schema.property_values import is_date, to_whole_text
from vaults.domain.schema.renames import FieldHolder, find_field_holders
from vaults.errors import Conflict, InvalidArgument
from vaults.markdown.frontmatter.edits import find_frontmatter, read_properties, update_properties
from vaults.markdown.frontmatter.renames import respell_values
from vaults.markdown.frontmatter.values import parse_scalar
from vaults.vault import Vault

TargetType = Literal["list", "string", "number", "boolean", "date"]
ScalarValue = str | int | float | bool

MAX_COUNTED = 50
"""Max old values whose notes are counted."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A change of a field's values."""

    field: str
    mapping: Mapping[str, ScalarValue]  # from a value's text to its replacement; in lists item by item
    to_type: TargetType | None = None  # the type to convert to afterwards
    separator: str | None = None  # splits text that becomes a list, and joins a list that becomes text


async def migrate_values(
    vault: Vault, actor: Actor, migration: Migration, request: FrontmatterEditRequest
) -> FrontmatterEditResult:
    """Replace values. Those that cannot be converted stay, with a warning. Raises ``InvalidArgument``."""
    if not migration.mapping and migration.to_type is None:
        raise InvalidArgument("mapping", "or to_type is needed: what the values are to become")
    warnings = await warn_if_behind(vault)
    folder = parse_folder(request.folder)
    found = await vault.db.read(lambda tx: find_field_holders(tx, migration.field, folder))
    counts = _count_values(found.notes, migration)
    paths = [
        each.path
        for each in found.notes
        if migration.to_type or _texts_of(each, migration.field) & migration.mapping.keys()
    ]

    def step(text: str) -> str:
        return migrate_note_text(text, migration)

    done = await edit_notes(vault, actor, paths, step, (f"changed values of the field {migration.field}", request))
    missing = [each for each in migration.mapping if each not in counts]
    if missing:
        warnings.append(f"no note has {migration.field}: {', '.join(missing[:MAX_COUNTED])}")
    warnings += [*done.warnings, *warn_of_unreadable(found.unreadable), *await warn_if_no_folder(vault, request.folder)]
    return replace(done, counts=dict(counts.most_common(MAX_COUNTED)), warnings=warnings)


def _texts_of(holder: FieldHolder, field: str) -> set[str]:
    value = holder.values[field]
    return {to_whole_text(each) for each in (value if isinstance(value, list) else [value]) if _is_plain(each)}


def _count_values(notes: Sequence[FieldHolder], migration: Migration) -> Counter[str]:
    counted = Counter(text for holder in notes for text in _texts_of(holder, migration.field))
    return Counter({text: n for text, n in counted.items() if not migration.mapping or text in migration.mapping})


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, list | dict)


def migrate_note_text(text: str, migration: Migration) -> str:
    """Replace the values in a note's text. Pure. Raises ``Conflict`` for one that cannot be converted."""
    if migration.mapping:
        text = respell_values(text, migration.field, lambda value: migration.mapping.get(to_whole_text(value), value))
    value = read_properties(text, find_frontmatter(text)).get(migration.field)
    if migration.to_type is None or value is None or isinstance(value, dict):
        return text
    if migration.to_type == "list" or isinstance(value, list):
        new = _to_list(value, migration.separator) if migration.to_type == "list" else _from_list(value, migration)
        return update_properties(text, {migration.field: new})[0]
    return respell_values(text, migration.field, lambda each: convert_value(each, str(migration.to_type)))


def _to_list(value: Any, separator: str | None) -> list[Any]:
    if isinstance(value, list):
        return value
    if separator is None or not isinstance(value, str):
        return [] if value == "" else [value]
    return [part.strip() for part in value.split(separator) if part.strip()]


def _from_list(value: Sequence[Any], migration: Migration) -> Any:
    if len(value) == 1 and _is_plain(value[0]):
        return convert_value(value[0], str(migration.to_type))
    if migration.to_type != "string" or migration.separator is None or not all(map(_is_plain, value)):
        raise Conflict(f"its {migration.field!r} is a list of {len(value)}, which is no {migration.to_type}")
    return migration.separator.join(map(to_whole_text, value))


_BOOLEANS = {"yes": True, "true": True, "on": True, "y": True, "1": True,
             "no": False, "false": False, "off": False, "n": False, "0": False}  # fmt: skip
_DAYS = (
    re.compile(r"(?P<y>[0-9]{4})[-/.](?P<m>[0-9]{1,2})[-/.](?P<d>[0-9]{1,2})"),
    re.compile(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"),
    re.compile(r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})"),
    re.compile(r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})[T ].*"),
)


def convert_value(value: Any, kind: str) -> Any:
    """Convert a value that is neither a list nor a mapping. Raises ``Conflict`` if that is impossible."""
    text = to_whole_text(value).strip()
    if kind == "string":
        return to_whole_text(value)
    if kind == "number":
        found = value if isinstance(value, int | float) else parse_scalar(text)
        if isinstance(found, int | float) and not isinstance(found, bool):
            return found
    elif kind == "boolean":
        if (truth := _BOOLEANS.get(text.lower())) is not None:
            return truth
    elif (day := _parse_day(text)) is not None:
        return day
    raise Conflict(f"'{text[:60]}' is no {kind}")


def _parse_day(text: str) -> str | None:
    for shape in _DAYS:
        if (found := shape.fullmatch(text)) is not None:
            day = f"{found['y']}-{int(found['m']):02}-{int(found['d']):02}"
            return day if is_date(day) else None
    return None
