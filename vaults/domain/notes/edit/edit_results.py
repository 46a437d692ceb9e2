"""What a tool says of the note it changed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SimilarNote:
    """Another note that seems to be about the same. ``score``: 0 to 1."""

    path: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link that was set on words of the caller. ``target``: path of the note it leads to; ``line``: from 1."""

    term: str
    target: str
    line: int


@dataclass(frozen=True, slots=True)
class LinkIdea:
    """A note that could be linked, and how likely that is wanted, 0 to 1. ``term``: words that name it."""

    path: str
    title: str
    confidence: float
    term: str | None = None


@dataclass(frozen=True, slots=True)
class EditResult:
    """``path``: where the note is now. ``etag``: of the version that stands there, None where none does. ``changed``:
    False where everything was so already, or on a dry run. ``change``: the id ``history`` takes it back by. ``links``:
    how many links in other notes were spelled anew; ``others``: the first of the notes that changed with it.
    ``region``: only the lines that changed, ``first_line`` to ``last_line`` from 1. ``diff``: on a dry run, what would
    change. ``linked``: links that were set, or would be; ``suggestions``: more notes to link, the likeliest first."""

    path: str
    etag: str | None
    changed: bool
    warnings: list[str] = field(default_factory=list)
    change: str | None = None
    links: int | None = None
    others: list[str] | None = None
    region: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    diff: str | None = None
    similar: list[SimilarNote] | None = None
    linked: list[NewLink] | None = None
    suggestions: list[LinkIdea] | None = None
