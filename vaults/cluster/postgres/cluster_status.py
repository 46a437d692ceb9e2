"""What a cluster looks like from its database: servers, and who holds which vault with how much of a log."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connection

_SERVERS = """
SELECT s.id, s.name, s.state, s.address, s.version, s.weight, s.cpu, s.memory, s.lease_s,
       extract(epoch FROM clock_timestamp() - (s.expires - make_interval(secs => s.lease_s)))::float8,
       (SELECT count(*) FROM strongroom.placement p WHERE p.server = s.id)
FROM strongroom.servers s ORDER BY s.name, s.id
"""

_TOTALS = """
SELECT count(*), count(s.id), (SELECT coalesce(sum(pg_total_relation_size(c)), 0)::bigint
       FROM unnest(ARRAY['strongroom.vault_log', 'strongroom.vault_base_part']::regclass[]) AS c)
FROM strongroom.placement p LEFT JOIN strongroom.servers s ON s.id = p.server
"""

_VAULTS = """
SELECT p.vault, coalesce({name}, p.vault), p.server, s.name, p.wanted, p.pin, m.id IS NOT NULL, c.name, p.epoch, p.head,
       b.seq, extract(epoch FROM clock_timestamp() - b.made)::float8, l.entries, l.bytes
FROM strongroom.placement p
LEFT JOIN strongroom.servers s ON s.id = p.server LEFT JOIN strongroom.servers c ON c.id = p.standby
LEFT JOIN strongroom.servers m ON m.id = p.moved_to {names}
LEFT JOIN LATERAL (SELECT seq, made FROM strongroom.vault_base
  WHERE vault = p.vault AND parts IS NOT NULL ORDER BY seq DESC, id DESC LIMIT 1) b ON true
CROSS JOIN LATERAL (SELECT count(*) AS entries, coalesce(sum(octet_length(payload)), 0)::bigint AS bytes
  FROM strongroom.vault_log WHERE vault = p.vault AND seq > coalesce(b.seq, 0)) l
ORDER BY 2, 1
"""
"""Lengths stand beside the values: no payload is read."""

_NAMED = {"name": "v.name", "names": "LEFT JOIN strongroom_control.vaults v ON v.vault_id = p.vault"}


@dataclass(frozen=True, slots=True)
class SeenServer:
    """A server that nobody removed. ``cpu`` and ``memory``: shares of its cores, and of its memory for vectors, in use;
    ``beat_age_s``: since its last heartbeat, by PostgreSQL's clock."""

    id: str
    name: str
    state: str
    address: str
    version: str
    weight: float
    cpu: float
    memory: float
    lease_s: float
    beat_age_s: float
    vaults: int

    @property
    def is_silent(self) -> bool:
        """Whether its lease is over; others remove it within a sixth of one, if there are any."""
        return self.beat_age_s > self.lease_s


@dataclass(frozen=True, slots=True)
class LoggedVault:
    """A vault as its log stands. ``server`` without ``server_name``: its holder is gone, and whoever asks first takes
    it. ``pin``: the name of the server it belongs to; ``is_moved``: to a server with less to do; ``standby``: the name
    of the one that keeps a copy. ``base_seq``: the entry its base is of, None while there is none; ``log_bytes``: of
    the entries since."""

    vault: str
    name: str
    server: str | None
    server_name: str | None
    wanted: str | None
    pin: str | None
    is_moved: bool
    standby: str | None
    epoch: int
    head: int
    base_seq: int | None
    base_age_s: float | None
    log_entries: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterTotals:
    """All vaults, those that somebody alive holds, and the bytes of logs and bases on PostgreSQL's disk."""

    vaults: int
    held: int
    stored_bytes: int


def list_servers(connection: Connection) -> list[SeenServer]:
    """By name. Raises the driver's errors, as all here."""
    return [SeenServer(*row) for row in connection.execute(_SERVERS)]


def totals(connection: Connection) -> ClusterTotals:
    row = connection.execute(_TOTALS).fetchone()
    assert row is not None
    return ClusterTotals(*row)


def list_logged_vaults(connection: Connection) -> list[LoggedVault]:
    """By name, as far as names are known here; a vault without one goes by its id."""
    known = connection.execute("SELECT to_regclass('strongroom_control.vaults') IS NOT NULL").fetchone() == (True,)
    statement = _VAULTS.format(**(_NAMED if known else {"name": "NULL", "names": ""}))
    return [LoggedVault(*row) for row in connection.execute(statement.encode())]
