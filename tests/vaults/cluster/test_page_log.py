"""Whatever is done to a vault: restored at every entry of its log it is, byte for byte, what it was.

Covers vaults.cluster.page_log, vaults.cluster.restore, vaults.cluster.rebasing.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.logged_vault import LoggedVault, Script
from tests.work import examples

VERBS = (
    "group",
    "failing",
    "insert",
    "large",
    "update",
    "delete",
    "rollback",
    "savepoint",
    "schema",
    "shrink",
    "vacuum",
    "checkpoint",
    "purge",
    "rest",
    "reader",
    "base",
    "again",
    "elsewhere",
)

steps = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 10_000)), min_size=1, max_size=20)


@settings(max_examples=examples(24))
@given(steps)
@example([("insert", 1), ("vacuum", 0), ("delete", 4), ("base", 0), ("shrink", 7), ("again", 0), ("insert", 3)])
@example([("large", 1), ("large", 2), ("reader", 1), ("large", 3), ("elsewhere", 0), ("update", 1)])
@example([("insert", 3), ("insert", 4), ("vacuum", 0), ("insert", 5), ("savepoint", 1), ("shrink", 6), ("shrink", 7)])
def test_every_entry_is_restored_byte_for_byte(script: list[tuple[str, int]]) -> None:
    asyncio.run(run_and_restore(script))


@pytest.mark.crash
@settings(max_examples=examples(400))
@given(steps)
def test_every_entry_of_many_more_scripts_is(script: list[tuple[str, int]]) -> None:
    asyncio.run(run_and_restore(script))


async def run_and_restore(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = LoggedVault(Path(folder))
        await vault.open()
        steps = Script(vault)
        await steps.begin()
        for verb, seed in script:
            await steps.run(verb, seed)
        await vault.close()
        vault.check_every_entry()
