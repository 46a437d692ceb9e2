"""Manifests: what is written is read back, and what a stranger wrote is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.backup import manifest as manifests
from ops.backup.manifest import BackupManifest, BackupQuestion, ManifestMember, from_bytes, to_bytes
from vaults.errors import InvalidArgument, VaultQuarantined

HASH = "ab" * 32
GOOD = BackupManifest(
    kind="vault", installation="i", vault="main", vault_id="v", made_at="2026-11-25T21:00:00.123Z", version="0.1.0",
    schema_steps=15, position=3, note_change=2, counts={"memories": 2}, ids_digest=HASH,
    questions=(BackupQuestion(text="harbour", answers=("a", "b")),),
    members=(
        ManifestMember(path="vault.db", size=4096, sha256=HASH),
        ManifestMember(path="notes/ä.md", size=1, sha256=HASH),
    ),
)  # fmt: skip


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(to_bytes(GOOD)), **fields}).encode()


def test_what_is_written_is_read_back() -> None:
    assert from_bytes(to_bytes(GOOD)) == GOOD
    assert json.loads(to_bytes(GOOD))["schema"] == 15
    assert GOOD.size == 4097
    assert GOOD.find("notes/ä.md") is not None
    assert GOOD.find("notes/b.md") is None


def test_fields_of_a_later_version_of_the_same_format_are_let_through() -> None:
    assert from_bytes(changed(colour="blue")) == GOOD


def test_a_newer_format_is_refused_as_from_the_future() -> None:
    with pytest.raises(VaultQuarantined) as refused:
        from_bytes(changed(format=2, members="of another shape"))
    assert refused.value.details["reason"] == "future"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"kind": "pond"}, "kind"),
        ({"made_at": "yesterday"}, "made_at"),
        ({"ids_digest": "xyz"}, "ids_digest"),
        ({"schema": 0}, "schema"),
        ({"format": 0}, "format"),
        ({"members": [{"path": "vault.db", "size": -1, "sha256": HASH}]}, "size"),
        ({"members": [{"path": "vault.db", "size": "1", "sha256": HASH}]}, "size"),
        ({"members": [{"path": "vault.db", "size": 1, "sha256": HASH}] * 2}, "twice"),
        ({"members": [{"path": "notes/../../x", "size": 1, "sha256": HASH}]}, "climbs"),
        ({"members": [{"path": "keys/0001.pem", "size": 1, "sha256": HASH}]}, "none that a backup has"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidArgument, match=word):
        from_bytes(changed(**fields))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgument):
        from_bytes(data)


def test_one_that_is_too_large_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_BYTES", 10)
    with pytest.raises(InvalidArgument, match="too large"):
        from_bytes(to_bytes(GOOD))


@given(st.binary(max_size=200), st.integers(0, len(to_bytes(GOOD))))
def test_any_damage_is_a_refusal_or_another_good_manifest(junk: bytes, at: int) -> None:
    stored = to_bytes(GOOD)
    try:
        from_bytes(stored[:at] + junk + stored[at + len(junk) :])
    except (InvalidArgument, VaultQuarantined):
        return
