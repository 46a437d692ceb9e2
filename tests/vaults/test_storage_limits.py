"""Limits of storage: which of several settings counts, and what is no limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.settings import load
from vaults.durations import parse_duration, parse_size
from vaults.settings import StorageSettings
from vaults.storage_limits import KindLimit, StorageLimits, drop_nonsense, limits_of

DAY = 86_400


def of(vault: str = "main", plan_size: int | None = None, **storage: Any) -> StorageLimits:
    return limits_of(StorageSettings(**storage), vault, plan_size)


def test_without_settings_nothing_is_limited_and_memories_may_not_go() -> None:
    limits = of()
    assert not limits.are_set
    assert limits.target is None
    assert set(limits.kinds) == {"transcript", "document", "code"}


def test_the_narrower_setting_wins_and_none_lifts() -> None:
    storage = {
        "max_size": "2GB",
        "retention": "1y",
        "kinds": {"transcript": {"retention": "90d", "max_size": "1MB"}},
        "vaults": {
            "research": {
                "max_size": "none",
                "retention": "2y",
                "memories": True,
                "kinds": {"code": {"retention": "none"}},
            }
        },
    }
    assert of(**storage).max_size == 2 * 10**9
    assert of(**storage).kinds["transcript"] == KindLimit(10**6, 90 * DAY)
    assert of(**storage).kinds["document"] == KindLimit(None, 365 * DAY)
    research = of("research", **storage)
    assert research.max_size is None
    assert research.kinds == {
        "transcript": KindLimit(10**6, 2 * 365 * DAY),
        "document": KindLimit(None, 2 * 365 * DAY),
        "code": KindLimit(None, None),
        "memory": KindLimit(None, 2 * 365 * DAY),
    }


@pytest.mark.parametrize(
    ("size", "plan", "expected"),
    [("2GB", None, (2 * 10**9, False)), ("2GB", 10**9, (10**9, True)), ("1GB", 2 * 10**9, (10**9, False)),
     (None, 10**9, (None, False))],
)  # fmt: skip
def test_of_setting_and_plan_the_lower_counts_and_a_plan_alone_lets_nothing_go(
    size: str | None, plan: int | None, expected: tuple[int | None, bool]
) -> None:
    limits = of(plan_size=plan, max_size=size)
    assert (limits.max_size, limits.by_plan) == expected


NONSENSE = ("banana", "", "2", "-1GB", "1.5GB", 5, True, [], {"a": 1})


@pytest.mark.parametrize("value", NONSENSE)
def test_invalid_values_use_default(value: Any) -> None:
    loaded = load(flags={"storage.max_size": value, "storage.min_free_disk": value}, environment={})
    assert loaded.settings.storage.max_size is None
    assert loaded.settings.storage.min_free_disk == "100MB"
    assert len(loaded.warnings) == 2
    assert str(value) in loaded.warnings[0]
    assert "storage.max_size" not in loaded.sources


@pytest.mark.parametrize("value", ["banana", "3m", "23h", "0d", "1d12h", 90, "1Y"])
def test_a_retention_of_less_than_a_day_is_taken_for_a_slip(value: Any) -> None:
    loaded = load(flags={"storage.retention": value}, environment={})
    assert loaded.settings.storage.retention is None
    assert len(loaded.warnings) == 1


def test_partial_config_keeps_the_other_defaults() -> None:
    loaded = load(flags={"storage.retention": "30d"}, environment={})
    storage = loaded.settings.storage
    assert (storage.retention, storage.max_size, storage.min_free_disk) == ("30d", None, "100MB")
    assert loaded.warnings == ()


def test_nonsense_in_a_table_is_named_by_its_place() -> None:
    vaults = {"main": {"max_size": "x", "kinds": {"code": {"retention": "y"}}}}
    given_storage: dict[str, Any] = {"kinds": {"transcript": {"max_size": "z", "retention": "90d"}}, "vaults": vaults}
    told = drop_nonsense(given_storage)
    assert [line.partition(": ")[0] for line in told] == [
        "storage.kinds.transcript.max_size",
        "storage.vaults.main.max_size",
        "storage.vaults.main.kinds.code.retention",
    ]
    assert StorageSettings(**given_storage).kinds["transcript"].retention == "90d"


def test_sizes_and_durations_of_nano_brain_are_read() -> None:
    assert {text: parse_size(text) for text in ("500MB", "2GB", "1TB", "64KB")} == {
        "500MB": 500 * 10**6, "2GB": 2 * 10**9, "1TB": 10**12, "64KB": 64_000,
    }  # fmt: skip
    assert parse_size("2GiB") == 2_147_483_648, "what nano-brain calls 2GB"
    assert [parse_duration(text) * 1000 for text in ("30d", "90d", "1y")] == [
        2_592_000_000,
        7_776_000_000,
        31_536_000_000,
    ]


@given(st.text(max_size=20))
def test_whatever_is_written_the_settings_load(text: str) -> None:
    storage: dict[str, Any] = {"max_size": text, "retention": text, "min_free_disk": text}
    told = drop_nonsense(storage)
    StorageSettings(**storage)
    assert len(told) + len(storage) == 3
