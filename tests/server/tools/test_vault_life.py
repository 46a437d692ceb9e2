"""What the tool ``vaults`` changes: only for admins of every vault, and never the vault of the connection.

Covers server.tools.admin.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.grants import set_grant
from auth.roles import Role
from server import last_backups
from server.call import Caller
from tests.conftest import Opening, asker, local
from vaults.registry import VaultEntry


@pytest.fixture
def backed_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    async def back_up(_control: object, _data: Path, _settings: object, entry: VaultEntry) -> Path:
        seen.append(entry.name)
        return Path("/backups/last")

    monkeypatch.setattr(last_backups, "back_up_last", back_up)
    return seen


async def test_an_admin_of_every_vault_renames_unarchives_and_deletes(opening: Opening, backed_up: list[str]) -> None:
    async with opening(vaults=("main", "old")) as services:
        ask = asker(services)
        renamed = await ask("vaults", action="rename", name="old", to="new", confirmed=True)
        assert renamed.content["vaults"][0]["name"] == "new"
        assert (await ask("vaults", action="archive", name="new", confirmed=True)).ok
        assert not services.registry_cache.known("new")
        assert (await ask("vaults", action="unarchive", name="new")).content["vaults"][0]["state"] == "active"
        assert services.registry_cache.known("new")
        refused = await ask("vaults", action="delete", name="new", name_again="old", confirmed=True)
        assert refused.code == "confirmation_required"
        assert not backed_up
        gone = await ask("vaults", action="delete", name="new", name_again="new", confirmed=True)
        assert gone.content["vaults"][0]["state"] == "deleted"
        assert backed_up == ["new"]
        assert list(services.registry_cache.names()) == ["main"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "rename", "name": "main", "to": "new", "confirmed": True}, "invalid_argument"),
        ({"action": "delete", "name": "main", "name_again": "main", "confirmed": True}, "invalid_argument"),
        ({"action": "rename", "name": "other", "confirmed": True}, "invalid_argument"),
        ({"action": "rename", "name": "other", "to": "../up", "confirmed": True}, "invalid_argument"),
        ({"action": "unarchive", "name": "none"}, "not_found"),
    ],
)
async def test_what_may_not_be_is_refused(
    opening: Opening, backed_up: list[str], arguments: dict[str, object], code: str
) -> None:
    async with opening(vaults=("main", "other")) as services:
        assert (await asker(services)("vaults", **arguments)).code == code
        assert set(services.registry_cache.names()) == {"main", "other"}
        assert not backed_up


async def test_an_admin_of_one_vault_changes_none(opening: Opening, backed_up: list[str]) -> None:
    async with opening(vaults=("main", "other")) as services:
        await services.access_cache.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.ADMIN))
        ask = asker(services, Caller(local("ann"), "main", Role.ADMIN, "http"))
        for arguments in ({"action": "rename", "to": "new"}, {"action": "delete", "name_again": "other"}):
            assert (await ask("vaults", name="other", confirmed=True, **arguments)).code == "forbidden"
        assert services.registry_cache.known("other")
        assert not backed_up
