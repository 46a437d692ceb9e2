"""Requests to run a policy, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PolicyRunRequest:
    """How to run a policy. ``given``: values of its variables; ``confirmed``: a person agreed to delete notes."""

    given: Mapping[str, Any]
    dry_run: bool = False
    confirmed: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did. ``skipped``: the condition that kept it from being done; ``times``: how often it was, where it
    goes over a list."""

    id: str
    tool: str
    changed: bool
    path: str | None = None
    skipped: str | None = None
    times: int | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PolicyRunResult:
    """What a run changed, or would change."""

    name: str
    steps: list[StepResult]
    paths: list[str]
    summary: str | None  # the policy's own output
    diff: str | None  # of a preview
    change: str | None  # the id by which ``history`` undoes all of it
    changed: bool
