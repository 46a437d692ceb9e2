"""Reads a page from a listed host, with its redirects, within bounds of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urljoin

from vaults.listed_hosts import ListedHosts, WebAddress, WebRefused, parse_address
from vaults.web.robots import AGENT, ROBOTS_PATH, RobotsCache

if TYPE_CHECKING:
    import httpcore2

    from vaults.web.pinned_connections import Resolver

MAX_REDIRECTS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

PageProblem = Literal["refused", "robots", "unreachable", "timeout", "too_large", "gone", "failed"]


class PageFailed(Exception):
    """A page that was not read. ``message`` is for people; ``gone``: the site says that it is there no more."""

    def __init__(self, problem: PageProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class PageVersion:
    """By what a site knows whether a page changed."""

    etag: str | None = None
    last_modified: str | None = None

    def to_headers(self) -> dict[str, str]:
        """The question whether it did."""
        asked = {"if-none-match": self.etag, "if-modified-since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it came. ``data`` is None where it is what the caller knows; ``url``: where it was in the end."""

    url: str
    name: str
    data: bytes | None
    mime: str | None
    version: PageVersion


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may cost, its redirects included."""

    size: int
    seconds: float


class PageFetcher:
    """Reads pages of listed hosts. Belongs to one event loop; ``close`` when done."""

    def __init__(self, hosts: ListedHosts, limits: PageLimits, resolver: Resolver | None = None) -> None:
        self.hosts = hosts
        self._limits = limits
        self._resolver = resolver
        self._robots = RobotsCache()
        self._opening = asyncio.Lock()
        self._connections: httpcore2.AsyncConnectionPool | None = None

    async def fetch(self, url: str, known: PageVersion = PageVersion()) -> WebPage:
        """The page at an address, unless it is ``known``. Raises ``PageFailed``."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._follow(_parse(url), known)
        except TimeoutError:
            raise PageFailed("timeout", f"did not come within {self._limits.seconds:g} s") from None

    async def close(self) -> None:
        """Close the connections."""
        async with self._opening:
            connections, self._connections = self._connections, None
        if connections is not None:
            await connections.aclose()

    async def _follow(self, address: WebAddress, known: PageVersion) -> WebPage:
        for _ in range(MAX_REDIRECTS + 1):
            await self._check_robots(address)
            answer = await self._ask(address, known.to_headers(), self._limits.size)
            if answer.status in _REDIRECTS and answer.location:
                address = _parse(urljoin(address.url, answer.location))
                continue
            return _to_page(address, answer, known)
        raise PageFailed("failed", f"leads on more than {MAX_REDIRECTS} times")

    def _check(self, address: WebAddress) -> None:
        try:
            self.hosts.check(address)
        except WebRefused as reason:
            raise PageFailed("refused", str(reason)) from None

    async def _check_robots(self, address: WebAddress) -> None:
        rules = self._robots.find(address)
        if rules is None:
            rules = self._robots.keep(address, await self._read_robots(address))
        if not rules.allows(address.url):
            raise PageFailed("robots", f"is closed to programs by {address.origin}{ROBOTS_PATH}")

    async def _read_robots(self, address: WebAddress) -> bytes | None:
        """The text of robots.txt; empty where there is none, None where it cannot be told, which closes the site."""
        at = WebAddress(address.scheme, address.host, address.port, ROBOTS_PATH)
        for _ in range(MAX_REDIRECTS + 1):
            try:
                answer = await self._ask(at, {}, self._robots.size)
            except PageFailed as failure:
                if failure.problem == "too_large":
                    return None
                raise
            if answer.status in _REDIRECTS and answer.location:
                at = _parse(urljoin(at.url, answer.location))
                continue
            return answer.body if answer.status == 200 else b"" if 400 <= answer.status < 500 else None
        return b""

    async def _ask(self, address: WebAddress, headers: Mapping[str, str], size: int) -> _WebAnswer:
        import httpcore2

        self._check(address)  # here, where everything passes that is asked for
        connections = await self._opened()
        sent = {"host": address.authority, "user-agent": AGENT, "accept": "*/*", "accept-encoding": "identity"}
        try:
            async with connections.stream("GET", address.url, headers=list((sent | dict(headers)).items())) as response:
                return await _read_answer(response, size)
        except WebRefused as reason:
            raise PageFailed("refused", str(reason)) from None
        except (httpcore2.ConnectError, OSError):
            raise PageFailed("unreachable", f"cannot be reached: {address.authority} does not answer") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
            raise PageFailed("unreachable", f"cannot be read: {address.authority} broke off") from None

    async def _opened(self) -> httpcore2.AsyncConnectionPool:
        async with self._opening:
            if self._connections is None:
                self._connections = await asyncio.to_thread(_open, self.hosts, self._resolver)
            return self._connections


@dataclass(frozen=True, slots=True)
class _WebAnswer:
    """One answer of a site."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def location(self) -> str | None:
        return self.headers.get("location")


def _open(hosts: ListedHosts, resolver: Resolver | None) -> httpcore2.AsyncConnectionPool:
    from vaults.web.pinned_connections import open_connections, resolve

    return open_connections(hosts, resolver or resolve)


async def _read_answer(response: httpcore2.Response, size: int) -> _WebAnswer:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    if response.status != 200:
        return _WebAnswer(response.status, headers, b"")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise PageFailed("failed", "came compressed, though that was not asked for: its size cannot be told")
    declared = headers.get("content-length", "")
    body = bytearray()
    if not (declared.isdigit() and int(declared) > size):
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > size:
                break
        else:
            return _WebAnswer(response.status, headers, bytes(body))
    raise PageFailed("too_large", f"is longer than {size:,} bytes")


def _parse(url: str) -> WebAddress:
    try:
        return parse_address(url)
    except WebRefused as reason:
        raise PageFailed("refused", str(reason)) from None


def _to_page(address: WebAddress, answer: _WebAnswer, known: PageVersion) -> WebPage:
    if answer.status == 304 and known.to_headers():
        return WebPage(address.url, _name(address, None), None, None, known)
    if answer.status in (404, 410):
        raise PageFailed("gone", f"is not there: {address.authority} answers {answer.status}")
    if answer.status != 200:
        raise PageFailed("failed", f"was not given: {address.authority} answers {answer.status}")
    mime = answer.headers.get("content-type", "").partition(";")[0].strip().lower() or None
    version = PageVersion(answer.headers.get("etag"), answer.headers.get("last-modified"))
    return WebPage(address.url, _name(address, mime), answer.body, mime, version)


def _name(address: WebAddress, mime: str | None) -> str:
    """A file name for the page, by which its format is told where the site does not say it."""
    last = unquote(address.target.partition("?")[0].rpartition("/")[2]).replace("/", "_")
    if not last:
        return "index.html"
    return last if "." in last or mime not in ("text/html", "application/xhtml+xml") else f"{last}.html"
