"""Which tokens are in use, and which of those end soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from auth.authenticate import Authenticator
from auth.daily_usage import DailyUsage
from auth.errors import TokenInvalid
from auth.roles import Role
from auth.tokens import TOKEN_SEEN, ending_tokens, revoke_token
from tests.auth.forge import Door, local_token, signed
from vaults.db.sql import Reader
from vaults.db.transactions import Transactions

DAY_S = 86_400
NOTICE = timedelta(days=14)


async def test_a_token_is_noted_once_a_day_when_it_is_let_in(door: Door, control: Transactions) -> None:
    days = DailyUsage(control)
    door.authenticator = Authenticator(
        door.chain, door.access_cache, clock=door.clock, on_use=lambda token_id: days.mark_seen(TOKEN_SEEN + token_id)
    )
    issued, revoked = await local_token(door), await local_token(door)
    await door.access_cache.write(lambda tx: revoke_token(tx, revoked.id))
    for _ in range(3):
        await door(issued.token)
        door.clock.now += 31  # it is verified anew
    await door(signed())  # of an outside issuer: not ours to renew
    with pytest.raises(TokenInvalid):
        await door(revoked.token)
    await days.close()
    rows = await control.read(lambda tx: tx.all("SELECT scope, used FROM usage_days"))
    assert rows == [(f"token:{issued.id}", 1)]


async def test_seeing_a_token_where_nothing_can_be_written_fails_nobody(control: Transactions) -> None:
    days = DailyUsage(control)
    days.mark_seen("token:x")
    await control.close()
    await days.close()


async def test_tokens_in_use_that_end_soon_are_told_of_unless_replaced(door: Door, control: Transactions) -> None:
    async def made(subject: str, days: int, vaults: tuple[str, ...] = ("v1",), *, used: bool = True) -> str:
        token = await local_token(door, subject=subject, ttl_s=days * DAY_S, vaults=vaults, role=Role.WRITER)
        if used:
            counters.mark_seen(TOKEN_SEEN + token.id)
        return str(token.id)

    counters = DailyUsage(control)
    ending = await made("ann", 30)
    await made("bob", 30, used=False)
    await made("cleo", 90)
    await made("daily", 7)  # short on purpose
    await made("eve", 30, ("v1", "v2"))
    await made("eve", 60, ("*",), used=False)  # its successor
    partly = await made("fay", 30, ("v1", "v2"))
    await made("fay", 60, ("v1",))
    gone = await made("gus", 30)
    renewed = await made("hal", 30)  # by the client it was made for
    await control.write(lambda tx: tx.run("UPDATE tokens SET login = 'x' WHERE id = :id", {"id": renewed}))
    await door.access_cache.write(lambda tx: revoke_token(tx, gone))
    await counters.flush()

    async def told(after: float) -> list[str]:
        now = datetime.now(UTC) + timedelta(days=after)

        def read(tx: Reader) -> list[str]:
            return [each.id for each in ending_tokens(tx, now, NOTICE)]

        return await control.read(read)

    assert await told(15) == []
    assert await told(17) == [ending, partly]
    assert await told(31) == []  # over: nothing to do in time any more
