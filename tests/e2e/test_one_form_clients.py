"""Clients of other makers: one shows its model only the text of an answer, one only its JSON. Both can work."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_clients import server

__all__ = ["server"]

CLIENTS = Path(__file__).parent / "clients"
ENVIRONMENT = Path(sys.prefix)
PYTHON = ENVIRONMENT / "clients" / "bin" / "python"
NODE_MODULES = ENVIRONMENT / "node"
PATIENCE_S = 120


def _seen(command: list[str], at: tuple[str, str], vault: str, folder: Path) -> dict[str, Any]:
    url, token = at
    done = subprocess.run(
        [*command, f"{url}/v/{vault}/mcp", token], cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not PYTHON.exists(), reason="make e2e installs LangChain's adapters")
def test_a_model_that_is_shown_text_alone_reads_memories_and_notes(server, tmp_path):
    said = _seen([str(PYTHON), str(CLIENTS / "langchain_reader.py")], server, "vault0", tmp_path)
    for tool in ("recall", "memory_get"):
        assert "The ferry leaves pier 7 at noon" in said[tool], said[tool]
    for tool in ("note_read", "search", "fetch"):
        assert "The kiosk sells maps." in said[tool], said[tool]
    assert "trips/pier.md" in said["note_write"]
    assert "etag" in said["note_read"]
    assert "stored a memory" in said["session_resume"]


@pytest.mark.skipif(
    not (NODE_MODULES / "node_modules").is_dir() or shutil.which("node") is None, reason="needs Node and its packages"
)
def test_a_model_that_is_shown_json_alone_reads_memories_and_notes(server):
    found = _seen(["node", str(CLIENTS / "typescript_reader.mjs")], server, "vault1", NODE_MODULES)
    assert found["recall"]["hits"][0]["content"] == "The tram stops at pier 9"
    assert found["memory_get"]["memories"][0]["content"] == "The tram stops at pier 9"
    assert "Tickets are sold on board." in found["note_read"]["text"]
    assert any("Tickets are sold on board." in hit["text"] for hit in found["search"]["hits"])
    assert "Tickets are sold on board." in found["fetch"]["text"]
    assert found["note_write"]["etag"] == found["note_read"]["etag"]
    assert found["session_resume"]["session"]["id"]
