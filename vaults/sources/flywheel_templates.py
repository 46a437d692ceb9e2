"""Templates of Flywheel's policies, in the words of ours. As of Flywheel 2.12."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vaults.sources.record_fields import clean_text

RESERVED = frozenset(
    ("and", "as", "else", "false", "for", "if", "in", "is", "loop", "none", "not", "or", "recursive", "self", "true",
     "today", "now", "caller", "vault", "steps", "item", "index")
)  # fmt: skip

_EXPRESSION = re.compile(r"\{\{([^}]+)\}\}")
_FILTER = re.compile(r"(.+?)\s*\|\s*(\w+)(?:\(([^)]*)\))?\Z", re.DOTALL)
_OPENING = re.compile(r"\{[{%#]")
_BUILT_IN = {
    "now": "now",
    "today": "today",
    "date": "today",
    "time": "now | date('%H:%M')",
}
_FILTERS = {
    "upper": "upper",
    "lower": "lower",
    "trim": "trim",
    "first": "first",
    "last": "last",
    "slug": "slug",
    "date": "date('%Y-%m-%d')",
    "time": "date('%H:%M')",
}


class PolicyUnsayable(ValueError):
    """Something of a policy has no counterpart here. The message says what, for its owner."""


@dataclass(frozen=True, slots=True)
class PolicyNames:
    """What variables, conditions and steps are called there, and what here."""

    variables: Mapping[str, str]
    conditions: Mapping[str, str]
    steps: Mapping[str, str]


def to_names(theirs: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Names that are allowed here for theirs, each unlike the others and unlike those that are taken."""
    found: dict[str, str] = {}
    used = {*RESERVED, *taken}
    for name in theirs:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
        base = re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")[:56] or "unnamed"
        base = base if base[0].isalpha() else f"n_{base}"
        own, number = base, 2
        while own in used:
            own, number = f"{base}_{number}", number + 1
        used.add(own)
        found[name] = own
    return found


def to_value(value: Any, names: PolicyNames) -> Any:
    """A value with the templates in it. Raises ``PolicyUnsayable``."""
    if isinstance(value, str):
        return to_template(value, names)
    if isinstance(value, list):
        return [to_value(each, names) for each in value]
    if isinstance(value, dict):
        return {clean_text(str(key)): to_value(each, names) for key, each in value.items()}
    return value


def to_template(text: str, names: PolicyNames) -> str:
    """A text with what it inserts. Raises ``PolicyUnsayable``."""
    parts: list[str] = []
    at = 0
    for found in _EXPRESSION.finditer(text):
        own = _to_expression(found[1].strip(), names)
        # What they do not know stays there as it is written.
        parts += [_plain(text[at : found.start()]), _literal(found[0]) if own is None else f"{{{{ {own} }}}}"]
        at = found.end()
    return clean_text("".join([*parts, _plain(text[at:])]))


def _plain(text: str) -> str:
    return _OPENING.sub(lambda found: _literal(found[0]), text)


def _literal(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"{{{{ '{quoted}' }}}}"


def _to_expression(expression: str, names: PolicyNames) -> str | None:
    filtered = _FILTER.match(expression)
    if filtered is None:
        return _to_name(expression, names)
    inner = _to_expression(filtered[1].strip(), names)
    return None if inner is None else f"{inner} | {_to_filter(filtered[2], filtered[3])}"


def _to_filter(name: str, argument: str | None) -> str:
    if name in ("default", "join"):
        given = (argument if argument is not None else ", " if name == "join" else "").strip("\"'")
        quoted = given.replace("\\", "\\\\").replace("'", "\\'")
        return f"{name}('{quoted}')"
    if name not in _FILTERS:
        raise PolicyUnsayable(f"the filter {name[:40]} has no counterpart")
    return _FILTERS[name]


def _to_name(path: str, names: PolicyNames) -> str | None:
    """A name with its parts; None for one that is not known."""
    space, _, rest = path.partition(".")
    if path in _BUILT_IN or space == "builtins":
        return _BUILT_IN.get(rest or path)
    if space == "steps" and rest:
        step, _, part = rest.partition(".")
        if part != "path":
            raise PolicyUnsayable(f"{path[:60]}: of a step, only its path is known here")
        return f"steps.{names.steps[step]}.path" if step in names.steps else None
    if space == "conditions" and rest:
        raise PolicyUnsayable(f"{path[:60]}: a condition cannot be written out")
    name, _, part = (rest if space == "variables" else path).partition(".")
    if part:
        raise PolicyUnsayable(f"{path[:60]}: a part of a variable cannot be read")
    return names.variables.get(name)
