"""A real PostgreSQL in a folder of its own, on a loopback port, under a user that is not root; killed and restarted."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from tests.kept_ports import kept_port
from tests.work import PATIENCE_S

PASSWORD = "correct-horse"
SETTINGS = ("fsync=off", "unix_socket_directories=", "max_connections=60")
"""Processes are killed here, not machines: what was written stays in the page cache, with fsync or without."""

DURABLE = (*SETTINGS[1:], "shared_buffers=256MB")
"""As an operator has it: what is acknowledged is on the disk."""

QUICK_LOGIN = "md5"
"""SCRAM is made to be slow: half of what a connection costs. It is left to tests of TLS, of backups and of standbys."""

MANY = 20

KNOWS_STRATEGIES = 15_00_00
"""From here on PostgreSQL writes copies to its log, page by page, unless told to copy files: half of the work."""

MEMORY = Path("/dev/shm")


def programs() -> Path | None:
    """Where initdb and postgres are: Debian's, the newest, or those of the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    found = debian[-1] if debian else Path(on_path) if on_path else None
    return found.parent if found else None


class PostgresServer:
    """One that runs. ``kill`` leaves no time for anything; ``start`` recovers."""

    def __init__(self, folder: Path, port: int, settings: Sequence[str] = SETTINGS, host: str = "127.0.0.1") -> None:
        self._settings = (*settings, f"listen_addresses={host}")
        self._host = host
        self.folder, self.port, self.ports = folder, port, (port,)
        self._user = _user_of_its_own()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._left: list[str] = []

    def lay_out(self, authentication: str = "scram-sha-256") -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self._own(self.folder)
        self._own(password)
        initdb = [_program("initdb"), "-D", self.folder / "data", "-U", "owner", "-A", authentication]
        self._run([*initdb, "--pwfile", password, "-E", "UTF8", "--no-locale", "--no-sync"])
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("".join(f"host {each} all samenet {authentication}\n" for each in ("all", "replication")))

    def follow(self, primary: PostgresServer) -> None:
        """Lay it out as a standby of one that runs, in the place of whatever is there."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        self._own(self.folder)
        copy = [_program("pg_basebackup"), "-D", self.folder / "data", "-d", primary.conninfo("postgres")]
        self._run([*copy, "-R", "-X", "stream", "-c", "fast", "--no-sync"])

    def start(self) -> None:
        """Returns once it takes connections. What a killed one left in shared memory may be there for a moment."""
        until = time.monotonic() + PATIENCE_S
        while not self._started(until):
            assert time.monotonic() < until, (self.folder / "log").read_text()[-2000:]

    def kill(self) -> None:
        """SIGKILL of the postmaster: its processes notice and end."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """At once, with what was committed: sessions are ended."""
        self._end(signal.SIGINT)

    def create_database(self, *settings: str, template: str = "template0", name: str | None = None) -> str:
        """The conninfo of a new one, empty unless the ``template`` is one that nobody is connected to. With a ``name``
        it stays as long as the server."""
        if name is None:
            self._databases += 1
            name = f"strongroom_{self._databases}"
            self._left.append(name)
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            how = "STRATEGY file_copy" if connection.info.server_version >= KNOWS_STRATEGIES else ""
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} {how}")
            for setting in settings:
                connection.execute(f"ALTER DATABASE {name} SET {setting}")
        return self.conninfo(name)

    def drop_databases(self) -> None:
        """Those without a name, which nobody uses any more, once they are many: each takes 8 MB of memory."""
        if len(self._left) < MANY:
            return
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            while self._left:
                connection.execute(f"DROP DATABASE IF EXISTS {self._left.pop()} WITH (FORCE)")

    def conninfo(self, database: str, *ports: int) -> str:
        """Through proxies, where ``ports`` are theirs."""
        hosts = ",".join(f"{self._host}:{port}" for port in ports or self.ports)
        return f"postgresql://owner:{PASSWORD}@{hosts}/{database}"

    def _started(self, until: float) -> bool:
        options = [each for setting in self._settings for each in ("-c", setting)]
        command = [_program("postgres"), "-D", self.folder / "data", "-p", str(self.port), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._as_user())
        while self._process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.conninfo("postgres"), connect_timeout=5).close()
                return True
            time.sleep(0.02)
        return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None

    def _run(self, command: list[object]) -> None:
        done = subprocess.run([str(each) for each in command], capture_output=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stderr

    def _own(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _as_user(self) -> dict[str, object]:
        as_other = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return {"cwd": "/", **(as_other if os.geteuid() == 0 else {})}


@contextlib.contextmanager
def running_postgres(host: str = "127.0.0.1") -> Iterator[PostgresServer]:
    """One for as long as the block lasts, at an address of this machine. Skips where the machine has none."""
    skip_without_postgres()
    with folder_of_its_own() as folder, kept_port() as port:
        server = PostgresServer(folder, port, host=host)
        server.lay_out(QUICK_LOGIN)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def durable_postgres(folder: Path) -> Iterator[PostgresServer]:
    """One in a folder on a disk, which waits for that disk as long as the block lasts."""
    with kept_port() as port:
        for each in (folder, *folder.parents):  # PostgreSQL's own user has to get there
            if each.owner() == pwd.getpwuid(os.geteuid()).pw_name and each != Path("/"):
                each.chmod(each.stat().st_mode | 0o011)
        server = PostgresServer(folder, port, DURABLE)
        server.lay_out()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def skip_without_postgres() -> None:
    if programs() is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """In memory where there is some, and open to the user that PostgreSQL runs as. Skips where there is none."""
    skip_without_postgres()
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="strongroom-postgres-", dir=memory))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _program(name: str) -> str:
    found = programs()
    assert found is not None
    return str(found / name)


def _user_of_its_own() -> pwd.struct_passwd:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]
