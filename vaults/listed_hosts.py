"""Which hosts may be asked, and which addresses their names may lead to. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urlsplit

IPAddress = IPv4Address | IPv6Address

DEFAULT_PORTS = {"http": 80, "https": 443}

MAX_ADDRESS = 2048

_PATTERN = re.compile(
    r"(?P<host>(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f:.]+?)(?P<port>:(?:\*|[0-9]{1,5}))?",
    re.ASCII | re.IGNORECASE,
)
_LABELS = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*", re.ASCII)
# What resolvers read as an IPv4 address: its last part is a number, decimal, octal or hexadecimal.
_NUMERIC = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)", re.ASCII)
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")


class WebRefused(Exception):
    """An address that may not be read. The message is for whoever gave it."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address, taken apart once: the same parts are checked and asked."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port, as in a ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target}"


def parse_address(text: str) -> WebAddress:
    """Take an address apart. Raises ``WebRefused`` for what is none, or could be read in two ways."""
    if len(text) > MAX_ADDRESS or re.search(r"[\x00-\x20\x7f\\]", text):
        raise WebRefused("is no address of a page: it is too long, or has spaces or backslashes in it")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise WebRefused("is no address of a page") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise WebRefused("must begin with https:// or http://")
    if "@" in parts.netloc:
        raise WebRefused("must not hold a name or password")
    path = quote(parts.path or "/", safe="/:@!$&'()*+,;=~%-._")
    query = f"?{quote(parts.query, safe='/:@!$&()*+,;=~%-._?[]')}" if parts.query else ""
    return WebAddress(parts.scheme, _normalize_host(host), port or DEFAULT_PORTS[parts.scheme], f"{path}{query}")


def _normalize_host(host: str) -> str:
    """A host in the one form it is compared in. Raises ``WebRefused``."""
    if (address := _to_ip(host)) is not None:
        return str(address)
    host = host.removesuffix(".").lower()
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise WebRefused("has a host that is none") from None
    if _NUMERIC.fullmatch(host) and _to_ip(host) is None:
        raise WebRefused("has a host that is an address in an unusual form: write it as four decimal numbers")
    if _to_ip(host) is None and not _LABELS.fullmatch(host):
        raise WebRefused("has a host that is none")
    return host


def _to_ip(text: str) -> IPAddress | None:
    """The address behind a text in its usual form; None for names and unusual forms."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if getattr(address, "scope_id", None) else address


@dataclass(frozen=True)
class ListedHosts:
    """Hosts as an operator lists them: ``docs.example.org``, ``*.example.org`` for whatever is below, an address, each
    with ``:port`` where it is not the usual one, or ``:*`` for any."""

    patterns: Sequence[str]

    def check(self, address: WebAddress) -> None:
        """Raises ``WebRefused`` for a host that is not listed."""
        if not any(pattern.fits(address) for pattern in self._parsed):
            raise WebRefused(f"is on {address.authority}, which the operator does not list (setting ingest.hosts)")

    def check_reached(self, host: str, addresses: Sequence[str]) -> list[str]:
        """The addresses a name leads to, all of which must be public or listed themselves: a name that leads to both
        kinds is a trap. Raises ``WebRefused``."""
        if not addresses:
            raise WebRefused(f"is on {host}, which has no address")
        found = [_to_ip(each) for each in addresses]
        if not all(each is not None and (is_public(each) or self._lists(each)) for each in found):
            raise WebRefused(f"is on {host}, which leads to an address that is not public")
        return [str(each) for each in found]

    def _lists(self, address: IPAddress) -> bool:
        return any(pattern.address == address for pattern in self._parsed)

    @cached_property
    def _parsed(self) -> tuple[_HostPattern, ...]:
        return tuple(parse_pattern(each) for each in self.patterns)


@dataclass(frozen=True, slots=True)
class _HostPattern:
    """One line of the list."""

    host: str
    port: int | None  # None: the usual ones
    any_port: bool
    below: bool  # whatever is below the host, not the host itself
    address: IPAddress | None

    def fits(self, address: WebAddress) -> bool:
        usual = self.port is None and address.port == DEFAULT_PORTS[address.scheme]
        if not (self.any_port or usual or self.port == address.port):
            return False
        if self.address is not None:
            return _to_ip(address.host) == self.address
        return address.host.endswith(f".{self.host}") if self.below else address.host == self.host


def parse_pattern(text: str) -> _HostPattern:
    """Raises ``ValueError`` for what is no pattern."""
    bare = _to_ip(text)
    match = _PATTERN.fullmatch(text) if bare is None else None
    if bare is None and match is None:
        raise ValueError(f"must be hosts such as docs.example.org, *.example.org or 10.0.0.5:8080, not {text[:80]}")
    host = text if match is None else match["host"].removeprefix("[").removesuffix("]")
    port = "" if match is None else (match["port"] or "")[1:]
    below = host.startswith("*.")
    try:
        name = _normalize_host(host.removeprefix("*."))
    except WebRefused as reason:
        raise ValueError(f"has {text[:80]}, which {reason}") from None
    address = _to_ip(name)
    if port.isdigit() and not 0 < int(port) < 65_536:
        raise ValueError(f"has a port that is none: {text[:80]}")
    if below and (address is not None or "." not in name):
        raise ValueError(f"has a host that is too wide: {text[:80]}")
    return _HostPattern(name, int(port) if port.isdigit() else None, port == "*", below, address)


def is_public(address: IPAddress) -> bool:
    """Whether an address is of the public internet, and stands for no other."""
    if isinstance(address, IPv6Address):
        wraps = address.ipv4_mapped or address.sixtofour or address.teredo
        if wraps is not None or address in _NAT64 or address in _NAT64_LOCAL:
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified or address.is_loopback
    )
