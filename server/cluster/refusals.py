"""What belongs to one machine, refused by name before a process takes part in a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from server.settings import Settings
from vaults.errors import InvalidArgument
from vaults.registry import VaultEntry

_WAY_OUT = "turn it off, or leave cluster.url unset and serve from one machine"


def refuse_for_cluster(settings: Settings, entries: Iterable[VaultEntry] = ()) -> None:
    """Raise ``InvalidArgument`` for the first setting, or vault, that one machine alone can have, with the reason."""
    for is_on, name, reason in (
        (settings.server.workers > 1, "server.workers", "must be 1: each process is a server of its own in a cluster"),
        (
            bool(settings.backup.log),
            "backup.log",
            "cannot be kept: the cluster's database holds the log of every vault",
        ),
        (
            settings.notes.history != "off",
            "notes.history",
            "must be off: a Git history lies on the disk of one machine",
        ),
        (
            settings.notes.repository is not None,
            "notes.repository",
            "cannot be set: a repository lies on the disk of one machine",
        ),
        (
            bool(settings.collections.roots),
            "collections.roots",
            "must be empty: a folder that is followed lies on the disk of one machine",
        ),
    ):
        if is_on:
            raise InvalidArgument(name, f"{reason} (cluster.url is set)", hint=_WAY_OUT)
    for entry in entries:
        refuse_served_in_place(entry)


def refuse_served_in_place(entry: VaultEntry) -> None:
    """Raise ``InvalidArgument`` for a vault whose notes are a folder of one machine."""
    if entry.path is not None and entry.state == "active":
        raise InvalidArgument(
            f"vault {entry.name}",
            "serves a folder in place, which lies on the disk of one machine",
            hint="make a vault without a folder, and copy the notes there; or archive this one",
        )


def refuse_stdio() -> None:
    """Raise ``InvalidArgument`` for a client's process that would serve vaults itself."""
    raise InvalidArgument(
        "stdio",
        "cannot serve vaults of a cluster: it would take one from the servers for as long as its client runs"
        " (cluster.url is set)",
        hint="pass on to a server of the cluster: --url, --token-file",
    )
