"""What stands in a cell of a table, as the value of a field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from vaults.sources.record_fields import clean_json, to_label, to_tags
from vaults.sources.times import to_rfc3339


class CellRefused(ValueError):
    """A row that is no memory. The message says why, for its owner."""


def to_value(field: str, cell: str) -> Any:
    """The value of a field from a cell that is not empty. Raises ``CellRefused``."""
    try:
        value = _READERS[field](cell)
    except (ValueError, RecursionError):
        value = None
    if value is None:
        raise CellRefused(f"has a {field} that cannot be read: {to_label(cell[:50])}")
    return value


def _to_list(cell: str) -> list[str]:
    """Labels as JSON, or between semicolons, or between commas."""
    if cell.startswith("["):
        return to_tags(json.loads(cell))
    return to_tags(cell.split(";" if ";" in cell else ","))


def _to_object(cell: str) -> dict[str, Any] | None:
    value = clean_json(json.loads(cell))
    return value if isinstance(value, dict) else None


def _to_rows(cell: str) -> list[list[str]] | None:
    value = clean_json(json.loads(cell))
    fits = isinstance(value, list) and all(isinstance(row, list) and len(row) == 3 for row in value)
    return value if fits else None


def _to_number(cell: str) -> float | None:
    number = float(cell if "." in cell else cell.replace(",", "."))
    return number if math.isfinite(number) else None


_FIELDS_READ_BY: dict[Callable[[str], Any], str] = {
    str: "content title type applies_to visibility tier archived_reason anchor_commit",
    to_label: "external_id thread workspace entity author parent supersedes",
    _to_list: "tags keywords",
    _to_object: "metadata",
    _to_rows: "links subjects",
    int: "position access_count",
    _to_number: "confidence ttl_days",
    to_rfc3339: "occurred_at created_at updated_at archived_at accessed_at",
}
_READERS = {field: reader for reader, fields in _FIELDS_READ_BY.items() for field in fields.split()}

FIELDS = frozenset(_READERS)
"""The fields of a memory, which columns may be named after."""
