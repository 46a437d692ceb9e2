"""A server that backs its vaults up by itself: whichever worker has them, until a signal."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ops.backup.folder_store import FolderStore
from ops.backup.snapshots import list_snapshots, open_snapshot
from tests.kept_ports import kept_port
from tests.ops.backup.staged import contents
from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S

VAULTS = ("main", "other")


@pytest.fixture
def strongroom(tmp_path: Path) -> Strongroom:
    command = Strongroom(tmp_path / "data")
    (tmp_path / "to").mkdir()
    for name in VAULTS:
        assert command("vault", "create", name).code == 0
        assert command("call", "remember", '{"content": "tea at four"}', "--vault", name).code == 0
    return command


@contextmanager
def serving(strongroom: Strongroom, environment: dict[str, str], *options: str) -> Iterator[int]:
    """A running server; its metrics port."""
    with kept_port() as metrics:
        with (strongroom.data.parent / "log").open("ab") as log:
            process = strongroom.start(
                "serve",
                *options,
                environment={
                    **environment,
                    "STRONGROOM_SERVER__PORT": "0",
                    "STRONGROOM_OPS__METRICS_PORT": str(metrics),
                    "STRONGROOM_OPS__LOG_FORMAT": "json",
                },
                stdout=log,
                stderr=log,
            )
        try:
            yield metrics
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PROGRAM_PATIENCE_S) == 0, (strongroom.data.parent / "log").read_text()


def figures(port: int) -> dict[str, float]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PROGRAM_PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return {}
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def wait_for(port: int, name: str, least: float) -> dict[str, float]:
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while True:
        found = figures(port)
        if found.get(name, 0) >= least:
            return found
        assert time.monotonic() < until, found
        time.sleep(0.2)


def listed(strongroom: Strongroom, environment: dict[str, str]) -> list[dict[str, Any]]:
    ran = strongroom.process("backup", "list", "--json", **environment)
    assert ran.code == 0, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)["backups"]
    return found


def test_a_server_backs_every_vault_up_once_whichever_worker_has_it(strongroom: Strongroom, tmp_path: Path) -> None:
    environment = {"STRONGROOM_BACKUP__EVERY": "1h", "STRONGROOM_BACKUP__TO": str(tmp_path / "to")}
    with serving(strongroom, environment, "--workers", "2") as port:
        found = wait_for(port, 'strongroom_backups_total{outcome="ok"}', len(VAULTS))
    assert found["strongroom_backup_interval_seconds"] == 3600
    assert found["strongroom_backup_age_seconds"] < 3600
    assert sum(value for name, value in found.items() if name.startswith("strongroom_backups_total")) == len(VAULTS)
    runs = listed(strongroom, environment)
    assert sorted((run["vault"], run["outcome"], run["there"]) for run in runs) == [
        (name, "ok", True) for name in sorted(VAULTS)
    ]
    with serving(strongroom, environment) as port:  # after a restart nothing is due
        found = wait_for(port, "strongroom_backup_interval_seconds", 3600)
    assert found['strongroom_backups_total{outcome="ok"}'] == 0
    assert len(listed(strongroom, environment)) == len(VAULTS)
    store = FolderStore(tmp_path / "to")
    for run in runs:
        (name,) = list_snapshots(store, run["vault_id"])
        open_snapshot(store, run["vault_id"], str(name)).extract(tmp_path / run["vault"])
        assert {"vault.db", "settings.json"} <= contents(tmp_path / run["vault"]).keys()


def test_settings_that_cannot_work_end_the_start_with_a_line_that_names_them(strongroom: Strongroom) -> None:
    for name, text, said in (
        ("EVERY", "soon", "backup.every"),
        ("TO", "s3://bucket", "access_key"),
        ("KEEP", "many", "backup.keep"),
    ):
        ran = strongroom.process("serve", **{f"STRONGROOM_BACKUP__{name}": text})
        assert ran.code != 0
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1
