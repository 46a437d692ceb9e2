"""What ``doctor`` says of an embedding endpoint.

Covers ops.doctor.embedding_endpoint.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ops.doctor.check import DoctorCheck
from ops.doctor.machine import Machine, model
from tests.embedding_servers import embedding_server
from tests.fakes import HashEmbedder
from vaults.embed.endpoint_stamps import PROBE, find_or_keep, stamps_folder
from vaults.embed.prefixes import NO_PREFIXES
from vaults.settings import EmbeddingSettings, StorageSettings


def looking(data: Path, url: str) -> DoctorCheck:
    embedding = EmbeddingSettings.model_validate({"engine": "endpoint", "endpoint": url, "model": "some-model"})
    return model(Machine(data, StorageSettings(), embedding))


async def test_it_says_where_texts_go_and_sends_one_that_is_nobodys(tmp_path: Path) -> None:
    async with embedding_server() as server:
        url = server.url("/v1/embeddings")
        check = await asyncio.to_thread(looking, tmp_path, f"{url}?key=secret")
    assert (check.status, check.todo) == ("ok", "")
    assert f"goes to {url}" in check.message
    assert "32 numbers wide" in check.message
    assert "secret" not in f"{check}"
    assert server.texts == [PROBE]
    assert not list(tmp_path.iterdir()), "it only looks"


async def test_a_server_that_is_down_and_one_with_another_model_are_warned_of(tmp_path: Path) -> None:
    known = HashEmbedder(width=48).embed([PROBE])[0].tolist()
    find_or_keep(stamps_folder(tmp_path), "some-model", NO_PREFIXES, known)
    async with embedding_server() as server:
        another = await asyncio.to_thread(looking, tmp_path, server.url())
    down = await asyncio.to_thread(looking, tmp_path, server.url())
    assert (another.status, "another model than before" in another.message) == ("warning", True)
    assert "48 numbers wide" in another.details[0]
    assert (down.status, "cannot be reached" in down.message) == ("warning", True)
    assert f"goes to {server.url()}" in down.message


async def test_an_address_at_which_others_can_listen_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaults.settings._is_this_machine", lambda _host: False)
    async with embedding_server() as server:
        check = await asyncio.to_thread(looking, tmp_path, server.url())
    assert (check.status, "unencrypted" in check.message) == ("notice", True)


def test_within_an_event_loop_it_works_as_well(tmp_path: Path) -> None:
    async def look() -> DoctorCheck:
        return looking(tmp_path, "http://127.0.0.1:9/embed")

    assert asyncio.run(look()).status == "warning"


def test_a_folder_of_models_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (stamps_folder(tmp_path) / "one.json").mkdir(parents=True)
    check = looking(tmp_path, "http://127.0.0.1:9/embed")
    assert (check.status, "cannot be read and written" in check.message) == ("warning", True)
