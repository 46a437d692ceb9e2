"""A request to the API and its answer, or the error that the answer stands for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from vaults.domain.text.sanitize import to_one_line
from vaults.errors import Conflict, Forbidden, InvalidArgument, NotFound, Overloaded, RateLimited
from vaults.index.traits import is_adversarial

DEFAULT_WAIT_S = 60.0
"""Seconds to wait after a 429 that does not say how long."""

LONGEST_WAIT_S = 7 * 86_400.0
"""Seconds a network can at most make somebody wait: more is nonsense or spite."""

RETRY_S = 30.0
"""Seconds after which a network that failed is worth another try."""

_REASON_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A call of the API. ``path`` is made by ``path_of``; values that are None are left out."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def target(self) -> str:
        """Path and query."""
        given = {name: str(value) for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(given)}" if given else self.path


def path_of(*parts: str) -> str:
    """A path, each part of which is one segment whatever it holds. Raises ``InvalidArgument`` for one that cannot be:
    a dot would mean another folder."""
    for part in parts:
        if not part.strip("."):
            raise InvalidArgument("name", "must not be blank or dots")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What came back. ``body`` is JSON of somebody else's: nothing of it is shown but through ``network_items``."""

    status: int
    body: Any = None
    retry_after: str | None = None  # the header

    @property
    def ok(self) -> bool:
        """Whether the call did what it was for."""
        refused = isinstance(self.body, dict) and self.body.get("success") is False
        return 200 <= self.status < 300 and not refused

    @property
    def refuses_key(self) -> bool:
        """Whether the API key is not accepted."""
        return self.status in (401, 403)

    def require_ok(self) -> Any:
        """The body. Raises the error that another answer stands for."""
        if self.ok:
            return self.body
        if self.status == 429:
            wait = self.wait_s()
            raise RateLimited(f"Moltbook asks to wait: try again in {wait:g} s", retry_after_s=wait)
        if self.refuses_key:
            raise Forbidden("Authentication failed: Moltbook does not accept the API key", hint="log in again")
        if self.status >= 500 or self.status < 200:
            raise Overloaded(f"Moltbook failed ({self.status}): try again later", retry_after_s=RETRY_S)
        if 300 <= self.status < 400:  # the key would follow to wherever it says
            raise Overloaded("Moltbook redirects: the address in social.moltbook.url is not the API's")
        if self.status == 404:
            raise NotFound(f"Moltbook has no such thing{self._reason()}")
        raise Conflict(f"Moltbook refused ({self.status}){self._reason()}")

    def wait_s(self) -> float:
        """Seconds it asks to wait: from the answer, else the header."""
        body = self.body if isinstance(self.body, dict) else {}
        given = (
            (body.get("retry_after_seconds"), 1),
            (body.get("retry_after"), 1),
            (body.get("retry_after_minutes"), 60),
        )
        for value, unit in (*given, (self.retry_after, 1)):
            seconds = _to_seconds(value, unit)
            if seconds is not None:
                return seconds
        return DEFAULT_WAIT_S

    def _reason(self) -> str:
        """What it says, in quotes: somebody else's words in a sentence of ours. None that give orders."""
        said = self.body.get("error") if isinstance(self.body, dict) else None
        if not isinstance(said, str) or not said.strip() or is_adversarial(said[:_REASON_LENGTH]):
            return ""
        words = to_one_line(said[: 2 * _REASON_LENGTH], _REASON_LENGTH).replace('"', "'")
        return f': it says "{words}"'


def _to_seconds(value: object, unit: int) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value) * unit
    except (ValueError, OverflowError):
        return None
    return min(math.ceil(seconds), LONGEST_WAIT_S) if math.isfinite(seconds) and seconds >= 0 else None
