"""MBOX: an archive of messages, read by ``mail``."""

from __future__ import annotations

from vaults.formats.mail import parse_mbox as parse

__all__ = ["parse"]
