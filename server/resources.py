"""Resources of a vault: ``memory://{id}`` and ``vault://status``. Knows no protocol.

Every look goes through dispatch by way of a tool, so authorisation, quota, deadline and log are those of any call. A
URI names no vault: it is read in the vault the caller is in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from server.call import Caller
from server.dispatch import Outcome, dispatch
from server.services import Services
from vaults.errors import InvalidArgument, NotFound

STATUS = "vault://status"
MEMORY_TEMPLATE = "memory://{id}"
MARKDOWN, JSON = "text/markdown", "application/json"
COMPLETIONS = 100
_LISTED, _LISTED_TOKENS = 50, 20_000
_LOOKED_AT, _LOOKED_AT_TOKENS = 200, 100_000

_MEMORY = re.compile(r"memory://([0-9A-Za-z-]{1,64})", re.ASCII)


class Refused(Exception):
    """The door said no; ``outcome`` is what it said. An answer, not an error of ours."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list. ``size`` in bytes where known; ``modified`` RFC 3339."""

    uri: str
    name: str
    description: str
    mime_type: str
    size: int | None = None
    modified: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """One resource, read. ``about`` is what is known of it besides its text."""

    uri: str
    mime_type: str
    text: str
    about: dict[str, Any]


def memory_uri(memory_id: str) -> str:
    """The URI of a memory."""
    return f"memory://{memory_id}"


async def listed(services: Services, caller: Caller, cursor: str | None) -> tuple[list[Entry], str | None]:
    """A page of resources, newest memories first, and the cursor of the next. Raises ``Refused``."""
    if cursor == "":
        raise InvalidArgument("cursor", "is not one this listing gave")
    arguments = {"limit": _LISTED, "max_tokens": _LISTED_TOKENS} | ({} if cursor is None else {"cursor": cursor})
    page = await _asked(services, caller, "memory_list", arguments)
    first = [] if cursor is not None else [Entry(STATUS, "status", "How this vault is, as JSON", JSON)]
    return [*first, *(_entry(memory) for memory in page["memories"])], page.get("cursor")


async def read(services: Services, caller: Caller, uri: str) -> Contents:
    """One resource. Raises ``NotFound``, the same for what is absent and what is not the caller's, or ``Refused``."""
    if uri == STATUS:
        status = await _asked(services, caller, "status", {})
        return Contents(uri, JSON, json.dumps(status, ensure_ascii=False, indent=2), {})
    memory_id = _memory_id(uri)
    found = await _asked(services, caller, "memory_get", {"ids": [memory_id]})
    if not found["memories"]:
        raise _absent()
    memory = found["memories"][0]
    about = {name: value for name, value in memory.items() if name != "content"} | {"links": found["links"]}
    return Contents(uri, MARKDOWN, _document(memory), about)


async def check_readable(services: Services, caller: Caller, uris: Iterable[str]) -> None:
    """Raise ``NotFound`` unless the caller may read every one of ``uris``; ``InvalidArgument`` for more than 50."""
    ids = [_memory_id(uri) for uri in dict.fromkeys(uris) if uri != STATUS]
    if len(ids) > 50:
        raise InvalidArgument("resourceSubscriptions", "must be at most 50 URIs")
    if ids:
        found = await _asked(services, caller, "memory_get", {"ids": ids})
        if found["missing"]:
            raise _absent()


async def completed(services: Services, caller: Caller, value: str) -> list[str]:
    """Ids whose id begins with ``value`` or whose title holds it: among the newest, and what its words find."""
    wanted = value.strip().casefold()[:200]
    listing = {"limit": _LOOKED_AT, "max_tokens": _LOOKED_AT_TOKENS}
    seen = list((await _asked(services, caller, "memory_list", listing))["memories"])
    if re.search(r"\w", wanted):
        search = {"query": wanted, "mode": "keyword", "limit": COMPLETIONS, "max_tokens": _LOOKED_AT_TOKENS}
        seen += (await _asked(services, caller, "recall", search))["hits"]
    fitting = (each["id"] for each in seen if each["id"].startswith(wanted) or wanted in each["title"].casefold())
    return list(dict.fromkeys(fitting))


async def _asked(services: Services, caller: Caller, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    outcome = await dispatch(services, caller, tool, arguments)
    if not outcome.ok:
        raise Refused(outcome)
    return outcome.content


def _memory_id(uri: str) -> str:
    match = _MEMORY.fullmatch(uri)
    if match is None:
        raise _absent()
    return match[1]


def _absent() -> NotFound:
    return NotFound("Resource not found")


def _entry(memory: Mapping[str, Any]) -> Entry:
    about = f"{memory['type']} by {memory['author']}"
    size = len(_document(memory).encode())
    return Entry(memory_uri(memory["id"]), memory["title"], about, MARKDOWN, size, memory["updated_at"])


def _document(memory: Mapping[str, Any]) -> str:
    """Markdown under a header of quoted values: nothing in a title or author can end the header."""
    names = ("id", "type", "title", "author", "created_at", "tags", "superseded_by")
    lines = [f"{name}: {json.dumps(memory[name], ensure_ascii=False)}" for name in names if memory.get(name)]
    return "\n".join(["---", *lines, "---", "", memory["content"]])
