"""Whose the cluster's database is when an installation of one machine moves in: its own, from the first time on."""

from __future__ import annotations

from server.cluster_settings import ClusterSettings
from vaults.cluster.postgres import schema
from vaults.cluster.postgres.connections import Connection, DatabaseLogin, in_transaction
from vaults.errors import InvalidArgument

ANSWER_S = 60.0
"""An operator waits longer than a server."""

_IN_USE = """
SELECT EXISTS (SELECT FROM strongroom_control.vaults) OR EXISTS (SELECT FROM strongroom.placement)
    OR EXISTS (SELECT FROM strongroom.servers WHERE expires > clock_timestamp())
"""


def adopt_installation(settings: ClusterSettings, installation: str) -> None:
    """Lay the tables out for this installation, or have tables that nobody has used yet be its own. Blocking. Raises
    ``InvalidArgument`` for a database that another installation uses, ``LogUnavailable``."""
    login = DatabaseLogin(settings.read_url(), pool_size=1, answer_s=ANSWER_S)
    with schema.single_connection(login) as connection:
        there = schema.installation_of(connection)
        if there is not None and there != installation:
            in_transaction(connection, lambda opened: _adopt(opened, installation))
    schema.lay_out(login, installation)


def _adopt(connection: Connection, installation: str) -> None:
    connection.execute("LOCK TABLE strongroom.installation")
    if connection.execute(_IN_USE).fetchone() == (True,):
        raise InvalidArgument(
            schema.SETTING,
            "belongs to another installation, which has vaults or servers",
            hint="give each installation a database of its own",
        )
    connection.execute("UPDATE strongroom.installation SET id = %s", (installation,))
    connection.execute(
        "INSERT INTO strongroom_control.installation (key, value) VALUES ('instance_id', %s)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (installation,),
    )
