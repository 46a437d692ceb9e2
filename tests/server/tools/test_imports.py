"""The tool ``imports``: batches pushed, listed and taken back by whoever may."""

from __future__ import annotations

from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from server.tools import imports as imports_tool
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults.domain.import_export import run_undo


def lines(count: int) -> list[dict[str, Any]]:
    return [{"external_id": f"m{number}", "content": f"memory {number}"} for number in range(count)]


async def test_batches_of_one_run_are_pushed_listed_and_taken_back(ask: Asking) -> None:
    first = await ask("imports", action="push", source="mempack", path="/x", lines=[*lines(2), {"content": ""}])
    run = first.content["run"]
    assert first.content["counts"] == {"memory": {"stored": 2, "rejected": 1}}
    assert first.content["rejected"][0]["line"] == 3
    again = await ask("imports", action="push", run=run, first=4, lines=[*lines(3), {"kind": "x"}])
    assert (again.content["run"], again.content["counts"]["memory"]) == (run, {"known": 2, "stored": 1})
    assert again.content["rejected"][0]["line"] == 7
    (listed,) = (await ask("imports")).content["runs"]
    assert (listed["id"], listed["source"], "ended_at" in listed) == (run, "mempack", False)
    assert (await ask("imports", action="end", run=run)).ok
    assert "ended_at" in (await ask("imports")).content["runs"][0]
    undone = await ask("imports", action="undo", run=run, confirmed=True)
    assert (undone.content["removed"], undone.content["more"]) == ({"memory": 3}, False)
    assert not (await ask("memory_list")).content["memories"]


async def test_a_long_import_is_taken_back_in_several_calls(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports_tool, "MAX_UNDO_STEPS", 1)
    run = (await ask("imports", action="push", lines=lines(3))).content["run"]
    more = []
    for _ in range(2):
        answer = await ask("imports", action="undo", run=run, confirmed=True)
        more.append((answer.content["more"], answer.content.get("removed")))
    assert more == [(True, {"memory": 3}), (False, None)]
    assert run_undo.BATCH >= 3


async def test_runs_of_others_do_not_exist(services: Services) -> None:
    for name, role in (("ann", Role.ADMIN), ("bob", Role.ADMIN), ("cat", Role.READER)):
        await give_role(services, name, role)
    ann, bob, cat = (asker(services, Caller(local(name), "main", Role.ADMIN, "http")) for name in ("ann", "bob", "cat"))
    run = (await ann("imports", action="push", lines=lines(1))).content["run"]
    assert not (await bob("imports")).content.get("runs")
    for action in ("push", "end", "undo"):
        assert (await bob("imports", action=action, run=run, lines=lines(1), confirmed=True)).code == "not_found"
    assert (await cat("imports")).ok
    assert (await cat("imports", action="push", lines=lines(1))).code == "forbidden"


async def test_nothing_is_taken_back_that_was_not_named(ask: Asking) -> None:
    assert (await ask("imports", action="push", lines=lines(1))).ok
    for run in ({}, {"run": ""}):
        assert (await ask("imports", action="undo", confirmed=True, **run)).code in ("invalid_argument", "not_found")
    assert (await ask("memory_list")).content["memories"]
