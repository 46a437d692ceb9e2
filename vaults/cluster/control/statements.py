"""Statements written for SQLite as PostgreSQL takes them.

They share their SQL but for how values are bound, and for one function of another name. What else differs is not
written: a test runs every statement on both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vaults.db.sql import Params
from vaults.errors import InvalidArgument

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*"""
_PARTS = re.compile(rf"(?P<quoted>{_QUOTED})|:(?P<name>[A-Za-z_]\w*)|(?P<instr>\binstr\()|[?%]")
_CHANGES = ("INSERT", "UPDATE", "DELETE")


@lru_cache(512)
def to_postgres(sql: str) -> bytes:
    """``:name`` and ``?`` as the driver binds them, anywhere but in quotes and comments."""
    return _PARTS.sub(_translate, sql).encode()


def changes_rows(sql: str) -> bool:
    """Whether it is one that changes rows."""
    return sql.lstrip()[:6].upper() in _CHANGES


def to_values(params: Params) -> Params:
    """The values as the columns take them: SQLite stores truth as a number."""
    if isinstance(params, Mapping):
        return {name: _to_value(value, name) for name, value in params.items()}
    return [_to_value(value, "value") for value in params]


def _translate(found: re.Match[str]) -> str:
    if quoted := found["quoted"]:
        return quoted.replace("%", "%%")
    if name := found["name"]:
        return f"%({name})s"
    if found["instr"]:
        return "strpos("
    return "%s" if found[0] == "?" else "%%"


def _to_value(value: Any, name: str) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and "\0" in value:
        raise InvalidArgument(name, "must hold no NUL character")
    return value
