"""Sources are known by name."""

from __future__ import annotations

import pytest

from vaults.errors import InvalidArgument
from vaults.sources.known import SOURCES, find_source


def test_each_is_found_by_its_name() -> None:
    assert all(find_source(name).name == name for name in SOURCES)
    assert {"jsonl", "chatgpt", "csv"} <= SOURCES.keys()


def test_another_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidArgument, match="basic-memory, chatgpt, claude, csv"):
        find_source("nothing")
