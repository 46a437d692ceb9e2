"""``strongroom cluster`` with tables of another release: brought up by ``init``, refused by every other command.

Covers server.cli.cluster, vaults.cluster.postgres.ddl.
"""

from __future__ import annotations

import subprocess

import psycopg
import pytest

from tests.cluster.laid_out_databases import INSTALLATION, first_layout_database
from tests.cluster.postgres_server import PASSWORD, PostgresServer, programs
from tests.server.cli.command import Strongroom
from tests.work import PATIENCE_S
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.layout_steps import LAYOUT
from vaults.cluster.postgres.schema import open_database

COMMANDS = (
    ("status",),
    ("leave", "alpha"),
    ("pin", "research", "--to", "alpha"),
    ("unpin", "research"),
    ("join",),
    ("export", "--to", "out"),
)


@pytest.fixture
def first(postgres: PostgresServer) -> str:
    """Of tables as the first release made them."""
    return first_layout_database(postgres)


def serving_as(url: str, role: str) -> DatabaseLogin:
    """A role that may do nothing yet."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'".encode())
    return DatabaseLogin(url.replace("owner:", f"{role}:"))


def run_in_psql(url: str, script: str) -> subprocess.CompletedProcess[str]:
    folder = programs()
    assert folder is not None
    command = [str(folder / "psql"), "--no-psqlrc", "--quiet", "--dbname", url]
    return subprocess.run(command, input=script, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_init_brings_older_tables_up_once_and_lets_servers_serve(first: str, strongroom: Strongroom) -> None:
    serving = serving_as(first, "server_of_older")
    done = strongroom("cluster", "init", "--url", first, "--role", "server_of_older")
    assert (done.code, done.err) == (0, "")
    assert f"of installation {INSTALLATION} were brought from layout 1 to {LAYOUT}\n" in done.out
    open_database(serving, INSTALLATION).close()
    assert "as they should be" in strongroom("cluster", "init", "--url", first).out


def test_every_command_on_older_tables_says_what_brings_them_up(first: str, strongroom: Strongroom) -> None:
    for words in COMMANDS:
        refused = strongroom("cluster", *words, "--url", first)
        assert (refused.code, refused.err.count("\n")) == (2, 1), words
        assert f"has layout 1, and this release needs {LAYOUT}" in refused.err
        assert "run strongroom cluster init of this release" in refused.err


def test_every_command_on_newer_tables_asks_for_the_newer_release(first: str, strongroom: Strongroom) -> None:
    with psycopg.connect(first) as connection:
        connection.execute("ALTER TABLE strongroom.servers ADD COLUMN of_tomorrow text")
        connection.execute("UPDATE strongroom.installation SET layout = %s", (LAYOUT + 1,))
    for words in (*COMMANDS, ("init",)):
        refused = strongroom("cluster", *words, "--url", first)
        assert (refused.code, refused.err.count("\n")) == (2, 1), words
        assert f"has layout {LAYOUT + 1}, and this release knows {LAYOUT}" in refused.err
        assert "run the newer release" in refused.err


def test_the_printed_steps_do_in_psql_what_init_does_and_only_to_tables_they_are_for(
    first: str, strongroom: Strongroom
) -> None:
    serving = serving_as(first, "server_by_steps")
    script = strongroom("cluster", "init", "--print-sql", "--from-layout", "1", "--role", "server_by_steps")
    assert script.code == 0
    assert "CREATE SCHEMA" not in script.out
    done = run_in_psql(first, script.out)
    assert (done.returncode, done.stderr) == (0, "")
    open_database(serving, INSTALLATION).close()
    again = run_in_psql(first, script.out)
    assert again.returncode != 0
    assert "these tables are not of layout 1" in again.stderr


def test_steps_of_a_layout_there_is_not_are_refused(strongroom: Strongroom) -> None:
    for layout in ("0", str(LAYOUT), "99"):
        refused = strongroom("cluster", "init", "--print-sql", "--from-layout", layout)
        assert (refused.code, refused.out) == (2, "")
        assert f"--from-layout must be of an older release than this one, whose layout is {LAYOUT}" in refused.err
    assert "goes with --print-sql" in strongroom("cluster", "init", "--from-layout", "1").err
