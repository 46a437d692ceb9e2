"""What a search must not tell or cost: others' private names and words, expired text, forged cursors, long filters.

Covers vaults.domain.paging.cursors, vaults.search.ranking_cache.
"""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults.domain.paging import cursors, search_cursors


@pytest.fixture
async def ben(services: Services) -> Asking:
    """A reader who may see what is shared and nothing else."""
    await give_role(services, "ben", Role.READER)
    return asker(services, Caller(local("ben"), "main", Role.READER, "http"))


async def test_private_names_do_not_show_in_how_a_question_is_read(ask: Asking, ben: Asking) -> None:
    own = {"visibility": "private", "entity": "Zebulon Quagmire", "author": "Xantippe Grey"}
    await ask("remember", content="let somebody go", **own)
    for asked in ("what about Zebulon", "what did Xantippe say"):
        read = (await ben("explain", query=asked)).content["query"]
        assert ("names" in read, read["model"]) == (False, asked)


async def test_whether_a_word_is_corrected_does_not_tell_of_private_ones(ask: Asking, ben: Asking) -> None:
    await ask("remember", content="three projects are open")
    before = (await ben("search", query="prohects")).content
    await ask("remember", content="the prohects file", visibility="private")
    after = (await ben("search", query="prohects")).content
    assert (after["warnings"], len(after["hits"])) == (before["warnings"], len(before["hits"]))
    assert before["warnings"]
    mine = (await ask("search", query="prohects", mode="keyword")).content["hits"]
    assert mine[0]["title"] == "the prohects file"


async def test_a_name_that_was_given_later_is_known_at_once(ask: Asking) -> None:
    stored = (await ask("remember", content="the winch is greased")).content["id"]
    assert "names" not in (await ask("explain", query="what of Zebulon")).content["query"]
    await ask("memory_update", id=stored, entity="Zebulon Quagmire")
    assert (await ask("explain", query="what of Zebulon")).content["query"]["names"] == ["zebulon quagmire"]


async def _expire(services: Services, memory: str) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        past = "2020-01-01T00:00:00.000Z"

        def age(tx: object) -> None:
            tx.run("UPDATE memories SET expires_at = ? WHERE id = ?", (past, memory))  # type: ignore[attr-defined]
            tx.run(  # type: ignore[attr-defined]
                "UPDATE passages SET expires_at = ? WHERE item = (SELECT seq FROM memories WHERE id = ?)",
                (past, memory),
            )

        await vault.db.write(age)


async def test_what_expires_is_not_found_by_the_words_around_it(services: Services, ask: Asking) -> None:
    turn = {"parent": "talk", "type": "episodic"}
    gone = (await ask("remember", content="the launch code is mxyzptlk", ttl_days=1, **turn)).content["id"]
    await ask("remember", content="ok, noted", **turn)
    await _expire(services, gone)
    assert (await ask("search", query="mxyzptlk", mode="keyword")).content["hits"] == []


async def test_a_ranking_is_not_kept_beyond_the_next_expiry(services: Services, ask: Asking) -> None:
    for n in range(3):
        await ask("remember", content=f"lamp {n}", ttl_days=1)
    await ask("search", query="lamp", limit=1)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        (kept,) = vault.rankings._kept.values()
        assert kept.until == await vault.db.read(lambda tx: tx.value("SELECT MIN(expires_at) FROM memories"))


async def test_scores_mean_the_same_on_every_page(ask: Asking) -> None:
    for n in range(6):
        await ask("remember", content="lamp " * (6 - n) + "of the pier and its long quiet nights " * n)
    whole = (await ask("search", query="lamp", limit=100)).content["hits"]
    paged, more = [], {}
    for _ in whole:
        found = (await ask("search", query="lamp", limit=1, **more)).content
        paged += found["hits"]
        more = {"cursor": found.get("cursor")}
        if more["cursor"] is None:
            break
    assert [(hit["id"], hit["score"]) for hit in paged] == [(hit["id"], hit["score"]) for hit in whole]


async def test_a_forged_cursor_costs_nothing(services: Services, ask: Asking) -> None:
    for n in range(3):
        await ask("remember", content=f"lamp {n}")
    cursor = (await ask("search", query="lamp", limit=1)).content["cursor"]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        inner = await cursors.unseal(vault, cursor)
        digest = json.loads(zlib.decompress(base64.urlsafe_b64decode(inner + "=" * (-len(inner) % 4))))[0]
        shown = frozenset(("memory", n) for n in range(search_cursors.MAX_SHOWN + 1))
        many = search_cursors.SearchCursor(digest, 3, shown)
        for forged in (many.text(), await cursors.seal(vault, many.text()), "x", "é", "=" * 20_000, cursor[:-2]):
            assert (await ask("search", query="lamp", cursor=forged)).code == "invalid_argument"


@pytest.mark.parametrize("tool", ["search", "memory_list"])
async def test_a_cursor_does_not_tell_how_much_others_store(ask: Asking, tool: str) -> None:
    for n in range(3):
        await ask("remember", content=f"lamp {n}")
    asked = {"query": "lamp"} if tool == "search" else {}
    cursor = (await ask(tool, limit=1, **asked)).content["cursor"]
    plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    assert not plain.isascii(), "no JSON"
    with pytest.raises(zlib.error):
        zlib.decompress(plain)
    assert (await ask(tool, limit=1, cursor=cursor, **asked)).ok


async def test_a_filter_of_endless_values_is_refused(ask: Asking) -> None:
    refused = await ask("search", query="lamp", where={"k": list(range(51))})
    assert refused.code == "invalid_argument"
    assert "where" in refused.text


async def test_the_root_folder_filters_nothing(ask: Asking) -> None:
    await ask("remember", content="a lamp")
    assert len((await ask("search", query="lamp", folder="/")).content["hits"]) == 1
