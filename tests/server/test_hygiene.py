"""Hygiene as callers meet it: secrets refused or taken out, contradictions named, echoes not stored again.

Covers vaults.domain.memories.creation, vaults.domain.memories.store_hints.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.fakes import HashEmbedder
from tests.importing import import_jsonl
from tests.noted import folder, indexed, put
from tests.people import give_role
from tests.vaults.domain.secrets.texts import made
from vaults.domain.actors import Actor
from vaults.domain.memories import creation, storage, store_hints
from vaults.domain.memories.quotas import store_within_quota
from vaults.domain.memories.storage import StoreResult
from vaults.errors import VaultUnavailable
from vaults.index import embeddings
from vaults.vault import Vault

TOKEN = "ghp_" + made(36)


async def _id(ask: Asking, content: str, **more: object) -> str:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    return str(outcome.content["id"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", f"CI uses\n{TOKEN}"),
        ("title", TOKEN),
        ("tags", ["ci", TOKEN]),
        ("keywords", [TOKEN]),
        ("metadata", {"deep": {"password": "kT9zQ4mW"}}),
        ("entity", TOKEN),
        ("author", TOKEN),
        ("thread", TOKEN),
        ("external_id", TOKEN),
    ],
)
async def test_a_memory_with_a_secret_is_refused_and_nothing_of_it_is_kept(
    ask: Asking, tmp_path: Path, field: str, value: object
) -> None:
    refused = await ask("remember", **{"content": "How CI signs in", field: value})
    assert refused.code == "invalid_argument"
    assert field in refused.text
    assert TOKEN[4:] not in refused.text
    assert (await ask("memory_list")).content["total"] == 0
    for path in tmp_path.rglob("*.db*"):
        assert TOKEN.encode() not in path.read_bytes(), path.name


async def test_no_way_to_change_a_memory_lets_a_secret_in(ask: Asking) -> None:
    one = await _id(ask, "CI signs in with a token from the vault entry ci/github")
    for tool, arguments in (
        ("memory_update", {"content": TOKEN}),
        ("memory_update", {"add_tags": [TOKEN]}),
        ("memory_update", {"metadata": {"token": TOKEN}}),
        ("memory_supersede", {"content": f"CI signs in with {TOKEN}"}),
        ("memory_supersede", {"content": "CI signs in anew", "reason": TOKEN}),
    ):
        assert (await ask(tool, id=one, **arguments)).code == "invalid_argument", (tool, arguments)
    kept = (await ask("memory_get", ids=[one])).content["memories"][0]
    assert kept["version"] == 1


async def test_redacting_stores_the_rest_and_says_what_was_taken_out(opening: Opening) -> None:
    async with opening({"hygiene.secrets": "redact"}) as services:
        ask = asker(services)
        stored = await ask("remember", content=f"CI signs in with {TOKEN} since May", tags=["ci"])
        assert stored.content["warnings"] == ["content: taken out: a GitHub token (line 1)"]
        assert "GitHub token" in stored.text
        one = stored.content["id"]
        held = (await ask("memory_get", ids=[one])).content["memories"][0]
        assert held["content"] == "CI signs in with [redacted: GitHub token] since May"
        changed = await ask("memory_update", id=one, metadata={"password": "kT9zQ4mW"})
        assert changed.content["metadata"] == {"password": "[redacted: password]"}
        assert changed.content["warnings"] == ["metadata: taken out: a password"]


async def test_off_stores_what_it_is_given(opening: Opening) -> None:
    async with opening({"hygiene.secrets": "off"}) as services:
        ask = asker(services)
        one = await _id(ask, f"CI signs in with {TOKEN}")
        assert TOKEN in (await ask("memory_get", ids=[one])).content["memories"][0]["content"]


async def test_an_import_leaves_out_lines_with_secrets_and_says_which(services: Services, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_text(
        "".join(json.dumps({"content": text}) + "\n" for text in ("plain one", f"key {TOKEN}", "plain two"))
    )
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        tally = await import_jsonl(vault, Actor("owner", "owner"), file)
    assert (tally.stored, tally.rejected) == (2, 1)
    report = (tmp_path / "memories.jsonl.rejected.jsonl").read_text()
    assert "GitHub token" in report
    assert TOKEN not in report


async def test_a_note_is_written_as_it_is_and_its_writer_told(ask: Asking, tmp_path: Path) -> None:
    written = await ask("note_write", path="ci.md", content=f"# CI\n\n{TOKEN}\n")
    assert written.ok
    assert any("GitHub token (line 3)" in warning for warning in written.content["warnings"])
    assert TOKEN in (folder(tmp_path) / "ci.md").read_text()
    edited = await ask("note_edit", path="ci.md", section="CI", content=f"again {TOKEN}")
    assert any("GitHub token" in warning for warning in edited.content["warnings"])
    plain = await ask("note_edit", path="ci.md", section="CI", content="nothing special")
    assert not any("secret" in warning for warning in plain.content.get("warnings", ()))


async def test_a_claim_keeps_no_secret(ask: Asking) -> None:
    for said in ({"resources": [f"deploy with {TOKEN}"]}, {"resources": ["a"], "description": f"with {TOKEN}"}):
        refused = await ask("claims", action="claim", **said)
        assert refused.code == "invalid_argument"
        assert TOKEN not in refused.text
    assert (await ask("claims")).content["claims"] == []


async def test_a_session_keeps_no_secret(ask: Asking) -> None:
    assert (await ask("session_save", summary=f"signed in with {TOKEN}")).code == "invalid_argument"


PORT = "The API of the ledger service listens on port 8700 in staging"


async def test_a_contradiction_is_named_with_the_reason(ask: Asking) -> None:
    old = await _id(ask, PORT)
    stored = await ask("remember", content=PORT.replace("8700", "9000"))
    subject = "API ledger service port staging"
    why = f"{subject}: it says 8700, this 9000"
    told = {"id": old, "title": PORT, "why": why, "subject": subject, "old": "8700", "new": "9000"}
    assert stored.content["contradicts"] == [told]
    assert f"contradicts {old}" in stored.text


@pytest.mark.parametrize(
    "gone", [{"visibility": "private"}, {"archived": True}, {"superseded": True}, {"parent": "talk"}]
)
async def test_what_is_gone_private_or_said_in_a_conversation_is_no_contradiction(
    services: Services, ask: Asking, gone: dict[str, Any]
) -> None:
    old = await _id(ask, PORT, **{name: value for name, value in gone.items() if name in ("visibility", "parent")})
    if "archived" in gone:
        await ask("memory_forget", ids=[old])
    if "superseded" in gone:
        await ask("memory_supersede", id=old, content="The ledger service has no API any more")
    await give_role(services, "w")
    writer = asker(services, Caller(local("w"), "main", Role.WRITER, "http"))
    stored = await writer("remember", content=PORT.replace("8700", "9000"))
    assert stored.ok, stored.text
    assert "contradicts" not in stored.content


async def test_a_contradiction_is_only_a_hint(ask: Asking) -> None:
    await _id(ask, PORT)
    await _id(ask, PORT.replace("8700", "9000"))
    assert (await ask("memory_list")).content["total"] == 2


FACT = "The release train leaves every second Tuesday at noon"


async def _shown_by(ask: Asking, tool: str, one: str) -> None:
    arguments: dict[str, Any] = {
        "recall": {"query": "release train"},
        "search": {"query": "release train"},
        "fetch": {"id": one},
        "memory_get": {"ids": [one]},
        "memory_list": {},
    }[tool]
    assert FACT in json.dumps((await ask(tool, **arguments)).content)


@pytest.mark.parametrize("tool", ["recall", "search", "fetch", "memory_get", "memory_list"])
async def test_what_was_just_read_is_not_stored_again(ask: Asking, tool: str) -> None:
    one = await _id(ask, FACT, workspace="elsewhere")
    await _shown_by(ask, tool, one)
    again = await ask("remember", content=f'> "{FACT.upper()}"\n')
    assert again.content["id"] == again.content["duplicate_of"] == one
    assert "on_duplicate" in again.content["warnings"][0]
    assert (await ask("memory_list")).content["total"] == 1


async def test_who_wants_it_twice_gets_it_twice(ask: Asking) -> None:
    one = await _id(ask, FACT, workspace="elsewhere")
    await ask("recall", query="release train")
    assert await _id(ask, FACT, on_duplicate="store") != one


async def test_only_what_was_read_is_an_echo(ask: Asking) -> None:
    one = await _id(ask, FACT, workspace="elsewhere")
    assert await _id(ask, FACT) != one
    await ask("recall", query="release train")
    assert await _id(ask, f"{FACT}, and on holidays a day later", workspace="third") != one


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fetch", {"id": "train.md"}),
        ("note_read", {"path": "train.md", "part": "full"}),
        ("note_read", {"path": "train.md", "part": "section", "heading": "Train"}),
        ("search", {"query": "release train leaves"}),
    ],
)
async def test_a_paragraph_of_a_note_is_an_echo_of_the_note(
    services: Services, ask: Asking, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    put(folder(tmp_path), {"train.md": f"# Train\n\n{FACT}\n"})
    await indexed(services, 1)
    assert (await ask(tool, **arguments)).ok
    again = await ask("remember", content=FACT)
    assert again.content["duplicate_of"] == again.content["id"] == "train.md"
    assert (await ask("memory_list")).content["total"] == 0


async def test_an_echo_of_what_is_gone_is_stored(ask: Asking) -> None:
    one = await _id(ask, FACT, workspace="elsewhere")
    await ask("recall", query="release train")
    await ask("memory_forget", ids=[one])
    assert await _id(ask, FACT) != one


async def test_what_another_caller_was_shown_is_unknown_to_this_one(services: Services, ask: Asking) -> None:
    secret = await _id(ask, FACT, visibility="private")
    await ask("recall", query="release train")
    await give_role(services, "w")
    writer = asker(services, Caller(local("w"), "main", Role.WRITER, "http"))
    stored = await writer("remember", content=FACT)
    assert stored.content["id"] != secret
    assert "duplicate_of" not in stored.content


async def test_turns_of_a_conversation_may_repeat_what_was_read(ask: Asking) -> None:
    one = await _id(ask, FACT, workspace="elsewhere")
    await ask("recall", query="release train")
    assert await _id(ask, FACT, parent="talk") != one


async def test_an_hour_later_it_is_no_echo_any_more(opening: Opening) -> None:
    async with opening({"hygiene.echo_s": 0}) as services:
        ask = asker(services)
        one = await _id(ask, FACT, workspace="elsewhere")
        await ask("recall", query="release train")
        assert await _id(ask, FACT) != one


async def test_a_memory_is_stored_and_says_so_where_its_neighbours_cannot_be_read(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> store_hints.StoreHints:
        raise VaultUnavailable("the disk answered with an error")

    monkeypatch.setattr(store_hints, "_find_hints", fail)
    stored = await ask("remember", content="The harbour opens at nine")
    assert store_hints.UNKNOWN_WARNING in stored.text
    assert stored.content["warnings"] == [store_hints.UNKNOWN_WARNING]
    assert (await ask("memory_list")).content["total"] == 1


async def test_a_memory_that_is_found_before_its_neighbours_takes_none_of_their_places(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours are looked for beside the write, which may be done first."""
    written, find, write = asyncio.Event(), store_hints.find_hints, store_within_quota

    async def store(*args: Any) -> StoreResult:
        stored = await write(*args)
        written.set()
        return stored

    async def find_late(vault: Vault, *args: Any) -> store_hints.StoreHints:
        await written.wait()
        await store_hints.load_index(vault, await vault.db.read(embeddings.last_change))
        return await find(vault, *args)

    content = "the harbour opens at nine in summer and at ten in winter for ships of the big line"
    known = [await _id(ask, f"{content} {number}") for number in range(store_hints.MAX_SIMILAR)]
    monkeypatch.setattr(creation, "store_within_quota", store)
    monkeypatch.setattr(store_hints, "find_hints", find_late)
    stored = await ask("remember", content=f"{content} again")
    assert sorted(near["id"] for near in stored.content["similar"]) == sorted(known)


async def test_duplicates_are_looked_up_while_the_model_works(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, find = threading.Event(), storage.find_by_request

    class Telling(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            began.set()
            return super().embed(texts)

    def find_then(*args: Any) -> StoreResult | None:
        assert began.wait(30), "the model was not asked before"
        return find(*args)

    monkeypatch.setattr(storage, "find_by_request", find_then)
    async with opening(load_model=Telling) as services:
        stored = await asker(services)("remember", content="The harbour opens at nine")
    assert stored.content["embedding"] == "ready"
