"""What the first start makes, and what it prints of it.

Covers server.cli.runtime, server.cli.serve, server.setup.first_start.
"""

from __future__ import annotations

import asyncio
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from auth.grants import list_grants
from auth.tokens import list_tokens
from server.cli.runtime import open_control
from server.cli.serve import has_console, people_welcome, welcome
from server.settings import LoadedSettings, load
from server.setup.first_start import FirstStart, first_start
from tests.server.cli.command import Strongroom
from vaults.errors import InvalidArgument


def loaded(data: Path, **flags: Any) -> LoadedSettings:
    return load(data, flags={name.replace("__", "."): value for name, value in flags.items()}, environment={})


async def started(settings: LoadedSettings) -> FirstStart | None:
    async with open_control(settings) as control:
        return await first_start(control, settings)


async def test_the_first_token_is_admin_of_main_alone_for_ninety_days(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    made = await started(settings)
    assert made is not None
    assert made.token is not None
    assert made.token.vaults == ("main",)
    left = datetime.fromisoformat(made.token.expires_at) - datetime.now(UTC)
    assert 89 <= left.days <= 90
    async with open_control(settings) as control:
        assert [(each.vault, each.role.label) for each in await control.read(list_grants)] == [("main", "admin")]
    assert await started(settings) is None


@pytest.mark.parametrize("flags", [{"auth__first_token_ttl": "none"}, {"auth__mode": "none"}])
async def test_no_token_is_made_where_none_is_wanted(tmp_path: Path, flags: dict[str, str]) -> None:
    settings = loaded(tmp_path, **flags)
    assert await started(settings) == FirstStart(None)
    async with open_control(settings) as control:
        assert await control.read(list_tokens) == []


async def test_the_first_token_lives_as_long_as_it_is_told(tmp_path: Path) -> None:
    made = await started(loaded(tmp_path, auth__first_token_ttl="2d"))
    assert made is not None
    assert made.token is not None
    assert (datetime.fromisoformat(made.token.expires_at) - datetime.now(UTC)).days <= 2
    for wrong in ("soon", "0s", "9999d"):
        with pytest.raises(InvalidArgument, match="--first-token-ttl must"):
            loaded(tmp_path, auth__first_token_ttl=wrong)


async def test_what_is_printed_says_when_the_token_ends_and_how_others_are_made(tmp_path: Path) -> None:
    made = await started(loaded(tmp_path))
    assert made is not None
    assert made.token is not None
    said = welcome("http://h:1", made.token, " --data d")
    assert f"until {made.token.expires_at}" in said
    assert "strongroom token create --data d --subject agent-1 --vault main --role writer" in said
    assert f'http://h:1/v/main/mcp --header "Authorization: Bearer {made.token.token}"' in said
    without = welcome("http://h:1", None, "")
    assert "Bearer" not in without
    assert "strongroom token create --subject owner --vault main --role admin" in without


async def test_the_line_for_people_lets_the_owner_in_as_admin_of_everything(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await started(loaded(data))
    said = people_welcome("http://127.0.0.1:1", f" --data {data}")
    assert "http://127.0.0.1:1/ in a browser" in said
    _, *words = shlex.split(said.splitlines()[1])
    ran = await asyncio.to_thread(Strongroom(data), *words)
    assert "/oauth/invite?link=" in ran.out
    async with open_control(loaded(data)) as control:
        held = {(each.subject, each.vault, each.role.label) for each in await control.read(list_grants)}
    assert ("owner", "*", "admin") in held


@pytest.mark.parametrize(
    ("url", "flags", "there"),
    [
        ("http://127.0.0.1:1", {}, True),
        ("https://mem.example", {}, True),
        ("http://mem.example", {}, False),
        ("http://mem.example", {"auth__login": "local"}, False),
        ("http://127.0.0.1:1", {"auth__login": "off"}, False),
        ("http://127.0.0.1:1", {"ui__enabled": False}, False),
    ],
)
def test_nobody_is_told_of_pages_that_nobody_signs_in_to(
    tmp_path: Path, url: str, flags: dict[str, Any], *, there: bool
) -> None:
    assert has_console(loaded(tmp_path, **flags).settings, url) is there
