"""Whose grant is meant where no issuer is named."""

from __future__ import annotations

from collections.abc import Sequence

from auth.grants import default_issuer, list_grants
from auth.people import people
from auth.tokens import has_local_tokens
from vaults.db.sql import Reader


def issuer_of(reader: Reader, issuers: Sequence[str], subject: str) -> str:
    """The issuer meant when none is named; ``issuers``: those outside that the settings list. Raises
    ``InvalidArgument`` when several are possible."""
    is_ours = has_local_tokens(reader, subject) or people.find(reader, subject) is not None
    return default_issuer(subject, issuers, has_local_tokens=is_ours)


def issuer_of_grant(reader: Reader, issuers: Sequence[str], subject: str, vault: str) -> str:
    """The issuer of the grant to remove; if there is only one such grant, it need not be named."""
    held = {each.issuer for each in list_grants(reader) if (each.subject, each.vault) == (subject, vault)}
    return held.pop() if len(held) == 1 else issuer_of(reader, issuers, subject)
