"""Images of vaults as of one entry of their log. A base that is being uploaded is seen by nobody.

Parts are stored one by one, so that no transaction is as long as an upload is. Then, in one transaction that holds the
vault's placement, the base is counted whole: that moment is the change. What an upload left that ended before is
removed by the next one; what a change has yet to remove, too.

A base may also be of another database than the log led to, which the vault is from then on: ``upload``, and ``show_in``
with whatever else that transaction says of the vault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from psycopg import errors

from vaults.cluster.failures import Fenced, LogDamaged, LogUnavailable
from vaults.cluster.postgres.connections import Connection, Connections, in_transaction
from vaults.cluster.vault_log import Placement
from vaults.db.sql import Writer
from vaults.errors import InvalidArgument

_BEGIN = """
WITH held AS (
  SELECT vault FROM strongroom.placement WHERE vault = %(vault)s AND server = %(server)s AND epoch = %(epoch)s
), leftover AS (
  DELETE FROM strongroom.vault_base WHERE vault IN (SELECT vault FROM held) AND parts IS NULL
)
INSERT INTO strongroom.vault_base (vault, seq) SELECT vault, %(seq)s FROM held RETURNING id
"""

_PART = "INSERT INTO strongroom.vault_base_part (base, part, data) VALUES (%(base)s, %(part)s, %(data)b)"

_HOLD = """
SELECT head FROM strongroom.placement
WHERE vault = %(vault)s AND server = %(server)s AND epoch = %(epoch)s FOR UPDATE
"""

_SHOW = "UPDATE strongroom.vault_base SET parts = %(parts)s WHERE id = %(base)s AND parts IS NULL"

_DROP = (
    "DELETE FROM strongroom.vault_base WHERE vault = %(vault)s AND parts IS NOT NULL AND id < %(base)s",
    "DELETE FROM strongroom.vault_log WHERE vault = %(vault)s AND seq <= %(seq)s",
    "UPDATE strongroom.placement SET purged = 0 WHERE vault = %(vault)s AND purged BETWEEN 1 AND %(seq)s",
)
"""By whoever, however late: no base that came after this one is among them. What was erased for good is gone then."""

_END_WITH = """
UPDATE strongroom.placement SET head = :seq, server = NULL
WHERE vault = :vault AND server = :server AND epoch = :epoch AND head = :head
"""
_COUNT = "UPDATE strongroom.vault_base SET parts = :parts WHERE id = :base AND parts IS NULL"

_NEWEST = """
SELECT id, seq, parts FROM strongroom.vault_base
WHERE vault = %(vault)s AND parts IS NOT NULL ORDER BY seq DESC, id DESC LIMIT 1
"""

_READ_PART = "SELECT data FROM strongroom.vault_base_part WHERE base = %(base)s AND part = %(part)s"


@dataclass(frozen=True, slots=True)
class UploadedBase:
    """A base that is there, and that nobody sees yet. ``placement``: by which it was uploaded."""

    placement: Placement
    id: int
    seq: int
    parts: int


def newest(connections: Connections, vault: str) -> tuple[int, Iterator[bytes]] | None:
    """The newest whole base: its sequence number and its parts, fetched one by one."""
    found = _newest(connections, vault)
    if found is None:
        return None
    base, seq, parts = found
    return seq, _parts(connections, vault, base, seq, parts)


def newest_seq(connections: Connections, vault: str) -> int | None:
    """As of which entry the newest whole base is."""
    found = _newest(connections, vault)
    return None if found is None else found[1]


def replace(connections: Connections, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
    """Upload, show, then drop what is older."""
    _refuse_older(connections, placement, seq)
    base = upload(connections, placement, seq, parts)
    with connections.use() as connection:
        in_transaction(connection, lambda opened: _show(opened, base))
    drop_older(connections, base)


def upload(connections: Connections, placement: Placement, seq: int, parts: Iterable[bytes]) -> UploadedBase:
    """Store the parts of a base as of ``seq``. Blocking. Raises ``Fenced``, ``LogUnavailable``."""
    base = _begin(connections, placement, seq)
    count = 0
    for part in parts:
        _store_part(connections, base, count, part)
        count += 1
    return UploadedBase(placement, base, seq, count)


def show_in(tx: Writer, base: UploadedBase) -> None:
    """Have the log end with this base, which is of the entry after its last one or of the beginning, and give the vault
    back, in a transaction of control. Raises ``Fenced``, and nothing of that transaction is to be kept."""
    held = {**_held(base.placement), "head": base.placement.head, "seq": base.seq}
    if tx.run(_END_WITH, held) != 1 or tx.run(_COUNT, {"parts": base.parts, "base": base.id}) != 1:
        raise Fenced


def drop_older(connections: Connections, base: UploadedBase) -> None:
    """Remove what a base took the place of. Blocking; again for nothing."""
    for statement in _DROP:
        with connections.use() as connection:
            connection.execute(statement, {"vault": base.placement.vault, "seq": base.seq, "base": base.id})


def _refuse_older(connections: Connections, placement: Placement, seq: int) -> None:
    """Entries before the base that is there are gone: an older one would leave a gap."""
    stands = newest_seq(connections, placement.vault)
    if stands is not None and seq < stands:
        raise InvalidArgument("seq", f"is {seq}, and the base that is there is as of {stands}")


def _begin(connections: Connections, placement: Placement, seq: int) -> int:
    with connections.use() as connection:
        row = connection.execute(_BEGIN, {**_held(placement), "seq": seq}).fetchone()
    if row is None:
        raise Fenced
    return int(row[0])


def _store_part(connections: Connections, base: int, part: int, data: bytes) -> None:
    with connections.use() as connection:
        try:
            connection.execute(_PART, {"base": base, "part": part, "data": data})
        except errors.ForeignKeyViolation:  # the next holder began a base of its own
            raise Fenced from None


def _show(connection: Connection, base: UploadedBase) -> None:
    row = connection.execute(_HOLD, _held(base.placement)).fetchone()
    if row is None:
        raise Fenced
    if base.seq > row[0]:
        raise InvalidArgument("seq", f"is {base.seq}, and the log ends at {row[0]}")
    if connection.execute(_SHOW, {"base": base.id, "parts": base.parts}).rowcount != 1:
        raise Fenced


def _newest(connections: Connections, vault: str) -> tuple[int, int, int] | None:
    with connections.use() as connection:
        row = connection.execute(_NEWEST, {"vault": vault}).fetchone()
    return None if row is None else (int(row[0]), int(row[1]), int(row[2]))


def _parts(connections: Connections, vault: str, base: int, seq: int, parts: int) -> Iterator[bytes]:
    for part in range(parts):
        with connections.use() as connection:
            row = connection.execute(_READ_PART, {"base": base, "part": part}, binary=True).fetchone()
        if row is None:
            raise _missing(connections, vault, base, seq, part)
        yield row[0]


def _missing(connections: Connections, vault: str, base: int, seq: int, part: int) -> LogDamaged | LogUnavailable:
    found = _newest(connections, vault)
    if found is not None and found[0] != base:
        return LogUnavailable("another base took the place of this one while it was read")
    return LogDamaged(vault, seq, f"part {part} of the base is missing")


def _held(placement: Placement) -> dict[str, object]:
    return {"vault": placement.vault, "server": placement.server, "epoch": placement.epoch}
