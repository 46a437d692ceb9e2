"""What a database administrator runs where no program of ours may change tables."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.cluster.postgres.layout_steps import LAYOUT, WAIT, first_tables, newer_tables
from vaults.cluster.postgres.server_rights import rights_of
from vaults.errors import InvalidArgument

_OF_LAYOUT = """DO $$ BEGIN
  IF (SELECT layout FROM strongroom.installation FOR UPDATE) IS DISTINCT FROM {layout} THEN
    RAISE EXCEPTION 'these tables are not of layout {layout}: nothing was changed';
  END IF;
END $$;"""


def to_script(installation: str, role: str | None = None) -> str:
    """The whole of ``cluster init`` for a new database, as one transaction for psql. Raises ``InvalidArgument`` for a
    ``role`` that is none."""
    said = f"Tables of a strongroom cluster, layout {LAYOUT}. Run it once, in a database of its own."
    return _one_transaction(said, (*first_tables(installation), *newer_tables(1), *rights_of(role)))


def to_newer_script(layout: int, role: str | None = None) -> str:
    """What ``cluster init`` does with tables of an older ``layout``. Raises ``InvalidArgument`` where they lack
    nothing, or for a ``role`` that is none."""
    if not 1 <= layout < LAYOUT:
        which = f"must be of an older release than this one, whose layout is {LAYOUT}"
        raise InvalidArgument("--from-layout", which, hint="a server that is refused says which one the tables have")
    said = (
        f"Tables of a strongroom cluster, from layout {layout} to {LAYOUT}. Servers may go on meanwhile.\n"
        "-- Where it ends by a lock timeout nothing was changed: run it again when no pg_dump runs."
    )
    return _one_transaction(said, (WAIT, _OF_LAYOUT.format(layout=layout), *newer_tables(layout), *rights_of(role)))


def _one_transaction(said: str, statements: Iterable[str]) -> str:
    lines = [f"-- {said}", r"\set ON_ERROR_STOP on", "BEGIN;", *map(str.strip, statements), "COMMIT;"]
    return "\n".join(lines)
