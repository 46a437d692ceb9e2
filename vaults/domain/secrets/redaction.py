"""Secrets in text that is to be stored: found by their issuer's shape, or by name and randomness. Pure, linear.

A memory is read by every agent of a team, exported and backed up: a token in it is a token lost. UUIDs, commit ids and
digests are no secrets, however random, unless something calls them one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from vaults.domain.secrets.assignments import (
    NAME_HINTS,
    Secret,
    find_assigned,
    find_in_addresses,
    find_in_headers,
    is_secret,
    secret_kind,
)
from vaults.domain.secrets.token_patterns import MASK, NAMES_REGEX, TOKEN_PATTERNS
from vaults.errors import InvalidArgument
from vaults.settings import HygieneSettings

MIN_LENGTH = 8
"""Characters below which a text is not searched: ``pwd=x`` gives nothing away."""

HINT = "store where it is kept instead of the secret itself, such as the name of the vault entry or variable"


@dataclass(frozen=True, slots=True)
class GuardedFields:
    """Fields that may be stored, and warnings about what was taken out of them."""

    fields: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def refuse_or_redact(fields: Mapping[str, Any], settings: HygieneSettings) -> GuardedFields:
    """Search texts, lists and JSON for secrets. Where the settings refuse them, the first raises ``InvalidArgument``;
    else the fields come back redacted, with a warning for each secret."""
    if settings.secrets == "off" or not _may_hold_secret(_join_texts(fields.values())):
        return GuardedFields(dict(fields))
    kept, warnings = {}, list[str]()
    for name, value in fields.items():
        found: list[str] = []
        clean = _redact_value(value, found)
        if found and (settings.secrets == "refuse" or name in _IDENTIFIERS):
            raise InvalidArgument(name, f"holds what looks like a secret: {found[0]}", hint=HINT)
        kept[name] = clean if found else value
        warnings += [f"{name}: taken out: {each}" for each in dict.fromkeys(found)]
    return GuardedFields(kept, warnings)


def _join_texts(values: Iterable[Any]) -> str:
    """All texts in lists and JSON."""
    texts = []
    for each in values:
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, list | tuple):
            texts.append(_join_texts(each))
        elif each is not None and isinstance(each, Mapping):
            texts += [_join_texts(each), _join_texts(each.values())]
    return "\n".join(texts)


def secret_warnings(fields: Mapping[str, Any], settings: HygieneSettings) -> list[str]:
    """Warnings about secrets in text that is stored unchanged, because it is the writer's own file."""
    if settings.secrets == "off":
        return []
    warnings = []
    for name, value in fields.items():
        found: list[str] = []
        _redact_value(value, found)
        warnings += [f"{name} holds what looks like a secret: {each}" for each in dict.fromkeys(found)]
    return warnings


_IDENTIFIERS = frozenset({"external_id", "key", "parent", "workspace", "thread", "idempotency_key", "archived_reason"})
"""Fields that are refused, never redacted: most are identifiers, and with a part missing, one could be taken for
another."""


def _redact_value(value: Any, found: list[str]) -> Any:
    """``value`` without secrets; their kinds and lines are added to ``found``."""
    if isinstance(value, str):
        clean, secrets = redact(value)
        found += [f"{_kind(each.kind)} (line {value.count(chr(10), 0, each.start) + 1})" for each in secrets]
        return clean
    if isinstance(value, Mapping):
        return dict(_redact_pair(key, inner, found) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return [_redact_value(each, found) for each in value]
    return value


def _redact_pair(key: Any, value: Any, found: list[str]) -> tuple[Any, Any]:
    if isinstance(key, str) and _is_plain_name(key):
        return key, _redact_value(value, found)
    return _redact_value(key, found), _redact_entry(key, value, found)


@lru_cache(512)
def _is_plain_name(key: str) -> bool:
    """Whether a key neither holds a secret nor marks its value as one. The same few come with every line."""
    return _NAMED.search(key) is None and not find_secrets(key)


def _redact_entry(key: Any, value: Any, found: list[str]) -> Any:
    """A value in JSON whose key may mark it as secret."""
    name = _NAMED.search(key) if isinstance(key, str) else None
    if name is not None and isinstance(value, str) and is_secret(name["name"], value, before=key[: name.start()]):
        kind = secret_kind(name["name"])
        found.append(_kind(kind))
        return _redaction_mark(kind)
    return _redact_value(value, found)


_NAMED = re.compile(rf"(?i)(?P<name>{NAMES_REGEX})$")


def _kind(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AaOoIi" or kind.startswith("npm") else f"a {kind}"


def _redaction_mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def redact(text: str) -> tuple[str, list[Secret]]:
    """``text`` with a mark in place of each secret, and their spans."""
    secrets = find_secrets(text)
    parts, at = [], 0
    for each in secrets:
        parts += [text[at : each.start], _redaction_mark(each.kind)]
        at = each.end
    return ("".join([*parts, text[at:]]), secrets) if secrets else (text, [])


def find_secrets(text: str) -> list[Secret]:
    """Every secret in ``text``, in order, none inside another."""
    if len(text) < MIN_LENGTH or not _may_hold_secret(text):
        return []
    every = sorted(
        [*_of_issuers(text), *find_in_addresses(text), *find_in_headers(text), *find_assigned(text)],
        key=lambda each: (each.start, -each.end),
    )
    found: list[Secret] = []
    for each in every:
        if not found or each.start >= found[-1].end:
            found.append(each)
    return found


def _may_hold_secret(text: str) -> bool:
    """Whether a text holds any of what every secret has beside it. Most texts do not, and are looked through once."""
    for hint in _ISSUER_HINTS:  # a generator would take three times as long
        if hint in text:
            return True
    folded = text.casefold()
    return any(hint in folded for hint in NAME_HINTS)


_ISSUER_HINTS = tuple(dict.fromkeys(hint for shape in TOKEN_PATTERNS for hint in shape.hints))


def _of_issuers(text: str) -> Iterator[Secret]:
    for shape in TOKEN_PATTERNS:
        if any(hint in text for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                group = "secret" if "secret" in shape.pattern.groupindex else 0
                if not MASK.search(match[group]):
                    yield Secret(shape.kind, *match.span(group))
