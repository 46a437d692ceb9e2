"""Posts, comments, agents and submolts as answers of the network hold them: known fields, bounded and sanitized. Pure.

Whatever is in an answer was written by somebody else. A text that gives orders is flagged, one too long is cut, and
what is not of the type it should be is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from vaults.domain.social.api_answer import ApiAnswer
from vaults.domain.text.sanitize import sanitize, to_one_line

PREVIEW = 1_000
"""Characters of a text in a list."""

WHOLE = 10_000
"""Characters of a text that was asked for alone; the network takes no longer ones."""

MOST_ROWS = 100

_LEVELS = 20
"""Levels of JSON that are read; what an answer holds deeper is nothing of ours."""

_NAME_LENGTH = 50
_TITLE_LENGTH = 300
_WITHHELD = "[withheld]"
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]{5,15}(?:Z|[+-]\d{2}:\d{2})?", re.ASCII)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SocialPost:
    """A post. ``flags``: what sanitizing found in it, such as instruction-like."""

    id: str
    title: str = ""
    author: str = ""
    submolt: str = ""
    content: str = ""
    upvotes: int = 0
    downvotes: int = 0
    comments: int = 0
    created_at: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SocialComment:
    """A comment on a post, or on another comment."""

    id: str
    author: str = ""
    content: str = ""
    parent_id: str | None = None
    upvotes: int = 0
    created_at: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SocialAgent:
    """An agent with an account."""

    name: str
    display_name: str = ""
    bio: str = ""
    karma: int = 0
    followers: int = 0
    following: int = 0
    created_at: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Submolt:
    """A community."""

    name: str
    display_name: str = ""
    description: str = ""
    subscribers: int = 0
    created_at: str | None = None
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SocialAnswer:
    """What a call did, in a sentence of ours, and what the network told."""

    message: str
    authenticated: bool | None = None
    posts: list[SocialPost] = field(default_factory=list)
    comments: list[SocialComment] = field(default_factory=list)
    agents: list[SocialAgent] = field(default_factory=list)
    submolts: list[Submolt] = field(default_factory=list)
    claim_url: str | None = None
    verification_code: str | None = None


def to_post(given: Mapping[str, Any], most: int = PREVIEW) -> SocialPost | None:
    """None without an id."""
    title, content = _text(given.get("title"), _TITLE_LENGTH), _text(given.get("content"), most)
    return _named(
        given,
        "id",
        lambda identity: SocialPost(
            id=identity,
            title=_line(title.text, _TITLE_LENGTH),
            author=_who(given.get("author")),
            submolt=_who(given.get("submolt")),
            content=content.text,
            upvotes=_count(given, "upvotes", "score"),
            downvotes=_count(given, "downvotes"),
            comments=_count(given, "comment_count", "comments"),
            created_at=_time(given.get("created_at")),
            flags=_flags(title.flags, content.flags),
        ),
    )


def to_comment(given: Mapping[str, Any], most: int = PREVIEW) -> SocialComment | None:
    """None without an id."""
    content = _text(given.get("content"), most)
    return _named(
        given,
        "id",
        lambda identity: SocialComment(
            id=identity,
            author=_who(given.get("author")),
            content=content.text,
            parent_id=_line(given.get("parent_id"), 100) or None,
            upvotes=_count(given, "upvotes", "score"),
            created_at=_time(given.get("created_at")),
            flags=_flags(content.flags),
        ),
    )


def to_agent(given: Mapping[str, Any], most: int = PREVIEW) -> SocialAgent | None:
    """None without a name."""
    bio = _text(given.get("bio") or given.get("description"), most)
    return _named(
        given,
        "name",
        lambda name: SocialAgent(
            name=name,
            display_name=_line(given.get("display_name"), 100),
            bio=bio.text,
            karma=_count(given, "karma"),
            followers=_count(given, "follower_count", "followers"),
            following=_count(given, "following_count", "following"),
            created_at=_time(given.get("created_at")),
            flags=_flags(bio.flags),
        ),
    )


def to_submolt(given: Mapping[str, Any], most: int = PREVIEW) -> Submolt | None:
    """None without a name."""
    description = _text(given.get("description"), most)
    return _named(
        given,
        "name",
        lambda name: Submolt(
            name=name,
            display_name=_line(given.get("display_name"), 100),
            description=description.text,
            subscribers=_count(given, "subscriber_count", "subscribers"),
            created_at=_time(given.get("created_at")),
            flags=_flags(description.flags),
        ),
    )


def rows_of(body: Any, name: str, make: Callable[[Mapping[str, Any]], T | None], most: int = MOST_ROWS) -> list[T]:
    """The items of an answer, which is a list, or holds one under its name, ``results`` or ``data``."""
    found = body
    for _ in range(2):
        if isinstance(found, dict):
            found = next(
                (found[key] for key in (name, "results", "data") if isinstance(found.get(key), dict | list)), []
            )
    rows = found if isinstance(found, list) else []
    made = (make(each) for each in rows[: 2 * most] if isinstance(each, dict))
    return [each for each in made if each is not None][:most]


def one_of(body: Any, name: str) -> Mapping[str, Any]:
    """The object an answer holds under its name or ``data``, or is."""
    found: Any = body
    for key in ("data", name):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    return found if isinstance(found, dict) else {}


def claim_address(given: Mapping[str, Any], api: str) -> str | None:
    """Where a person claims the account, if it is an address of the network itself."""
    url = given.get("claim_url")
    if not isinstance(url, str) or not re.fullmatch(r"https?://[\w.:\[\]-]{1,100}/[\w./?=&%-]{0,200}", url, re.ASCII):
        return None
    hosts = {(urlsplit(each).hostname or "").removeprefix("www.") for each in (url, api)}
    return url if len(hosts) == 1 else None


def to_code(value: object) -> str | None:
    """A verification code: letters and digits only."""
    return value if isinstance(value, str) and re.fullmatch(r"[\w-]{1,50}", value, re.ASCII) else None


def to_name(value: object) -> str:
    """A name for a sentence of ours: nothing in it can end the sentence."""
    return re.sub(r"[^\w.-]", "_", value[:_NAME_LENGTH]) if isinstance(value, str) and value else "unknown"


def withhold(answer: ApiAnswer, api_key: str) -> ApiAnswer:
    """The answer without the API key, wherever the network put it."""
    return replace(answer, body=_without(answer.body, api_key)) if answer.body is not None else answer


def _without(value: Any, secret: str, levels: int = _LEVELS) -> Any:
    if isinstance(value, str):
        return value.replace(secret, _WITHHELD)
    if isinstance(value, list | dict) and not levels:
        return None
    if isinstance(value, list):
        return [_without(each, secret, levels - 1) for each in value]
    if isinstance(value, dict):
        return {name.replace(secret, _WITHHELD): _without(each, secret, levels - 1) for name, each in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class _Text:
    text: str = ""
    flags: tuple[str, ...] = ()


def _text(value: object, most: int) -> _Text:
    if not isinstance(value, str):
        return _Text()
    safe = sanitize(value if len(value) <= most else f"{value[: most - 1]}…")
    return _Text(safe.text, safe.flags)


def _flags(*found: tuple[str, ...]) -> list[str]:
    return sorted({flag for flags in found for flag in flags})


def _line(value: object, most: int) -> str:
    return to_one_line(value[: 2 * most], most) if isinstance(value, str) else ""


def _who(value: object) -> str:
    """A name, alone or in an object."""
    return _line(value.get("name") if isinstance(value, dict) else value, _NAME_LENGTH)


def _count(given: Mapping[str, Any], *names: str) -> int:
    found = next((given[name] for name in names if type(given.get(name)) is int), 0)
    return int(max(-(10**9), min(10**9, found)))


def _time(value: object) -> str | None:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else None


def _named(given: Mapping[str, Any], key: str, make: Callable[[str], T]) -> T | None:
    value = given.get(key)
    identity = _line(str(value) if type(value) is int else value, 100)
    return make(identity) if identity else None
