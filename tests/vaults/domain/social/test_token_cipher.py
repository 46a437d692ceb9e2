"""A sealed key opens with the right key, for the right vault and network, and with nothing else."""

from __future__ import annotations

import pytest

from vaults.domain.social.token_cipher import TokenCipher
from vaults.errors import NotFound, ReadOnly

KEY = b"k" * 32


async def test_what_was_sealed_opens_and_never_looks_the_same() -> None:
    cipher = TokenCipher(lambda: KEY)
    first, second = await cipher.seal("v", "moltbook", "token"), await cipher.seal("v", "moltbook", "token")
    assert first != second
    assert b"token" not in first
    assert await TokenCipher(lambda: KEY).open("v", "moltbook", first) == "token"


@pytest.mark.parametrize(
    ("key", "vault", "network", "damage"),
    [(b"x" * 32, "v", "moltbook", 0), (KEY, "w", "moltbook", 0), (KEY, "v", "other", 0), (KEY, "v", "moltbook", 1)],
)
async def test_nothing_else_opens_it(key: bytes, vault: str, network: str, damage: int) -> None:
    sealed = await TokenCipher(lambda: KEY).seal("v", "moltbook", "token")
    damaged = sealed[:-1] + bytes([sealed[-1] ^ damage])
    with pytest.raises(NotFound, match="log in again"):
        await TokenCipher(lambda: key).open(vault, network, damaged)
    with pytest.raises(NotFound):
        await TokenCipher(lambda: KEY).open("v", "moltbook", sealed[:5])


async def test_where_no_key_can_be_made_it_says_so() -> None:
    def fail() -> bytes:
        raise PermissionError("/srv/data/keys")

    with pytest.raises(ReadOnly) as refused:
        await TokenCipher(fail).prepare()
    assert "/srv" not in refused.value.message


async def test_the_key_is_asked_for_once_and_not_before_it_is_needed() -> None:
    asked = []
    cipher = TokenCipher(lambda: (asked.append(1), KEY)[1])
    assert asked == []
    for _ in range(3):
        await cipher.seal("v", "moltbook", "token")
    assert asked == [1]
