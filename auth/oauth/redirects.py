"""Where a client may have people sent back to. Pure.

https anywhere, or plain http on this machine, as RFC 8252 has it for programs without a server of their own. What is
asked for must be what was registered, character for character, but for the port of a loopback address: the program
takes whichever is free (§7.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Exactly these: ``localhost.example`` is somebody else's machine."""

LONGEST = 500


def check_redirect(uri: str) -> None:
    """Raise ``ValueError`` with the reason for one nobody may register."""
    if len(uri) > LONGEST or not all("!" <= each <= "~" for each in uri) or "\\" in uri:
        raise ValueError(f"a redirect URI is at most {LONGEST} characters of plain ASCII")
    parts = urlsplit(uri)
    try:
        _ = parts.port
    except ValueError as failure:
        raise ValueError("a redirect URI needs a port that is a number") from failure
    if not parts.hostname or "@" in parts.netloc or "#" in uri:
        raise ValueError("a redirect URI has a host, and neither user nor fragment")
    if parts.scheme != "https" and not _is_loopback(parts):
        raise ValueError("a redirect URI is https, or http to 127.0.0.1, [::1] or localhost")


def is_registered(asked: str, registered: Iterable[str]) -> bool:
    """Whether a redirect is one of those registered."""
    return any(asked == each or _differ_in_port(asked, each) for each in registered)


def origin_of(uri: str) -> str:
    """Scheme, host and port: what people are told, and what a page may send its form to."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _differ_in_port(asked: str, registered: str) -> bool:
    one, other = urlsplit(asked), urlsplit(registered)
    try:
        check_redirect(asked)
    except ValueError:
        return False
    return (
        _is_loopback(one)
        and _is_loopback(other)
        and one.hostname == other.hostname
        and (one.path, one.query) == (other.path, other.query)
    )
