"""``strongroom cluster``: tables, who serves, who hands over.

Covers server.cli.cluster_pins, server.cluster.administration, server.cluster.cluster_check,
vaults.cluster.postgres.cluster_status, vaults.cluster.postgres.ddl, vaults.cluster.postgres.drains,
vaults.cluster.postgres.server_rights.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.cluster.postgres_server import PASSWORD, PostgresServer, programs
from tests.server.cli.command import Strongroom
from tests.work import PATIENCE_S
from vaults.cluster.failures import Fenced
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import open_database
from vaults.cluster.postgres.servers import Servers


@pytest.fixture
def url(postgres: PostgresServer, strongroom: Strongroom) -> str:
    """Of a database that ``cluster init`` laid out."""
    url = postgres.create_database()
    assert strongroom("cluster", "init", "--url", url).code == 0
    return url


@pytest.fixture
def connections(url: str, strongroom: Strongroom) -> Iterator[Connections]:
    opened = open_database(DatabaseLogin(url), installation(strongroom, url))
    yield opened
    opened.close()


def installation(strongroom: Strongroom, url: str) -> str:
    return str(strongroom("cluster", "status", "--json", "--url", url).json["installation"])


def joined(connections: Connections, *names: str) -> Servers:
    servers = Servers(connections, 3600.0)
    for name in names:
        servers.join(f"{name}-1", f"{name}.example.org:8701", "0.1.0")
        with connections.use() as connection:
            connection.execute("UPDATE strongroom.servers SET name = %s WHERE id = %s", (name, f"{name}-1"))
    return servers


# -- init


def test_init_makes_the_tables_once_and_checks_them_after(postgres: PostgresServer, strongroom: Strongroom) -> None:
    url = postgres.create_database()
    made = strongroom("cluster", "init", "--url", url)
    assert made.code == 0
    assert "are ready" in made.out
    again = strongroom("cluster", "init", "--url", url)
    assert "were there, and are as they should be" in again.out
    assert installation(strongroom, url) in made.out
    assert installation(strongroom, url) in again.out
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE strongroom.vault_log ADD COLUMN note text")
    changed = strongroom("cluster", "init", "--url", url)
    assert changed.code == 2
    assert "vault_log.note" in changed.err


def test_init_reads_the_address_from_the_settings(postgres: PostgresServer, strongroom: Strongroom) -> None:
    file = strongroom.data.parent / "url"
    file.write_text(postgres.create_database())
    assert strongroom("cluster", "init", STRONGROOM_CLUSTER__URL_FILE=str(file)).code == 0
    assert strongroom("cluster", "status", STRONGROOM_CLUSTER__URL=file.read_text()).code == 0
    assert "no server" in strongroom("cluster", "leave", "x", STRONGROOM_CLUSTER__URL_FILE=str(file)).err


def test_without_an_address_there_is_one_line(strongroom: Strongroom) -> None:
    refused = strongroom("cluster", "status")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "cluster.url_file" in refused.err


def test_wrong_credentials_are_one_line_without_a_secret(url: str, strongroom: Strongroom) -> None:
    for command in ("init", "status"):
        refused = strongroom("cluster", command, "--url", url.replace(PASSWORD, "wrong-horse"))
        assert refused.code == 2
        assert refused.err.count("\n") == 1
        assert "password authentication failed" in refused.err
        assert "wrong-horse" not in refused.err


def test_a_database_without_tables_is_told_how_to_get_them(postgres: PostgresServer, strongroom: Strongroom) -> None:
    refused = strongroom("cluster", "status", "--url", postgres.create_database())
    assert "strongroom cluster init" in refused.err


# -- rights


def server_role(postgres: PostgresServer, url: str, name: str) -> str:
    """A role that may do nothing yet; the address with it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'".encode())
    return url.replace("owner:", f"{name}:")


def test_a_role_of_init_serves_and_cannot_change_the_tables(postgres: PostgresServer, strongroom: Strongroom) -> None:
    url = postgres.create_database()
    serving = server_role(postgres, url, "server_one")
    assert strongroom("cluster", "init", "--url", url, "--role", "server_one").code == 0
    everything_a_server_does(serving, installation(strongroom, serving))
    with psycopg.connect(serving, autocommit=True) as connection:
        for forbidden in (
            "CREATE TABLE strongroom.more (id integer)",
            "ALTER TABLE strongroom.vault_log ADD COLUMN note text",
            "TRUNCATE strongroom.vault_log",
            "DROP TABLE strongroom.vault_log",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())


def test_the_printed_script_does_in_psql_what_init_does(postgres: PostgresServer, strongroom: Strongroom) -> None:
    url = postgres.create_database()
    serving = server_role(postgres, url, "server_two")
    script = strongroom("cluster", "init", "--print-sql", "--role", "server_two")
    assert script.code == 0
    folder = programs()
    assert folder is not None
    command = [str(folder / "psql"), "--no-psqlrc", "--quiet", "--dbname", url]
    done = subprocess.run(command, input=script.out, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    everything_a_server_does(serving, installation(strongroom, serving))
    again = subprocess.run(command, input=script.out, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert again.returncode != 0, "an administrator is told that the tables are there"


def test_the_roles_for_containers_and_the_tables_of_init_let_a_server_serve(
    postgres: PostgresServer, strongroom: Strongroom
) -> None:
    url, folder = postgres.create_database(), programs()
    assert folder is not None
    roles = Path(__file__).parents[3] / "deploy" / "cluster" / "roles.sql"
    command = [
        str(folder / "psql"),
        "--no-psqlrc",
        "--quiet",
        f"--set=server_password={PASSWORD}",
        f"--file={roles}",
        url,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert strongroom("cluster", "init", "--url", url, "--role", "strongroom_server").code == 0
    serving = url.replace("owner:", "strongroom_server:")
    everything_a_server_does(serving, installation(strongroom, serving))


@pytest.mark.parametrize("role", ["server; DROP TABLE x", 'a"b', "Server", ""])
def test_a_role_that_is_none_is_refused(role: str, strongroom: Strongroom) -> None:
    refused = strongroom("cluster", "init", "--print-sql", "--role", role)
    assert (refused.code, refused.out) == (2, "")
    assert "--role" in refused.err


def everything_a_server_does(url: str, of: str) -> None:
    """With no more rights than ``cluster init`` gives."""
    connections = open_database(DatabaseLogin(url), of)
    try:
        servers, placements, log = Servers(connections, 60.0), Placements(connections), PostgresVaultLog(connections)
        servers.join("a", "a:1", "1")
        placements.register("main")
        placement = placements.take("main", "a")
        assert placement is not None
        placement = log.append(placement, b"entry")
        log.replace_base(placement, 1, [b"base"])
        assert [beat.id for beat in servers.beat("a")] == ["a"]
        assert placements.release(placement)
        servers.leave("a")
        with pytest.raises(Fenced):
            servers.beat("a")
        servers.close()
    finally:
        connections.close()


# -- status


def test_status_shows_servers_and_what_they_hold(url: str, connections: Connections, strongroom: Strongroom) -> None:
    servers, placements = joined(connections, "alpha", "beta"), Placements(connections)
    log = PostgresVaultLog(connections)
    for vault in ("one", "two", "three"):
        placements.register(vault)
    first = placements.take("one", "alpha-1")
    assert first is not None
    log.append(log.append(first, b"x" * 2_000), b"y" * 500)
    assert placements.take("two", "beta-1") is not None
    with connections.use() as connection:  # as a server that is removed leaves it
        connection.execute("DELETE FROM strongroom.servers WHERE id = 'beta-1'")
    servers.close()
    found = strongroom("cluster", "status", "--vaults", "--json", "--url", url).json
    assert [(each["name"], each["state"], each["vaults"], each["silent"]) for each in found["servers"]] == [
        ("alpha", "serving", 1, False)
    ]
    assert (found["vaults"], found["held"], found["free"]) == (3, 1, 2)
    assert found["stored_bytes"] > 2_500
    one, three, two = found["placements"]
    assert (one["server_name"], one["head"], one["log_entries"], one["log_bytes"]) == ("alpha", 2, 2, 2_500)
    assert (two["server"], two["server_name"]) == ("beta-1", None)
    assert three["server"] is None
    shown = strongroom("cluster", "status", "--vaults", "--url", url).out
    assert "alpha.example.org:8701" in shown
    assert "3 vaults, 2 with no server" in shown
    assert "2 since, 2.5 KB" in shown
    assert "none, was held by one that is gone" in shown
    assert "one " not in strongroom("cluster", "status", "--url", url).out, "vaults only where they are asked for"


def test_a_server_whose_lease_is_over_is_called_silent(
    url: str, connections: Connections, strongroom: Strongroom
) -> None:
    joined(connections, "alpha").close()
    with connections.use() as connection:
        connection.execute("UPDATE strongroom.servers SET expires = clock_timestamp() - interval '1 s'")
    assert "silent" in strongroom("cluster", "status", "--url", url).out


def test_a_base_is_told_with_its_age_and_the_log_since(
    url: str, connections: Connections, strongroom: Strongroom
) -> None:
    joined(connections, "alpha").close()
    placements, log = Placements(connections), PostgresVaultLog(connections)
    placements.register("one")
    placement = placements.take("one", "alpha-1")
    assert placement is not None
    placement = log.append(placement, b"before")
    log.replace_base(placement, 1, [b"base"])
    log.append(placement, b"after")
    (one,) = strongroom("cluster", "status", "--vaults", "--json", "--url", url).json["placements"]
    assert (one["base_seq"], one["log_entries"], one["log_bytes"]) == (1, 1, len(b"after"))
    assert 0 <= one["base_age_s"] < PATIENCE_S


# -- pin


def test_pin_and_unpin_are_shown_and_stand_in_the_audit(
    url: str, connections: Connections, strongroom: Strongroom
) -> None:
    joined(connections, "alpha").close()
    cluster = {"STRONGROOM_CLUSTER__URL": url}
    assert strongroom("vault", "create", "research", **cluster).code == 0
    assert "goes there once nobody uses it" in strongroom("cluster", "pin", "research", "--to", "alpha", **cluster).out
    assert "pinned to alpha" in strongroom("cluster", "status", "--vaults", "--url", url).out
    later = strongroom("cluster", "pin", "research", "--to", "gamma", "--url", url)
    assert "no server of that name serves now" in later.out
    assert strongroom("cluster", "status", "--vaults", "--json", "--url", url).json["placements"][0]["pin"] == "gamma"
    assert strongroom("cluster", "unpin", "research", **cluster).code == 0
    assert "pinned" not in strongroom("cluster", "status", "--vaults", "--url", url).out
    refused = strongroom("cluster", "pin", "none", "--to", "alpha", **cluster)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    entries = strongroom("audit", "search", "--installation", "--tool", "cluster", "--json", **cluster).json["entries"]
    acts = [(each["action"], each["outcome"], each["vault"]) for each in entries]
    assert sorted(acts) == [
        ("pin", "not_found", "none"),
        ("pin", "ok", "research"),
        ("pin", "ok", "research"),
        ("unpin", "ok", "research"),
    ]


# -- leave


def test_leave_asks_a_server_to_drain_and_waits_until_it_holds_nothing(
    url: str, connections: Connections, strongroom: Strongroom
) -> None:
    joined(connections, "alpha", "beta").close()
    placements = Placements(connections)
    placements.register("one")
    placement = placements.take("one", "alpha-1")
    assert placement is not None
    early = strongroom("cluster", "leave", "alpha", "--within", "0", "--url", url)
    assert early.code == 1
    assert "still holds 1 vault:" in early.out
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(Strongroom(strongroom.data).process, "cluster", "leave", "alpha", "--url", url)
        assert not waiting.done()
        assert placements.release(placement)
        done = waiting.result(PATIENCE_S)
    assert done.code == 0
    assert "stop it" in done.out
    states = {
        each["name"]: each["state"] for each in strongroom("cluster", "status", "--json", "--url", url).json["servers"]
    }
    assert states == {"alpha": "draining", "beta": "serving"}


def test_leave_of_a_server_that_is_not_there_is_one_line(url: str, strongroom: Strongroom) -> None:
    refused = strongroom("cluster", "leave", "gamma", "--url", url)
    assert refused.code == 1
    assert "no server gamma" in refused.err
    own = strongroom("cluster", "leave", "--url", url, STRONGROOM_CLUSTER__NAME="delta")
    assert "no server delta" in own.err


# -- what is for one machine


@pytest.mark.parametrize(
    "words",
    [
        ("backup", "--control", "--passphrase-file", "word"),
        ("restore", "latest", "--control"),
    ],
    ids=" ".join,
)
def test_what_is_for_one_machine_is_refused_with_the_reason_and_a_way(
    words: tuple[str, ...], strongroom: Strongroom
) -> None:
    (strongroom.data.parent / "word").write_text("correct horse battery staple\n")
    refused = strongroom(*words, STRONGROOM_CLUSTER__URL="postgresql://owner:secret-word@127.0.0.1:1/x")
    assert refused.code == 2
    assert "cluster.url is set" in refused.err
    assert "secret-word" not in refused.err


# -- doctor


def test_doctor_looks_at_the_database_and_its_servers(
    url: str, connections: Connections, strongroom: Strongroom
) -> None:
    def checked(status: str) -> str:
        found = strongroom("doctor", "--json", STRONGROOM_CLUSTER__URL=url).json["checks"]
        assert [each["name"] for each in found if each["name"] == "control_db"] == []
        (check,) = (each for each in found if each["name"] == "cluster")
        assert check["status"] == status, check
        return str(check["message"])

    assert "no server runs" in checked("notice")
    joined(connections, "alpha").close()
    assert "one server serves; 0 of 0 vaults" in checked("notice")
    joined(connections, "beta").close()
    assert "2 servers serve" in checked("ok")
    with connections.use() as connection:
        connection.execute(
            "UPDATE strongroom.servers SET expires = clock_timestamp() - interval '1 s' WHERE name = 'beta'"
        )
    assert "silent: beta" in checked("warning")


def test_doctor_says_what_is_wrong_with_the_database(postgres: PostgresServer, strongroom: Strongroom) -> None:
    ran = strongroom("doctor", STRONGROOM_CLUSTER__URL=postgres.create_database())
    assert ran.code == 1
    assert "error   cluster: the cluster's database:" in ran.out
    assert "cluster init" in ran.out


# -- serve


@pytest.mark.parametrize(
    ("setting", "value"),
    [("STRONGROOM_SERVER__WORKERS", "2"), ("STRONGROOM_NOTES__HISTORY", "auto")],
    ids=["workers", "history"],
)
def test_a_server_with_what_is_for_one_machine_does_not_start_and_says_so_in_one_line(
    setting: str, value: str, url: str, strongroom: Strongroom
) -> None:
    refused = strongroom("serve", "--port", "0", **{setting: value, "STRONGROOM_CLUSTER__URL": url})
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "cluster.url is set" in refused.err


def test_a_server_with_the_wrong_password_does_not_start_and_says_so_in_one_line(
    url: str, strongroom: Strongroom
) -> None:
    wrong = url.replace(PASSWORD, "wrong-horse")
    refused = strongroom("serve", "--port", "0", "--metrics-port", "0", STRONGROOM_CLUSTER__URL=wrong)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "password authentication failed" in refused.err
    assert "wrong-horse" not in refused.err
