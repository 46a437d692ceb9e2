"""A new key signs; an old one stays as long as a token it signed, and not longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from auth import key_rotation
from auth.key_rotation import KeyUse
from auth.keys import KeyRing, add_key
from auth.local_issuer import LocalAuthenticator
from auth.roles import Role
from auth.token_claims import peek
from auth.tokens import IssuedToken, TokenRequest, create_token, revoke_token
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import ReadOnly

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def clocked(control: Transactions) -> _Clock:
    return _Clock(control)


def _back(at: str, time: timedelta) -> str:
    return (datetime.fromisoformat(at) - time).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Clock:
    """control.db as it will be later: what was written moves into the past."""

    def __init__(self, control: Transactions) -> None:
        self.control = control

    async def wait(self, time: timedelta) -> None:
        def age(tx: Writer) -> None:
            for table, key, column, where in (
                ("tokens", "id", "created_at", ""), ("tokens", "id", "expires_at", ""),
                ("installation", "key", "value", " WHERE key LIKE 'key_ended:%'"),
            ):  # fmt: skip
                for name, at in tx.all(f"SELECT {key}, {column} FROM {table}{where}"):
                    if at is not None:
                        tx.run(
                            f"UPDATE {table} SET {column} = :at WHERE {key} = :name",
                            {"at": _back(at, time), "name": name},
                        )

        await self.control.write(age)


async def _issue(control: Transactions, ring: KeyRing, life: timedelta) -> IssuedToken:
    request = TokenRequest("alice", ("v1",), Role.READER, int(life.total_seconds()))
    return await control.write(lambda tx: create_token(tx, ring, "i", request))


async def _uses(control: Transactions, ring: KeyRing) -> list[KeyUse]:
    return await control.read(lambda tx: key_rotation.uses_of(tx, ring.keys))


async def test_the_new_key_signs_and_the_old_one_verifies(control: Transactions, ring: KeyRing) -> None:
    before = await _issue(control, ring, DAY)
    old = ring.newest
    new = await key_rotation.rotate(control, ring)
    after = await _issue(control, ring, DAY)
    assert peek(before.token).kid == old.kid
    assert peek(after.token).kid == new.kid
    door = LocalAuthenticator(ring, "i", 0)
    for issued in (before, after):
        assert (await door.authenticate(peek(issued.token))) is not None
    assert {key["kid"] for key in ring.jwks()["keys"]} == {old.kid, new.kid}
    assert [(use.signs, use.tokens) for use in await _uses(control, ring)] == [(False, 2), (True, 2)]


async def test_a_key_goes_once_the_last_token_it_signed_has_run_out(
    control: Transactions, ring: KeyRing, clocked: _Clock
) -> None:
    await _issue(control, ring, 3 * HOUR)
    old = ring.newest
    await clocked.wait(HOUR)
    new = await key_rotation.rotate(control, ring)
    await clocked.wait(HOUR)
    later = await _issue(control, ring, 10 * DAY)
    assert not await key_rotation.remove_spent(control, ring)
    assert [use.tokens for use in await _uses(control, ring)] == [1, 1]
    await clocked.wait(3 * HOUR)
    assert [key.kid for key in await key_rotation.remove_spent(control, ring)] == [old.kid]
    assert [key.kid for key in ring.keys] == [new.kid]
    assert peek(later.token).kid == new.kid
    assert not await control.read(lambda tx: tx.all("SELECT key FROM installation WHERE key LIKE 'key_ended:%'"))


async def test_a_revoked_token_holds_no_key(control: Transactions, ring: KeyRing, clocked: _Clock) -> None:
    issued = await _issue(control, ring, DAY)
    await clocked.wait(HOUR)
    await key_rotation.rotate(control, ring)
    await clocked.wait(HOUR)
    assert not await key_rotation.remove_spent(control, ring)
    await control.write(lambda tx: revoke_token(tx, issued.id))
    assert len(await key_rotation.remove_spent(control, ring)) == 1


async def test_the_key_of_a_rotation_that_was_killed_ends_when_that_is_noticed(
    control: Transactions, ring: KeyRing, clocked: _Clock
) -> None:
    await _issue(control, ring, HOUR)
    await clocked.wait(DAY)
    add_key(ring)  # and the process is killed
    assert [(use.ended_at, use.is_spent) for use in await _uses(control, ring)] == [(None, False), (None, False)]
    assert not await key_rotation.remove_spent(control, ring), "another process may still sign with it"
    await clocked.wait(HOUR)
    assert len(await key_rotation.remove_spent(control, ring)) == 1


async def test_a_clock_that_was_ahead_when_a_key_ended_takes_no_key_from_its_tokens(
    control: Transactions, ring: KeyRing, clocked: _Clock
) -> None:
    await key_rotation.rotate(control, ring)
    await key_rotation.remove_spent(control, ring)
    await control.write(
        lambda tx: tx.run("UPDATE installation SET value = '2999-01-01T00:00:00Z' WHERE key LIKE 'key_ended:%'")
    )
    second = ring.newest
    issued = await _issue(control, ring, 10 * DAY)
    await clocked.wait(HOUR)
    await control.write(
        lambda tx: tx.run("UPDATE installation SET value = '2999-01-01T00:00:00Z' WHERE key LIKE 'key_ended:%'")
    )
    await key_rotation.rotate(control, ring)
    await control.write(lambda tx: tx.run(
        "UPDATE installation SET value = :at WHERE key = :key",
        {"at": _back(datetime.now(UTC).isoformat(), HOUR), "key": f"key_ended:{second.kid}"},
    ))  # fmt: skip
    await key_rotation.remove_spent(control, ring)
    assert ring.find(peek(issued.token).kid) is not None


async def test_the_only_key_stays_however_old_it_is(control: Transactions, ring: KeyRing, clocked: _Clock) -> None:
    await clocked.wait(1000 * DAY)
    assert not await key_rotation.remove_spent(control, ring)
    assert ring.newest


async def test_a_folder_that_cannot_be_written_is_said(
    control: Transactions, ring: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr("auth.private_files.publish", refuse)
    with pytest.raises(ReadOnly, match="folder of the keys"):
        await key_rotation.rotate(control, ring)
