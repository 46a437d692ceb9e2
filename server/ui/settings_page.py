"""Every setting as it holds, and where it was set. Read alone: they are changed where the server is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import Response

from server.effective_settings import effective, to_text
from server.redaction import redact_addresses
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage

MAX_TEXT = 200

_COMMANDS = frozenset({"extraction.command"})
_SECRET_PLACES = frozenset({"audit.webhook"})
"""Addresses that let in whoever knows them, as those of chats and of collectors of logs do."""


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """``value``: "" where it has none. ``source``: default, environment, flag, or the path of the file."""

    name: str
    value: str
    source: str

    @property
    def is_set(self) -> bool:
        return self.source != "default"

    def has(self, text: str) -> bool:
        """Whether this text stands in it, in whatever case."""
        return any(text.lower() in each.lower() for each in (self.name, self.value, self.source))


async def show(view: AdminView) -> Response:
    """The page. ``text`` narrows it, and so does ``only=set``."""
    given = view.request.query_params
    text, only_set = given.get("text", "").strip()[:MAX_TEXT], given.get("only") == "set"
    every = list_settings(effective(view.services.settings, view.parts.sources))
    found = [each for each in every if each.has(text) and (each.is_set or not only_set)]
    return view.page("settings", here="settings", text=text, only_set=only_set, found=found)


def list_settings(held: Mapping[str, Mapping[str, Any]]) -> Sequence[ShownSetting]:
    """As a browser may show them, which is less than on a terminal of the server's machine: what stands in an address
    after a question mark, behind the host of a webhook, or behind the name of a command, may be a secret."""
    return [ShownSetting(name, _conceal(name, each["value"]), each["source"]) for name, each in held.items()]


def _conceal(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _COMMANDS and len(value) > 1:
        value = [value[0], "********"]
    if name in _SECRET_PLACES:
        place = urlsplit(value)
        value = f"{place.scheme}://{place.netloc}{'/********' if value.count('/') > 2 else ''}"
    return redact_addresses(to_text(value))


PAGE = AdminPage("settings", show)
