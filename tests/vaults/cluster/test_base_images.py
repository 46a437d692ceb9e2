"""A base is what the database was at its entry, taken beside running writes; one that was changed is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.logged_vault import LoggedVault, Script
from tests.vaults.cluster.memory_log import VAULT
from tests.work import examples
from vaults.cluster import base_images
from vaults.cluster.base_images import decode_base, encode_base
from vaults.cluster.failures import LogDamaged
from vaults.cluster.page_frames import CHECKSUM_BYTES, checksum_of
from vaults.cluster.restore import restore
from vaults.db.wal_tail import WalGap

PART = 64 * 1024


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_images, "PART_BYTES", PART)


async def vault_of_parts(folder: Path) -> LoggedVault:
    """Whose base as of entry 3 has a few parts."""
    vault = LoggedVault(folder)
    await vault.open()
    steps = Script(vault)
    await steps.begin()
    await vault.db.run_on_writer(
        lambda raw: raw.executemany("INSERT INTO t (w) VALUES (randomblob(?))", [(300_000,)]) and None
    )
    assert await vault.rebase(is_due=True)
    return vault


async def test_a_base_is_made_part_by_part_while_commits_go_on(tmp_path: Path) -> None:
    vault = await vault_of_parts(tmp_path)
    steps = Script(vault)
    source = await vault.db.run_on_writer(vault.pages.freeze)
    seq, parts = source.head.seq, encode_base(source)
    made = [next(parts)]
    for seed, verb in enumerate(["insert", "large", "purge", "delete", "vacuum", "large", "shrink", "checkpoint"]):
        await steps.run(verb, seed)
        made += [part for part in [next(parts, b"")] if part]
    made += list(parts)
    source.close()
    assert vault.log.held.head > seq + 4
    assert len(made) > 5
    vault.log.bases = {seq: made}
    assert vault.restored(seq) == vault.image(seq)
    assert vault.restored(vault.log.held.head) == vault.image(vault.log.held.head)
    await vault.close()


async def test_a_base_of_other_pages_than_were_logged_is_not_stored(tmp_path: Path) -> None:
    vault = await vault_of_parts(tmp_path)
    source = await vault.db.run_on_writer(vault.pages.freeze)
    source.digests.set(2, b"?" * 16)
    with pytest.raises(WalGap):
        list(encode_base(source))
    source.close()
    await vault.close()


async def test_what_is_done_to_a_base_is_noticed(tmp_path: Path) -> None:
    vault = await vault_of_parts(tmp_path)
    await vault.close()
    ((seq, whole),) = [item for item in vault.log.bases.items() if item[0]]

    def refused(parts: list[bytes], vault_id: str = VAULT, at: int = seq) -> str:
        with pytest.raises(LogDamaged) as caught:
            list(decode_base(vault_id, at, parts)[1])
        assert caught.value.details["seq"] == at
        return caught.value.message

    assert len(b"".join(decode_base(VAULT, seq, whole)[1])) == len(vault.image(seq))
    assert "part 2 of its base is not" in refused([*whole[:2], *whole[3:]])
    assert "part 2 of its base is not" in refused([*whole[:2], whole[3], whole[2], *whole[4:]])
    assert "part 3 of its base is not" in refused([*whole[:3], whole[2], *whole[3:]])
    assert f"part {len(whole) - 1} of its base is missing" in refused(whole[:-1])
    assert f"part {len(whole)} of its base is not" in refused([*whole, whole[-1]])
    assert "no readable head" in refused(whole[1:])
    assert "no readable head" in refused([])
    assert "no readable head" in refused(whole, "another")
    assert "is another's" in refused(whole, at=seq + 1)
    assert "is not" in refused([vault.log.bases[0][0], *whole[1:]], at=0)

    @settings(max_examples=examples(60))
    @given(st.integers(0, len(whole) - 1), st.integers(0))
    def flip(place: int, bit: int) -> None:
        part = bytearray(whole[place])
        bit %= len(part) * 8
        part[bit // 8] ^= 1 << bit % 8
        refused([*whole[:place], bytes(part), *whole[place + 1 :]])

    flip()


def headed(**changed: object) -> bytes:
    """A first part whose checksum is right."""
    said = {"format": 1, "vault": VAULT, "seq": 7, "epoch": 1, "checksum": "0" * 32, "digest": "0" * 32}
    front = base_images.MAGIC + json.dumps({**said, "size": 3, "page_size": 4096, **changed}).encode()
    return checksum_of(VAULT, front) + front


@pytest.mark.parametrize(
    "changed",
    [
        {"page_size": 1000},
        {"page_size": 0},
        {"size": 2**40},
        {"size": -1},
        {"format": 2},
        {"vault": "another"},
        {"digest": "zz"},
        {"more": 1},
        {"padding": "x" * 5000},
    ],
)
def test_heads_that_cannot_be_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(LogDamaged):
        list(decode_base(VAULT, 7, [headed(**changed)])[1])


def test_a_part_that_unpacks_to_gigabytes_is_not_unpacked() -> None:
    head = headed(size=2**20)
    packed = base_images.zstd.compress(bytes(2**28), 1)
    part = checksum_of(VAULT, head[:CHECKSUM_BYTES], (1).to_bytes(4, "big"), packed) + packed
    with pytest.raises(LogDamaged, match="another size"):
        list(decode_base(VAULT, 7, [head, part])[1])


async def test_a_base_that_is_not_what_its_digest_says_is_refused(tmp_path: Path) -> None:
    vault = await vault_of_parts(tmp_path)
    await vault.close()
    seq = max(vault.log.bases)
    head, *_ = vault.log.bases[seq]
    said = json.loads(head[CHECKSUM_BYTES + len(base_images.MAGIC) :])
    first = headed(**{**said, "digest": "0" * 32})
    parts = []
    for place, data in enumerate(decode_base(VAULT, seq, vault.log.bases[seq])[1], 1):
        packed = base_images.zstd.compress(data, 1)
        parts.append(checksum_of(VAULT, first[:CHECKSUM_BYTES], place.to_bytes(4, "big"), packed) + packed)
    vault.log.bases[seq] = [first, *parts]
    with pytest.raises(LogDamaged, match="not the database it was made of"):
        restore(vault.log, VAULT, tmp_path / "r.db", seq)
    assert not (tmp_path / "r.db").exists()
