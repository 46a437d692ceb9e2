"""TLS to PostgreSQL, as the address asks for it. Covers vaults.cluster.postgres.connections."""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.cluster.postgres_server import PostgresServer, folder_of_its_own, skip_without_postgres
from tests.kept_ports import kept_port
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.schema import lay_out, open_database
from vaults.errors import InvalidArgument

LONG = datetime.timedelta(days=3650)


def certificate(folder: Path, address: str) -> tuple[Path, Path]:
    """One that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "database")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LONG)
        .not_valid_after(now + LONG)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir()
    shown, kept = folder / "server.crt", folder / "server.key"
    shown.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    kept.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return shown, kept


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """The address of a database that speaks TLS, what vouches for it, and what does not."""
    skip_without_postgres()
    folder = tmp_path_factory.mktemp("tls")
    shown, kept = certificate(folder / "ours", "127.0.0.1")
    other, _ = certificate(folder / "other", "127.0.0.1")
    with folder_of_its_own() as home, kept_port() as port:
        server = PostgresServer(home, port)
        server.lay_out()
        data = home / "data"
        owner = data.stat()
        for name, source in (("server.crt", shown), ("server.key", kept)):
            (data / name).write_bytes(source.read_bytes())
            (data / name).chmod(0o600)
            os.chown(data / name, owner.st_uid, owner.st_gid)
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write("ssl = on\n")
        (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        server.start()
        try:
            yield server.create_database(), shown, other
        finally:
            server.stop()


def test_a_database_that_is_vouched_for_is_taken(served: tuple[str, Path, Path]) -> None:
    url, shown, _ = served
    login = DatabaseLogin(f"{url}?sslmode=verify-full&sslrootcert={shown}")
    lay_out(login, "installation-1")
    connections = open_database(login, "installation-1")
    try:
        with connections.use() as connection:
            row = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
        assert row == (True,)
    finally:
        connections.close()


def test_one_that_nobody_vouches_for_gets_no_password(served: tuple[str, Path, Path]) -> None:
    url, _, other = served
    with pytest.raises(InvalidArgument, match="certificate verify failed"):
        open_database(DatabaseLogin(f"{url}?sslmode=verify-full&sslrootcert={other}"), "installation-1")


def test_one_of_another_name_is_refused(served: tuple[str, Path, Path]) -> None:
    url, shown, _ = served
    elsewhere = url.replace("127.0.0.1", "localhost")
    with pytest.raises(InvalidArgument, match="localhost"):
        open_database(DatabaseLogin(f"{elsewhere}?sslmode=verify-full&sslrootcert={shown}"), "installation-1")


def test_without_tls_a_database_that_demands_it_says_so(served: tuple[str, Path, Path]) -> None:
    with pytest.raises(InvalidArgument, match="no encryption"):
        open_database(DatabaseLogin(f"{served[0]}?sslmode=disable"), "installation-1")
