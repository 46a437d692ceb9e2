"""Fields of a source under other names."""

from __future__ import annotations

import pytest

from vaults.domain.import_export.field_map import parse_field_map
from vaults.errors import InvalidArgument


def test_fields_are_renamed_dropped_and_their_values_called_otherwise() -> None:
    mapped = parse_field_map(["text=content", "notes=", "type:todo=plan", "priority:1=high"])
    given = {"text": "x=y", "notes": [1], "type": "todo", "priority": 1, "tags": ["a"]}
    assert mapped.apply(given) == {"content": "x=y", "type": "plan", "priority": "high", "tags": ["a"]}
    assert mapped.apply({"type": "fact"}) == {"type": "fact"}
    assert parse_field_map([]).apply(given) == given


def test_values_are_mapped_by_the_new_name_of_their_field() -> None:
    assert parse_field_map(["sort=type", "type:todo=plan"]).apply({"sort": "todo"}) == {"type": "plan"}


@pytest.mark.parametrize("rule", ["", "=", "text", "=content", "type:todo", "type:todo=", ":todo=x"])
def test_rules_that_say_nothing_are_refused(rule: str) -> None:
    with pytest.raises(InvalidArgument, match="--map"):
        parse_field_map([rule])
