"""``--map``: fields of a source under other names, and values that are called otherwise here. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vaults.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class FieldMap:
    """``fields``: new names by the old ones, '' to drop a field; ``values``: new values by field and old value."""

    fields: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def apply(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """The line as it is to be stored."""
        if not self.fields and not self.values:
            return dict(line)
        renamed = {self.fields.get(name, name): value for name, value in line.items()}
        renamed.pop("", None)
        for (name, old), new in self.values.items():
            if old in (str(renamed.get(name)), _original(renamed, name)):
                renamed[name] = new
        return renamed


def _original(line: Mapping[str, Any], name: str) -> str | None:
    """What a field was at its source, where a source had to put something else there."""
    metadata = line.get("metadata")
    return str(metadata.get(f"original_{name}")) if isinstance(metadata, dict) else None


def parse_field_map(rules: Sequence[str]) -> FieldMap:
    """Rules as on the command line: ``text=content`` gives a field another name, ``notes=`` drops one,
    ``type:todo=plan`` gives a value another one. Raises ``InvalidArgument``."""
    fields: dict[str, str] = {}
    values: dict[tuple[str, str], str] = {}
    for rule in rules:
        old, sign, new = rule.partition("=")
        name, colon, value = old.partition(":")
        if not sign or not name or (colon and not new):
            raise InvalidArgument("--map", "must be FIELD=NEW, FIELD= or FIELD:VALUE=NEW")
        if colon:
            values[name, value] = new
        else:
            fields[old] = new
    return FieldMap(fields, values)
