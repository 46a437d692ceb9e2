"""Backups in a bucket: a real server of the S3 protocol, as a program of its own.

Covers ops.backup.s3_store.
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.backup.archive_writer import OPEN
from ops.backup.chunk_collection import rotate
from ops.backup.rotation import parse_plan
from ops.backup.s3_store import BucketAddress, S3Store
from ops.backup.snapshot_writer import write_snapshot
from ops.backup.snapshots import folder_key, list_snapshots, open_snapshot, stored_chunks
from tests.ops.backup.staged import VAULT_ID, contents, staged
from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S
from vaults.errors import AlreadyExists, NotFound, VaultUnavailable

ENVIRONMENT = Path(sys.prefix)
PYTHON = ENVIRONMENT / "clients" / "bin" / "python"
SERVER = Path(__file__).parent / "clients" / "bucket_server.py"
FILES = {"vault.db": random.Random(1).randbytes(900_000), "notes/a.md": b"a\n", "notes/b.md": b""}


def _has_moto() -> bool:
    return any((PYTHON.parents[1] / "lib").glob("python*/site-packages/moto"))


pytestmark = pytest.mark.skipif(not _has_moto(), reason="make e2e installs a server of the S3 protocol")


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [str(PYTHON), str(SERVER), "backups", str(port)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def shared_port() -> Iterator[int]:
    """One server for those tests that leave it as it is: to start it takes longer than most of them."""
    with serving() as (_, port):
        yield port


@pytest.fixture
def port(shared_port: int) -> int:
    """Of a server with one empty bucket."""
    for method, path in (("POST", "moto-api/reset"), ("PUT", "backups")):
        asked = urllib.request.Request(f"http://127.0.0.1:{shared_port}/{path}", method=method)
        with urllib.request.urlopen(asked, timeout=PROGRAM_PATIENCE_S) as answer:
            assert answer.status == 200
    return shared_port


def bucket(port: int, prefix: str = "in/here", name: str = "backups") -> S3Store:
    return S3Store(BucketAddress(name, prefix, f"http://127.0.0.1:{port}", "us-east-1", "key", "secret"))


def test_objects_are_kept_listed_replaced_and_removed(tmp_path: Path, port: int) -> None:
    store = bucket(port)
    store.put("vaults/v/a/one", b"1")
    store.put("vaults/v/a/one", b"11")
    store.create("vaults/v/b/two", b"2")
    assert {each.key: each.size for each in store.list_objects("vaults/v")} == {
        "vaults/v/a/one": 2,
        "vaults/v/b/two": 1,
    }
    with pytest.raises(AlreadyExists):
        store.create("vaults/v/b/two", b"3")
    assert store.get("vaults/v/b/two") == b"2"
    (tmp_path / "large").write_bytes(bytes(range(256)) * 50_000)
    store.create_file("control/one", tmp_path / "large")
    assert store.digest("control/one") == hashlib.sha256((tmp_path / "large").read_bytes()).digest()
    with pytest.raises(AlreadyExists):
        store.create_file("control/one", tmp_path / "large")
    assert store.list_folders("vaults") == ["v"]
    assert store.list_folders("vaults/v") == ["a", "b"]
    store.delete(["vaults/v/a/one", "vaults/v/a/none"])
    assert store.find("vaults/v/a/one") is None
    with pytest.raises(NotFound):
        store.get("vaults/v/a/one")
    assert list(bucket(port, "elsewhere").list_objects("vaults/v")) == []


def test_a_bucket_that_is_not_there_is_said(port: int) -> None:
    for act in (lambda store: store.put("a", b""), lambda store: list(store.list_objects("a"))):
        with pytest.raises(VaultUnavailable, match="bucket"):
            act(bucket(port, name="another"))


def test_the_environment_names_no_other_place_and_no_other_key(port: int, monkeypatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "stranger")
    store = bucket(port)
    store.put("a", b"1")
    assert store.get("a") == b"1"


def test_snapshots_come_out_of_a_bucket_as_they_went_in_and_pieces_are_left_for_a_day(
    tmp_path: Path, port: int
) -> None:
    store = bucket(port)
    for number in range(3):
        files = FILES | {"notes/a.md": f"version {number}".encode()}
        with store.hold(folder_key(VAULT_ID)):
            written = write_snapshot(store, VAULT_ID, staged(tmp_path / f"s{number}", files), seal=OPEN)
            rotation = rotate(store, VAULT_ID, parse_plan("2"), written.name)
    assert written.sent == 1
    assert [each.number for each in list_snapshots(store, VAULT_ID)] == [3, 2]
    assert (len(rotation.snapshots), rotation.chunks) == (1, 0)
    open_snapshot(store, VAULT_ID, "latest").extract(tmp_path / "out")
    assert contents(tmp_path / "out") == files
    store.grace_s = 0.0
    before = len(stored_chunks(store, VAULT_ID))
    assert rotate(store, VAULT_ID, parse_plan("2"), written.name).chunks == 1
    assert len(stored_chunks(store, VAULT_ID)) == before - 1
    open_snapshot(store, VAULT_ID, "latest").extract(tmp_path / "again")
    assert contents(tmp_path / "again") == files


def test_a_bucket_that_goes_away_midway_is_said_and_the_next_backup_is_whole(tmp_path: Path) -> None:
    class Leaving(S3Store):
        def put(self, key: str, data: bytes) -> None:
            super().put(key, data)
            process.kill()

    with serving() as (process, port):
        address = BucketAddress("backups", "", f"http://127.0.0.1:{port}", "us-east-1", "key", "secret")
        with pytest.raises(VaultUnavailable) as raised:
            write_snapshot(Leaving(address), VAULT_ID, staged(tmp_path / "s", FILES))
        assert raised.value.details["reason"] == "target"
        assert "secret" not in str(raised.value)
    with serving() as (_, port):
        store = bucket(port)
        write_snapshot(store, VAULT_ID, staged(tmp_path / "t", FILES))
        open_snapshot(store, VAULT_ID, "latest").extract(tmp_path / "out")
    assert contents(tmp_path / "out") == FILES


def test_backup_list_reads_the_bucket_of_the_settings(tmp_path: Path, port: int) -> None:
    write_snapshot(bucket(port), VAULT_ID, staged(tmp_path / "s", FILES))
    (tmp_path / "secret").write_text("secret\n")
    ran = Strongroom(tmp_path / "data").process(
        "backup",
        "list",
        "--json",
        STRONGROOM_BACKUP__TO="s3://backups/in/here",
        STRONGROOM_BACKUP__ENDPOINT=f"http://127.0.0.1:{port}",
        STRONGROOM_BACKUP__ACCESS_KEY="key",
        STRONGROOM_BACKUP__SECRET_KEY_FILE=str(tmp_path / "secret"),
    )
    assert ran.code == 0, ran.err
    assert VAULT_ID in ran.out
    assert "s3://backups/in/here/vaults/" in ran.out
