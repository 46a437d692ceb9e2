"""What lines may bring, by who pushes them. The owner's own import may bring all that an export holds; a writer's must
not do what no tool would let a writer do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vaults.domain.import_export.lines import LineRejected

ADMIN_KINDS = frozenset({"policy", "event", "link_feedback", "link_application"})
"""Procedures that others run, and what others did and thought."""

_OTHERS_NAMES = ("who", "accepted_who", "resolved_by")


def admit_all(line: dict[str, Any]) -> dict[str, Any]:
    """Take a line as it is."""
    return line


def admit_from_writer(line: dict[str, Any]) -> dict[str, Any]:
    """Take a line in the caller's own name. Raises ``LineRejected`` for what only an admin may bring."""
    kind = line.get("kind")
    if isinstance(kind, str) and kind in ADMIN_KINDS:
        raise LineRejected(f"a {kind.replace('_', ' ')} needs the role admin")
    return {name: value for name, value in line.items() if name not in _OTHERS_NAMES}


@dataclass(frozen=True, slots=True)
class LineRights:
    """``admit``: a line as it may be stored; it may raise ``LineRejected``. ``sees_private``: others' private memories
    count as known, and may be superseded and linked."""

    admit: Callable[[dict[str, Any]], dict[str, Any]]
    sees_private: bool = False


OWNER_RIGHTS = LineRights(admit_all, sees_private=True)
"""Of whoever has the files anyway."""

ADMIN_RIGHTS = LineRights(admit_all)
WRITER_RIGHTS = LineRights(admit_from_writer)
