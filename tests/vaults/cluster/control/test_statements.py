"""Statements written for SQLite as PostgreSQL takes them."""

from __future__ import annotations

import pytest

from vaults.cluster.control.statements import changes_rows, to_postgres, to_values
from vaults.errors import InvalidArgument


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("SELECT 1", "SELECT 1"),
        ("a = :name AND b = :name2", "a = %(name)s AND b = %(name2)s"),
        ("a = ? OR b = ?", "a = %s OR b = %s"),
        ("a LIKE '/%.tar' AND b = ':no' AND c = 'it''s ?'", "a LIKE '/%%.tar' AND b = ':no' AND c = 'it''s ?'"),
        ('SELECT "a:b" FROM t -- :no ?', 'SELECT "a:b" FROM t -- :no ?'),
        ("a % 2", "a %% 2"),
        ("instr(lower(a), :text) > 0", "strpos(lower(a), %(text)s) > 0"),
        ("'instr(' || reinstr(a)", "'instr(' || reinstr(a)"),
    ],
)
def test_values_are_bound_anywhere_but_in_quotes(written: str, sent: str) -> None:
    assert to_postgres(written).decode() == sent


def test_truth_is_a_number() -> None:
    assert to_values({"a": True, "b": None, "c": "x"}) == {"a": 1, "b": None, "c": "x"}
    assert to_values((False, b"x")) == [0, b"x"]


def test_a_text_that_cannot_be_kept_is_named() -> None:
    with pytest.raises(InvalidArgument, match="browser"):
        to_values({"browser": "a\0"})


@pytest.mark.parametrize(("sql", "changes"), [("\n insert INTO a", True), ("DELETE FROM a", True), ("SELECT 1", False)])
def test_what_changes_rows_is_known(sql: str, changes: bool) -> None:
    assert changes_rows(sql) is changes
