"""How a command ends while a model is at work or vectors are owed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from unittest import mock

import pytest

from tests.server.cli.command import ENVIRONMENT, ROOT, Strongroom
from vaults import pool_rounds
from vaults.db.engine import sqlite
from vaults.embed import engines
from vaults.errors import EmbeddingUnavailable

AT_WORK = """
import sys, threading
from server.settings import load
from vaults.embed.engines import load_embedder

model = load_embedder(load(environment={}).settings.embedding)
begun = threading.Event()

def work():
    while True:
        model.embed(["tea at four", "coffee"])
        begun.set()

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
from server.cli import main
main()
"""


@pytest.mark.parametrize(("words", "code"), [(["version"], 0), (["token", "revoke"], 2)])
def test_a_command_ends_with_its_code_while_a_model_is_at_work(words: list[str], code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", AT_WORK, *words], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, "terminate" in ran.stderr) == (code, False), ran.stderr
    assert ran.stdout.startswith("strongroom ") == (code == 0)


def test_short_commands_load_no_model_for_vectors_that_are_owed(
    strongroom: Strongroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    strongroom("vault", "create", "main")
    strongroom("call", "remember", '{"content": "tea at four"}', "--vault", "main")
    with closing(sqlite.connect(strongroom.data / "vaults" / "main" / "vault.db")) as raw, raw:
        raw.execute("INSERT INTO vault_info VALUES ('recut', '1')")  # a chore, so that work begins with the opening
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 0.0)
    loads = mock.Mock(side_effect=EmbeddingUnavailable("not here"))
    monkeypatch.setattr(engines, "load_embedder", loads)
    for words in (
        ["vault", "info", "main"], ["verify"], ["call", "status", "--vault", "main"],
        ["export", "--vault", "main", "--to", str(strongroom.data / "out")], ["doctor"],
    ):  # fmt: skip
        ran = strongroom(*words, STRONGROOM_EMBEDDING__ENGINE="auto")
        assert (ran.code, loads.call_count) == (0, 0), (words, ran)
    assert strongroom("reindex", "--vault", "main", STRONGROOM_EMBEDDING__ENGINE="auto").code == 1
    assert loads.call_count == 1  # it was asked for
