"""Arguments a tool does not take are refused by name, whatever their number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest

from auth.grants import set_grant
from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from server.tools import discover
from tests.conftest import Asking, asker, local


async def test_the_first_unknown_name_is_told_with_what_the_tool_takes(ask: Asking) -> None:
    refused = await ask("recall", query="x", colour="red", size=1)
    error = refused.content["error"]
    assert (refused.code, error["details"]) == ("invalid_argument", {"field": "colour"})
    assert error["message"] == "Validation error: colour is not an argument of this tool"
    assert error["hint"].startswith("recall takes: types, ")
    assert (await ask("recall", **{"": 1})).content["error"]["details"] == {"field": "arguments"}
    assert (await ask("recall", **{"n" * 300: 1})).content["error"]["details"] == {"field": "n" * 200}


async def test_a_refusal_names_no_argument_and_no_action_that_is_not_shown(services: Services) -> None:
    for role in Role:
        await services.access_cache.write(
            partial(set_grant, subject=role.label, issuer="local", vault="main", role=role)
        )
    for role, preset, write_mode in product(Role, ("agent", "full"), ("auto", "ask")):
        caller = Caller(local(role.label), "main", role, "http", preset=preset, write_mode=write_mode)
        ask = asker(services, caller)
        for spec in services.registry.visible(role, preset, write_mode):
            shown = spec.input_schema_for(role, preset, write_mode)["properties"]
            action = {"action": shown["action"]["enum"][0]} if spec.actions_for(role, write_mode) else {}
            refused = (await ask(spec.name, **action, nonsense=1)).content["error"]
            assert refused["hint"] == f"{spec.name} takes: {', '.join(shown) or 'no arguments'}"
            if action:
                refused = (await ask(spec.name, action="nonsense")).content["error"]
                assert refused["message"].startswith("Validation error: action should be "), spec.name
                assert set(re.findall(r"'(\w+)'", refused["message"])) == set(shown["action"]["enum"])


async def test_a_value_that_does_not_fit_is_told_without_the_other_arguments(ask: Asking) -> None:
    error = (await ask("recall", query=5)).content["error"]
    assert error == {
        "code": "invalid_argument",
        "message": "Validation error: query should be a valid string",
        "retryable": False,
        "details": {"field": "query"},
    }
    missing = (await ask("remember")).content["error"]
    assert missing["message"] == "Validation error: content is required"


class Counted(dict[str, Any]):
    """Arguments that count how many of their names are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.looks += 1
            yield name


async def test_very_many_unknown_names_cost_no_more_than_one(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_work(*_: Any, **__: Any) -> Any:
        raise AssertionError("pydantic makes an error of each name: of 280,000 it takes 700 ms")

    monkeypatch.setattr(discover().get("recall").arguments, "model_validate", no_work)
    arguments = Counted({f"n{number}": 1 for number in range(280_000)})
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    assert (await dispatch(services, caller, "recall", arguments)).code == "invalid_argument"
    assert arguments.looks < 100
