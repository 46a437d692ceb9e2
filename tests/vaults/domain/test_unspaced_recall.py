"""Texts in scripts without spaces are found by the words in them, and leave nothing behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking
from vaults.db.sql import Reader
from vaults.domain.maintenance.reindexing import reindex
from vaults.index.unspaced_scripts import to_pairs
from vaults.vault import Vault


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def _id(ask: Asking, content: str, **more: Any) -> str:
    return str((await ask("remember", content=content, **more)).content["id"])


async def _found(ask: Asking, query: str, **more: Any) -> list[str]:
    return [hit["id"] for hit in (await ask("recall", query=query, mode="keyword", **more)).content["hits"]]


def _pairs(tx: Reader) -> dict[int, str]:
    return {int(row[0]): row[1] for row in tx.all("SELECT rowid, pairs FROM passages_pairs")}


def _due(tx: Reader) -> dict[int, str]:
    rows = tx.all("SELECT seq, title, body, labels FROM passages")
    due = {int(row[0]): to_pairs(f"{row[1]}\n{row[2]}\n{row[3]}") for row in rows}
    return {seq: pairs for seq, pairs in due.items() if pairs}


TEXTS = {
    "chinese": ("我们决定把数据库迁移到东京的机房", ["数据库", "东京", "数据库在哪里?", "迁移"]),
    "japanese": ("来週の会議は大阪オフィスで行います。資料はサーバーにあります", ["会議", "ｻｰﾊﾞｰ", "大阪の会議はいつ"]),
    "thai": ("เราจะประชุมที่เชียงใหม่ในวันศุกร์", ["เชียงใหม่", "ประชุมวันไหน"]),
    "mixed": ("Deploy 服务器 with Kubernetes 集群 on Friday", ["服务器", "kubernetes", "集群 friday", "服务器 zebra"]),
    "korean": ("내일 서울에서 회의가 있습니다", ["내일", "회의가"]),
}
OTHERS = ("明日は雨が降るでしょう", "今天晚饭吃什么好呢", "พรุ่งนี้ฝนจะตก", "Nothing to see here")


@pytest.mark.parametrize("script", TEXTS)
async def test_a_text_is_found_by_the_words_in_it(ask: Asking, script: str) -> None:
    content, queries = TEXTS[script]
    for other in OTHERS:
        await _id(ask, other)
    one = await _id(ask, content)
    for query in queries:
        assert (await _found(ask, query))[:1] == [one], query


async def test_titles_tags_and_keywords_are_found_by_their_words_too(ask: Asking) -> None:
    one = await _id(ask, "About the move", title="东京机房迁移计划")
    two = await _id(ask, "About the talk", tags=["技术会议记录"], keywords=["年度预算"])
    assert await _found(ask, "机房") == [one]
    assert await _found(ask, "会议") == await _found(ask, "预算") == [two]


async def test_a_changed_text_is_found_by_its_new_words_only(ask: Asking, vault: Vault) -> None:
    one = await _id(ask, "数据库在东京")
    await ask("memory_update", id=one, content="The database moved to Osaka")
    assert await _found(ask, "东京") == []
    assert await vault.db.read(_pairs) == {}
    await ask("memory_update", id=one, content="数据库在大阪")
    assert await _found(ask, "大阪") == [one]
    assert await vault.db.read(_pairs) == await vault.db.read(_due)


async def test_filters_and_privacy_hold_for_pairs(ask: Asking) -> None:
    one = await _id(ask, "服务器在地下室", tags=["a"])
    two = await _id(ask, "服务器在阁楼")
    assert await _found(ask, "服务器", tags=["a"]) == [one]
    await ask("memory_forget", ids=[one])
    assert await _found(ask, "服务器") == [two]
    assert set(await _found(ask, "服务器", include_archived=True)) == {one, two}


async def test_a_purge_takes_the_pairs_of_every_passage(ask: Asking, vault: Vault) -> None:
    one = await _id(ask, "\n\n".join(f"第{n}段说的是港口和船只还有潮汐的变化规律" * 6 for n in range(12)))
    two = await _id(ask, "港口很安静")
    assert len(await vault.db.read(_pairs)) > 3
    await ask("memory_forget", ids=[one], purge=True)
    assert await vault.db.read(_pairs) == await vault.db.read(_due) != {}
    assert await _found(ask, "潮汐") == []
    assert await _found(ask, "港口") == [two]


async def test_reindexing_builds_the_pairs_anew(ask: Asking, vault: Vault) -> None:
    one = await _id(ask, "数据库在东京")
    await vault.db.write(lambda tx: tx.run("DELETE FROM passages_pairs"))
    await reindex(vault)
    assert await _found(ask, "东京") == [one]
