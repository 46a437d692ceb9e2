"""A union of results is sent as one object that may have any of their fields (server.tool_results)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated

import pytest
from pydantic import TypeAdapter

from server.tool_results import to_wire, to_wire_type


@dataclass(frozen=True)
class Shelf:
    books: list[str]
    total: int
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Book:
    title: str
    total: int
    lent: bool = False
    note: str | None = None


@dataclass(frozen=True)
class Oddity:
    title: int


LIBRARY = Annotated[Shelf | Book, "Of list: ``books``."]


def test_a_field_is_null_where_another_result_has_it_and_gives_no_default() -> None:
    wire = to_wire_type(LIBRARY)
    assert asdict(to_wire(wire, Book("Emma", 1))) == {
        "books": None, "total": 1, "warnings": [], "title": "Emma", "lent": False, "note": None,
    }  # fmt: skip
    assert asdict(to_wire(wire, Shelf([], 0)))["title"] is None


def test_the_schema_says_what_clients_are_told() -> None:
    schema = TypeAdapter(to_wire_type(LIBRARY)).json_schema()
    assert schema["description"] == "Of list: ``books``."
    assert schema["required"] == ["total"]


def test_only_the_fields_that_are_named_are_sent_in_that_order() -> None:
    wire = to_wire_type(Annotated[Shelf | Book, "Some.", "title total books"])
    assert list(asdict(to_wire(wire, Shelf(["Emma"], 1))).items()) == [
        ("title", None),
        ("total", 1),
        ("books", ["Emma"]),
    ]


def test_what_is_no_union_is_sent_as_it_is() -> None:
    book = Book("Emma", 1)
    assert to_wire(to_wire_type(Book), book) is book


@pytest.mark.parametrize("odd", [Annotated[Book | Oddity, "Odd."], Annotated[Book | Shelf, "Odd.", "title isbn"]])
def test_results_that_disagree_and_names_that_none_has_are_refused(odd: object) -> None:
    with pytest.raises(TypeError):
        to_wire_type(odd)
