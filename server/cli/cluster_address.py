"""Which database a command of ``strongroom cluster`` is about, and commands that are for one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from server.cluster_settings import ClusterSettings

Url = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="postgresql:// address of the database; default: cluster.url; others see it in ps"
    ),
]


def cluster_settings(settings: ClusterSettings, url: str | None) -> ClusterSettings:
    """Those in effect, or with ``url`` for their database. Raises ``InvalidArgument`` where neither names one."""
    from vaults.errors import InvalidArgument

    if url is not None:
        return settings.model_copy(update={"url": url, "url_file": None})
    if not settings.is_on:
        raise InvalidArgument("--url", "or cluster.url, cluster.url_file in the settings is needed")
    return settings


WAYS = {
    "--control": (
        "backs up or brings back files of one machine, and here they are rows of PostgreSQL",
        "back PostgreSQL up, and restore that: docs/cluster.md, Backup",
    ),
}
"""What belongs to one machine: the reason, and what to do."""


def refuse_in_cluster(settings: ClusterSettings, what: str) -> None:
    """Raise ``InvalidArgument`` where several servers share the installation. ``what``: one of ``WAYS``."""
    from vaults.errors import InvalidArgument

    if settings.is_on:
        reason, way = WAYS[what]
        raise InvalidArgument(what, f"{reason} (cluster.url is set)", hint=way)
