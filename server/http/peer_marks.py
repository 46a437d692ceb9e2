"""What servers say to each other about a request, in headers that nobody else is believed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

from server.http.request_head import Headers

HELLO_PATH = "/peer/hello"

FORWARDED = b"x-strongroom-forwarded"
"""On a request that another server took: for whom."""

NOT_SERVED = b"x-strongroom-not-served"
"""On an answer to one: nothing was done, since the vault is not there any more."""

TOOK = b"x-strongroom-took"
"""On the same: seconds from the request's arrival there to the head of the answer."""

OWN = frozenset({FORWARDED, NOT_SERVED, TOOK})


@dataclass(frozen=True, slots=True)
class ForwardedFor:
    """The client, as the server knows it that the request came to."""

    address: str | None
    scheme: str = "http"

    @classmethod
    def of(cls, scope: Scope) -> ForwardedFor:
        client = scope.get("client")
        return cls(client[0] if client else None, scope.get("scheme", "http"))

    def encode(self) -> bytes:
        """As a header's value."""
        return f"{self.scheme};{self.address or ''}".encode("latin-1")

    @classmethod
    def decode(cls, value: bytes) -> ForwardedFor:
        scheme, _, address = value.decode("latin-1").partition(";")
        return cls(address or None, "https" if scheme == "https" else "http")


def was_forwarded(scope: Scope) -> bool:
    """Whether another server took this request, and checked where it comes from."""
    return "forwarded" in scope.get("state", {})


def without_own(headers: Headers) -> Headers:
    """Headers without those that servers use among themselves."""
    return [header for header in headers if header[0] not in OWN]
