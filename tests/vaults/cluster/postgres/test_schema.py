"""Only a database that is this installation's, laid out and whole is used.

Covers vaults.cluster.postgres.layout_steps, vaults.cluster.postgres.server_rights, vaults.cluster.postgres.table_shape.
"""

from __future__ import annotations

import threading

import pytest

from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PASSWORD, PostgresServer
from vaults.cluster.postgres import schema
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.layout_steps import LAYOUT, SCHEMAS
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database, refuse_old_release
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.postgres.table_shape import expected_shape, shape
from vaults.errors import InvalidArgument, StrongroomError


def refused(login: DatabaseLogin, installation: str = INSTALLATION) -> str:
    """What is said where a database is refused: one line, without the password."""
    with pytest.raises(InvalidArgument) as refusal:
        open_database(login, installation)
    said = f"{refusal.value.message}; {refusal.value.hint}"
    assert "\n" not in said
    assert PASSWORD not in said
    assert said.startswith("Validation error: cluster.url")
    return said


def run(login: DatabaseLogin, statement: str) -> None:
    with Connections(login).single() as connection:
        connection.execute(statement.encode())


def test_what_is_laid_out_is_what_is_expected(login: DatabaseLogin) -> None:
    with Connections(login).single() as connection:
        for each in SCHEMAS:
            assert shape(connection, each) == expected_shape(each)


def test_laying_out_again_changes_nothing(login: DatabaseLogin) -> None:
    run(login, "INSERT INTO strongroom.placement VALUES ('main', NULL, 3, 5)")
    lay_out(login, INSTALLATION)
    with Connections(login).single() as connection:
        assert connection.execute("SELECT epoch, head FROM strongroom.placement").fetchall() == [(3, 5)]


def test_servers_that_lay_out_at_once_do_it_once(postgres: PostgresServer) -> None:
    login, failures = DatabaseLogin(postgres.create_database()), []

    def work() -> None:
        try:
            lay_out(login, INSTALLATION)
        except StrongroomError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_empty_database_is_refused(postgres: PostgresServer) -> None:
    assert "cluster init" in refused(DatabaseLogin(postgres.create_database()))


def test_a_second_installation_on_one_database_is_refused(login: DatabaseLogin) -> None:
    assert "another installation" in refused(login, "installation-2")
    with pytest.raises(InvalidArgument, match="another installation"):
        lay_out(login, "installation-2")


def test_a_newer_layout_is_refused(login: DatabaseLogin) -> None:
    run(login, f"UPDATE strongroom.installation SET layout = {LAYOUT + 1}")
    assert f"has layout {LAYOUT + 1}, and this release knows {LAYOUT}" in refused(login)


def test_an_older_layout_is_refused_with_what_to_do(login: DatabaseLogin) -> None:
    run(login, "UPDATE strongroom.installation SET layout = 1")
    said = refused(login)
    assert f"has layout 1, and this release needs {LAYOUT}" in said
    assert "run strongroom cluster init of this release as the owner" in said


def test_an_older_layout_of_another_installation_is_not_to_be_brought_up(login: DatabaseLogin) -> None:
    run(login, "UPDATE strongroom.installation SET layout = 1")
    assert "another installation" in refused(login, "installation-2")


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE strongroom.placement ALTER COLUMN head TYPE integer", "placement.head"),
        ("ALTER TABLE strongroom.placement DROP CONSTRAINT placement_pkey", "placement: PRIMARY KEY"),
        ("ALTER TABLE strongroom.vault_log DROP CONSTRAINT vault_log_pkey", "vault_log: PRIMARY KEY"),
        ("ALTER TABLE strongroom.vault_log ADD COLUMN note text", "vault_log.note"),
        ("ALTER TABLE strongroom.vault_log SET UNLOGGED", "vault_log: logged"),
        ("DROP TABLE strongroom.vault_base_part", "vault_base_part"),
        ("CREATE RULE keep AS ON DELETE TO strongroom.vault_log DO INSTEAD NOTHING", "rule keep"),
        ("ALTER TABLE strongroom.servers ENABLE ROW LEVEL SECURITY", "hidden by policies"),
        (
            "CREATE TRIGGER t BEFORE UPDATE ON strongroom.placement FOR EACH ROW"
            " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "trigger t",
        ),
        ("DROP TABLE strongroom.installation", "installation."),
        ("ALTER TABLE strongroom.installation RENAME COLUMN id TO name", "installation.id"),
    ],
)
def test_tables_that_were_changed_are_refused_by_name(login: DatabaseLogin, statement: str, named: str) -> None:
    run(login, statement)
    assert named in refused(login)


def test_a_release_that_is_too_old_is_refused(login: DatabaseLogin) -> None:
    refuse_old_release(140000)
    with pytest.raises(InvalidArgument, match="PostgreSQL 13, which is too old"):
        refuse_old_release(130022)


def test_the_release_is_asked_of_the_server(login: DatabaseLogin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST", 99)
    assert "too old" in refused(login)


def test_a_read_only_database_is_refused_by_name(postgres: PostgresServer) -> None:
    assert "read-only" in refused(DatabaseLogin(postgres.create_database("default_transaction_read_only TO on")))


def test_a_wrong_password_is_one_line_without_it(postgres: PostgresServer) -> None:
    conninfo = postgres.create_database().replace(PASSWORD, "wrong-horse")
    said = refused(DatabaseLogin(conninfo))
    assert "password authentication failed" in said
    assert "wrong-horse" not in said
    assert "wrong-horse" not in repr(DatabaseLogin(conninfo))


@pytest.mark.parametrize(
    ("conninfo", "named"),
    [
        ("postgresql://owner:correct-horse@127.0.0.1:1/any", "127.0.0.1"),
        ("postgresql://owner:correct-horse@127.0.0.1:1/any?nonsense=correct-horse", "cannot be read"),
        ("correct-horse", "cannot be read"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(conninfo: str, named: str) -> None:
    assert named in refused(DatabaseLogin(conninfo))


def test_a_database_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    assert '"nowhere" does not exist' in refused(DatabaseLogin(postgres.conninfo("nowhere")))


def test_a_role_that_may_not_use_a_table_is_told_which_and_what_to_do(
    postgres: PostgresServer, login: DatabaseLogin
) -> None:
    run(login, f"CREATE ROLE newcomer LOGIN PASSWORD '{PASSWORD}'")
    newcomer = DatabaseLogin(login.conninfo.replace("owner", "newcomer"))
    assert "may not read and write strongroom" in refused(newcomer)
    for each in SCHEMAS:
        run(login, f"GRANT USAGE ON SCHEMA {each} TO newcomer")
        run(login, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {each} TO newcomer")
    run(login, "REVOKE DELETE ON strongroom.vault_base FROM newcomer")
    said = refused(newcomer)
    assert "may not read and write strongroom.vault_base;" in said
    assert "cluster init --role" in said
    run(login, "DROP OWNED BY newcomer")
    run(login, "DROP ROLE newcomer")


def test_a_role_that_may_only_read_and_write_rows_suffices(postgres: PostgresServer, login: DatabaseLogin) -> None:
    run(login, "DROP ROLE IF EXISTS plain")
    run(login, f"CREATE ROLE plain LOGIN PASSWORD '{PASSWORD}'")
    for each in SCHEMAS:
        run(login, f"GRANT USAGE ON SCHEMA {each} TO plain")
        run(login, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {each} TO plain")
    connections = open_database(DatabaseLogin(login.conninfo.replace("owner", "plain")), INSTALLATION)
    servers, placements, log = Servers(connections, 3600.0), Placements(connections), PostgresVaultLog(connections)
    servers.join("a", "address", "1")
    placements.register("main")
    held = placements.take("main", "a")
    assert held is not None
    log.replace_base(log.append(held, b"one"), 1, [b"base"])
    servers.leave("a")
    connections.close()
    run(login, "DROP OWNED BY plain")
    run(login, "DROP ROLE plain")
