"""Hashes of content tell two versions apart, and nobody who reads them what a text was.

Covers ops.audit.content_hashes, vaults.change_notes.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path

from ops.audit.content_hashes import KEY_FILE, open_hash_key
from ops.audit.entries import AuditEntry
from tests.ops.audit.chains import VAULT, opened
from vaults.change_notes import ChangeNote, ContentHash, owned_hash, told_hash

OTHER = VAULT[:-1] + "2"


def test_equal_only_for_equal_content_of_one_chain(tmp_path: Path) -> None:
    one, again, other = (open_hash_key(tmp_path, None, chain) for chain in (VAULT, VAULT, OTHER))
    assert one.apply("a") == again.apply("a")
    assert len({one.apply("a"), one.apply("b"), other.apply("a")}) == 3
    assert stat.S_IMODE((tmp_path / "keys" / KEY_FILE).stat().st_mode) == 0o600


def test_states_and_versions_stay_as_they_are(tmp_path: Path) -> None:
    key = open_hash_key(tmp_path, None, VAULT)
    assert (key.conceal("open"), key.conceal(None)) == ("open", None)


def test_what_is_private_equals_nothing_of_another_item() -> None:
    assert told_hash("a", "private", "digest") == owned_hash("a", "digest") != owned_hash("b", "digest")
    assert told_hash("a", "shared", "digest") == told_hash("b", "shared", "digest") == ContentHash("digest")


async def test_neither_digest_nor_name_stands_in_the_file(tmp_path: Path) -> None:
    change = ChangeNote("link opinion", ContentHash("some name"), ContentHash("digest-before"), "accepted")
    said = AuditEntry("call", "links", "ok", changes=[change], changed=2, changes_digest="digest-of-all")
    async with opened(tmp_path) as log:
        await log.append(VAULT, said)
        body = await log.chain(VAULT).read(lambda tx: tx.value("SELECT body FROM entries"))
    assert not [each for each in ("some name", "digest-before", "digest-of-all") if each in body]
    ((kind, name, before, after),) = json.loads(body)["changes"]
    assert (kind, after) == ("link opinion", "accepted")
    assert name.startswith("k:")
    assert before.startswith("k:")
