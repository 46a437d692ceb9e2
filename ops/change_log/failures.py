"""What can be wrong with a log."""

from __future__ import annotations

from vaults.errors import Conflict, InvalidArgument


class LogTaken(Conflict):
    """Another writes the log now: an installation with the same vault, from a copied data folder."""


def broken_log(reason: str) -> InvalidArgument:
    """The error for a log that is not what was written, naming what is wrong."""
    return InvalidArgument("log", reason, hint="restore an earlier moment, or a backup")
