"""How the tables of an installation come to be as they are: ``schema.sql`` of both schemas, which is layout 1, and a
step in ``layouts/`` for each layout since.

A new database goes through all of them, so no step is ever first run where it matters. Steps only add: servers of the
release before go on while they are made, and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from vaults.db.migration import read_steps

SCHEMAS = {"strongroom": "vaults.cluster.postgres", "strongroom_control": "vaults.cluster.control"}
"""The schemas of an installation, and the packages that hold ``schema.sql`` and ``schema_shape.txt`` of each."""

STEPS = read_steps(resources.files("vaults.cluster.postgres") / "layouts", first=2)
LAYOUT = 1 + len(STEPS)
"""The layout that this release works with."""

WAIT = "SET LOCAL lock_timeout = '300ms';"
"""What a step waits for a table at most, as nobody gets at that table meanwhile: a tenth of a lease at its default."""

_INSTALLATION = re.compile(r"^[A-Za-z0-9-]{1,64}$")


def first_tables(installation: str) -> Iterator[str]:
    """The statements that make the tables of an installation in layout 1, each of them one or several. Raises as
    ``installation_rows``."""
    for schema in SCHEMAS:
        yield read_resource("schema.sql", schema)
    yield from installation_rows(installation, layout=1)


def newer_tables(layout: int) -> Iterator[str]:
    """The statements that bring tables of ``layout`` to this release's."""
    for step in STEPS:
        if step.number > layout:
            yield step.sql
    yield f"UPDATE strongroom.installation SET layout = {LAYOUT};"


def installation_rows(installation: str, layout: int = LAYOUT) -> tuple[str, ...]:
    """The statements that say whose tables these are, to servers and to what they share. ``installation`` needs no
    quoting: ``ValueError``."""
    if not _INSTALLATION.match(installation):
        raise ValueError("an installation's id holds letters, digits and dashes")
    return (
        f"INSERT INTO strongroom.installation (id, layout) VALUES ('{installation}', {layout});",
        f"INSERT INTO strongroom_control.installation (key, value) VALUES ('instance_id', '{installation}');",
    )


def read_resource(name: str, schema: str) -> str:
    """A file that one of ``SCHEMAS`` has in its package."""
    return resources.files(SCHEMAS[schema]).joinpath(name).read_text(encoding="utf-8")
