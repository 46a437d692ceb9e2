"""How much a vault may hold and for how long, put together from settings and plan. Pure.

The narrower setting wins: that of a vault's kind, then the vault's, then that of a kind in all vaults, then the general
one. Of the limits of settings and plan the lower one counts; a plan alone lets nothing go, it only refuses to store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, get_args

from vaults.durations import parse_duration, parse_size
from vaults.settings import NO_LIMIT, EvictableKind, KindLimitSettings, StorageSettings, VaultLimitSettings

KINDS: tuple[EvictableKind, ...] = get_args(EvictableKind)

LEAST_RETENTION_S = 86_400
"""Shorter ones are taken for slips: ``3m`` reads as three minutes, and was hardly meant so."""

SHARE_LEFT = 0.95
"""Share of ``max_size`` down to which things go: at the limit itself, every call that stores would be followed by an
eviction."""


@dataclass(frozen=True, slots=True)
class KindLimit:
    """What bounds a kind; None: nothing. ``max_size`` in bytes of text, ``retention`` in seconds."""

    max_size: int | None = None
    retention: int | None = None


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """What bounds a vault. ``max_size`` in bytes of its database; ``by_plan``: it is the plan's. ``kinds`` has each
    kind that may go at all."""

    max_size: int | None
    by_plan: bool
    kinds: Mapping[EvictableKind, KindLimit]

    @property
    def are_set(self) -> bool:
        """Whether there is any limit."""
        return self.max_size is not None or any(each != KindLimit() for each in self.kinds.values())

    @property
    def target(self) -> int | None:
        """Bytes down to which things go once there are more than ``max_size``."""
        return None if self.max_size is None else int(self.max_size * SHARE_LEFT)


def limits_of(settings: StorageSettings, vault: str, plan_size: int | None = None) -> StorageLimits:
    """The limits of a vault. ``plan_size``: bytes its plan allows."""
    own = settings.vaults.get(vault, VaultLimitSettings())
    size = _to_bytes(_first(own.max_size, settings.max_size))
    lower = size is not None and plan_size is not None and plan_size < size
    memories = settings.memories if own.memories is None else own.memories
    kinds = {kind: _kind_limit(settings, vault, kind) for kind in KINDS if kind != "memory" or memories}
    return StorageLimits(plan_size if lower else size, lower, kinds)


def _kind_limit(settings: StorageSettings, vault: str, kind: EvictableKind) -> KindLimit:
    own = settings.vaults.get(vault, VaultLimitSettings())
    own_kind, general = (each.get(kind, KindLimitSettings()) for each in (own.kinds, settings.kinds))
    size = _first(own_kind.max_size, general.max_size)
    kept = _first(own_kind.retention, own.retention, general.retention, settings.retention)
    return KindLimit(_to_bytes(size), None if kept in (None, NO_LIMIT) else parse_duration(str(kept)))


def _first(*given: str | None) -> str | None:
    return next((each for each in given if each is not None), None)


def _to_bytes(text: str | None) -> int | None:
    return None if text in (None, NO_LIMIT) else parse_size(str(text))


def drop_nonsense(storage: MutableMapping[str, Any]) -> list[str]:
    """Take values that are no limit out of what was given for the section ``storage``, so that the defaults hold;
    returns what to tell the operator, a line each. A server that does not start over a slip in a limit would be worse
    than one without it."""
    told = []
    for path, section in _sections(storage):
        for name, default in DEFAULTS.items():
            if name in section and (reason := _find_fault(name, section[name])):
                unused = section.pop(name)
                what = default if not path else "what holds in general"
                told.append(f'storage.{path}{name}: "{unused}" {reason}; the default is used, {what}')
    return told


DEFAULTS = {"max_size": "no limit", "retention": "no limit", "min_free_disk": "100MB"}


def _sections(storage: MutableMapping[str, Any]) -> Iterator[tuple[str, MutableMapping[str, Any]]]:
    """The section and the tables in it that have limits, each with what its settings are called by."""
    yield "", storage
    for group in ("kinds", "vaults"):
        for name, table in _tables(storage.get(group)):
            yield f"{group}.{name}.", table
            if group == "vaults":
                for kind, inner in _tables(table.get("kinds")):
                    yield f"vaults.{name}.kinds.{kind}.", inner


def _tables(group: object) -> Iterator[tuple[str, MutableMapping[str, Any]]]:
    if isinstance(group, dict):
        yield from ((name, table) for name, table in group.items() if isinstance(table, dict))


def _find_fault(name: str, value: object) -> str | None:
    """Why a value is no limit; None for one that is."""
    if value is None or (value == NO_LIMIT and name != "min_free_disk"):
        return None
    try:
        number = (parse_duration if name == "retention" else parse_size)(value if isinstance(value, str) else "")
    except ValueError as failure:
        return str(failure)
    if name == "retention" and number < LEAST_RETENTION_S:
        return "is less than a day (m is minutes, mo months)"
    return "leaves no room at all" if number == 0 and name == "max_size" else None
