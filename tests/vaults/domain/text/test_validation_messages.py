"""Why a value does not fit is told in words that fit it."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError

from vaults.domain.text.fields import Label, Text
from vaults.domain.text.validation_messages import simplify


class _Given(BaseModel):
    name: Label = "x"
    query: Annotated[Text, Field(max_length=3)] = ""
    tags: list[str] = Field(default=[], max_length=1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"query": "long"}, "should have at most 3 characters"),
        ({"tags": ["a", "b"]}, "list should have at most 1 item after validation, not 2"),
        ({"name": ""}, "string should have at least 1 character"),
    ],
)
def test_a_length_is_told_in_what_it_is_counted_in(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _Given.model_validate(given)
    assert simplify(refused.value.errors()[0]["msg"]) == told
