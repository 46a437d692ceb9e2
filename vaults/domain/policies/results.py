"""How a policy is to be run, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PolicyRunRequest:
    """How a policy is to be run. ``confirmed``: a person agreed that notes are deleted."""

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
    """``paths``: notes that changed, or would; ``change``: what ``history`` takes all of it back by; ``diff``: of a
    preview; ``summary``: what the policy itself says."""

    name: str
    changed: bool
    steps: list[StepResult]
    paths: list[str]
    summary: str | None = None
    change: str | None = None
    diff: str | None = None
