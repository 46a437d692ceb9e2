"""Why a token was refused. Only the chain raises it to a door, and only a door turns it into a 401."""

from __future__ import annotations

from typing import Literal, TypeAlias

TokenFault: TypeAlias = Literal[
    "header",  # no single well-formed Authorization header
    "malformed",  # not a compact JWS, or a header or payload that is not what it should be
    "too_large",
    "issuer",  # nobody here answers for this issuer
    "key",  # no key under this kid, or not for this algorithm
    "keys_unavailable",  # the issuer's keys cannot be fetched and none are cached
    "signature",
    "claims",  # a claim is missing or of the wrong shape
    "audience",
    "expired",
    "not_yet_valid",  # or issued in the future
    "revoked",  # revoked, or an id this installation never issued
]


class TokenInvalid(Exception):
    """``reason`` is from a closed set and safe for logs and metrics; the caller only ever sees ``invalid_token``.

    For logs, too: ``found`` is what a claim says instead of what is expected, ``principal`` the ``Principal.key`` of a
    caller whose token is signed well and refused for something else.
    """

    def __init__(self, reason: TokenFault, found: str | None = None, principal: str | None = None) -> None:
        super().__init__(reason)
        self.reason: TokenFault = reason
        self.found = found
        self.principal = principal
