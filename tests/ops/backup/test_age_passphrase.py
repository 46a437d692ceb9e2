"""Files under a passphrase are age's own: the library opens ours, and we open its."""

from __future__ import annotations

import io

import pytest

from ops.backup.age_passphrase import CHUNK, MAX_COST, decrypt, encrypt
from vaults.errors import InvalidArgument

pyrage = pytest.importorskip("pyrage")
pytestmark = pytest.mark.usefixtures("cheap_passphrases")
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 17]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", SIZES)
def test_the_library_opens_what_is_written_here(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    closed = b"".join(encrypt(pieces(data[:size], 1000), "pass"))
    assert pyrage.passphrase.decrypt(closed, "pass") == data[:size]
    assert b"".join(decrypt(io.BytesIO(closed).read, "pass")) == data[:size]
    assert closed != b"".join(encrypt(pieces(data[:size], 1000), "pass"))


@pytest.mark.parametrize("at", [30, 60, 100, 150, 200, -1, -40])
def test_any_damage_is_found(at: int) -> None:
    closed = bytearray(b"".join(encrypt([b"x" * CHUNK, b"y" * CHUNK], "pass")))
    closed[at] ^= 1
    with pytest.raises(InvalidArgument):
        list(decrypt(io.BytesIO(bytes(closed)).read, "pass"))


@pytest.mark.parametrize("cut", [1, 17, CHUNK, CHUNK + 16, CHUNK + 17])
def test_any_cut_is_found(cut: int) -> None:
    closed = b"".join(encrypt([b"x" * (2 * CHUNK)], "pass"))
    with pytest.raises(InvalidArgument):
        list(decrypt(io.BytesIO(closed[:-cut]).read, "pass"))


def test_chunks_that_change_places_are_found() -> None:
    closed = b"".join(encrypt([b"x" * CHUNK, b"y" * CHUNK, b"z"], "pass"))
    first = len(closed) - 1 - 16 - 2 * (CHUNK + 16)
    second = first + CHUNK + 16
    swapped = closed[:first] + closed[second : second + CHUNK + 16] + closed[first:second] + closed[-17:]
    assert len(swapped) == len(closed)
    with pytest.raises(InvalidArgument):
        list(decrypt(io.BytesIO(swapped).read, "pass"))


def test_a_wrong_passphrase_is_named_as_that() -> None:
    closed = b"".join(encrypt([b"x"], "pass"))
    with pytest.raises(InvalidArgument, match="passphrase"):
        list(decrypt(io.BytesIO(closed).read, "word"))


@pytest.mark.parametrize("cost", [MAX_COST + 1, 64, 99])
def test_a_file_that_asks_for_gigabytes_is_refused(cost: int) -> None:
    closed = b"".join(encrypt([b"x"], "pass")).replace(b" 6\n", f" {cost}\n".encode())
    with pytest.raises(InvalidArgument, match="understood"):
        list(decrypt(io.BytesIO(closed).read, "pass"))
