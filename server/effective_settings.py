"""Every setting as it holds in a process, and where it was set; without secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from server.redaction import redact
from server.settings import GROUPED, Settings


def effective(settings: Settings, sources: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Dotted name → value and source."""
    values = settings.model_dump(mode="json")
    for section in GROUPED:
        values |= {f"{section}.{group}": fields for group, fields in values.pop(section).items()}
    return {
        f"{section}.{name}": {
            "value": redact(name, value),
            "source": sources.get(f"{section}.{name}", "default"),
        }
        for section, fields in values.items()
        for name, value in fields.items()
    }


def to_text(value: Any) -> str:
    """A value as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
