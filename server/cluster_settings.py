"""The settings of a server that is one of several over one PostgreSQL."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from vaults.errors import InvalidArgument
from vaults.settings import SettingsSection

SERVER_NAME = r"^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$"

URL_LIMIT = 4096
"""Bytes of a connection string at most."""


class ClusterSettings(SettingsSection):
    url: Annotated[
        str | None,
        Field(
            min_length=1,
            repr=False,
            description="postgresql:// address of the database by which several servers are one installation",
        ),
    ] = None
    url_file: Annotated[str | None, Field(description="file that holds the address of that database")] = None
    name: Annotated[
        str | None,
        Field(
            pattern=SERVER_NAME,
            description="what this server is called; default: the name of its machine",
        ),
    ] = None
    host: Annotated[
        str | None,
        Field(description="address to listen on for other servers; default: the one that reaches the database"),
    ] = None
    port: Annotated[
        int, Field(ge=0, le=65535, description="port to listen on for other servers; 0 takes a free one")
    ] = 0
    address: Annotated[
        str | None,
        Field(
            pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}$",
            description="host:port where other servers reach this one; default: where it listens",
        ),
    ] = None
    weight: Annotated[
        float,
        Field(ge=0.01, le=100, description="how many vaults this server is to have, beside servers of other weights"),
    ] = 1.0
    lease_s: Annotated[
        float,
        Field(ge=1, le=60, description="seconds after which a server that is not heard loses its vaults to others"),
    ] = 3.0
    busy_at: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="share of its cores, or of storage.memory_budget_mb, above which this server gives vaults to "
            "one that uses less; 1: never",
        ),
    ] = 0.7
    move_every_s: Annotated[
        float, Field(ge=1, le=86400, description="seconds between two vaults that a busy server gives away")
    ] = 60.0
    connections: Annotated[
        int, Field(ge=2, le=200, description="connections of this server to the database at most")
    ] = 8
    standby_above_mb: Annotated[
        int,
        Field(
            ge=0,
            le=1024 * 1024,
            description="MB above which a second server keeps a copy of a vault, for when its own one dies; 0: none",
        ),
    ] = 64

    @model_validator(mode="after")
    def _check_together(self) -> ClusterSettings:
        if self.url and self.url_file:
            raise ValueError("may not have both cluster.url and cluster.url_file")
        return self

    @property
    def is_on(self) -> bool:
        """Whether this server is one of several."""
        return self.url is not None or self.url_file is not None

    @property
    def server_name(self) -> str:
        """What this server is called: as its operator says, or as its machine is."""
        if self.name is not None:
            return self.name
        machine = re.sub(r"[^a-z0-9._-]+", "-", socket.gethostname().lower())[:63].strip("._-")
        return machine or "server"

    def read_url(self) -> str:
        """The address of the database. Blocking. Raises ``InvalidArgument`` for a file that cannot be read, and never
        says what it holds."""
        if self.url_file is None:
            return self.url or ""
        try:
            with Path(self.url_file).expanduser().open("rb") as opened:
                url = opened.read(URL_LIMIT + 1)
        except (OSError, ValueError) as failure:
            reason = getattr(failure, "strerror", None) or "is no name of a file"
            raise InvalidArgument("cluster.url_file", f"cannot be read: {reason}") from None
        if not 0 < len(url.strip()) <= URL_LIMIT:
            raise InvalidArgument("cluster.url_file", f"must hold 1 to {URL_LIMIT} bytes")
        return url.strip().decode("utf-8", "replace")
