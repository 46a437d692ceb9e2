"""What a site asks programs to leave alone, kept for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaults.listed_hosts import WebAddress

if TYPE_CHECKING:
    from urllib.robotparser import RobotFileParser

AGENT = "strongroom"
"""What we call ourselves."""

ROBOTS_PATH = "/robots.txt"

ROBOTS_BYTES = 512 * 1024
"""Bytes of a robots.txt that are read; the standard asks for no more."""

KEPT_S = 3600.0
SITES = 256


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of a site. None: they could not be read, and then a site is to be left alone."""

    parser: RobotFileParser | None

    def allows(self, url: str) -> bool:
        return self.parser is not None and self.parser.can_fetch(AGENT, url)


class RobotsCache:
    """The rules of the sites asked last. Times are readings of ``clock``, monotonic seconds."""

    size = ROBOTS_BYTES

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, RobotsRules]] = OrderedDict()

    def find(self, address: WebAddress) -> RobotsRules | None:
        """The rules of a site; None: they are to be read."""
        read_at, rules = self._known.get(address.origin, (0.0, None))
        return rules if rules is not None and self._clock() - read_at < KEPT_S else None

    def keep(self, address: WebAddress, text: bytes | None) -> RobotsRules:
        """Remember the text of a robots.txt; None: the site did not say."""
        rules = RobotsRules(None if text is None else _parse(text))
        self._known[address.origin] = (self._clock(), rules)
        self._known.move_to_end(address.origin)
        while len(self._known) > SITES:
            self._known.popitem(last=False)
        return rules


def _parse(text: bytes) -> RobotFileParser:
    from urllib.robotparser import RobotFileParser  # with a client we do not use: half of all this package loads

    parser = RobotFileParser()
    parser.parse(text.decode("utf-8-sig", "replace").splitlines())
    return parser
