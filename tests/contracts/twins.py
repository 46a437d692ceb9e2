"""Two vaults that differ in nothing but what somebody keeps private there, and answers of theirs made comparable."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auth.roles import Role
from server.call import Caller
from server.dispatch import CallOutcome
from server.services import Services
from tests.code_bases import store_files
from tests.conftest import Asking, asker, local
from tests.noted import folder, indexed, put, settled
from tests.people import give_role
from vaults.domain.actors import Actor

TWINS = ("left", "right")

SHARED: tuple[dict[str, Any], ...] = (
    {"content": "The harbour opens at nine", "tags": ["port"], "entity": "Harbour", "external_id": "shared-1"},
    {"content": "The harbour is guarded by Melanie Klein", "type": "fact", "thread": "quay", "author": "Melanie Klein"},
    {"content": "Package manager: pnpm", "type": "decision", "thread": "quay", "applies_to": "area:build"},
    {"content": "Three ships wait outside, one of them is the Orion", "parent": "talk", "position": 0},
    {"content": "The second ship may enter at noon", "parent": "talk", "position": 1},
    {"content": "A tide table hangs in the office of the pilot", "metadata": {"floor": 2}, "keywords": ["tides"]},
    {"content": "我们把港口迁移到东京", "tags": ["port", "city"]},
    *({"content": f"Lamp {n} of the pier was mended on day {n}", "tags": ["lamp"]} for n in range(12)),
)

NOTES = {
    "canary.md": "---\nstatus: new\ntags: [canary]\n---\n# Canary\n\nThe harbour, [[beside]], Orion.\n\n- [ ] oil\n",
    "beside.md": "# Beside\n\nA note beside the [[canary]], of Zebulon Quagmire.\n",
    "Orion.md": "# Orion\n\nA ship.\n",
    "folder/deep.md": "# Deep\n\nThe tide comes [[beside]] the harbour.\n",
}

PLAIN = {"content": "nothing much", "visibility": "private"}

PRIVATE: tuple[dict[str, Any], ...] = (
    {"content": "The harbour harbour harbour is sold to Zebulon Quagmire, prohects and xylophones included"},
    {"content": "The harbour opens at nine"},
    {"content": "The harbour opens at ten, never at nine", "tags": ["port", "hidden-tag"], "entity": "Harbour"},
    {"content": "Package manager: yarn", "type": "decision", "thread": "quay", "applies_to": "area:build"},
    {"content": "Package manager: bun", "type": "decision", "thread": "hidden-thread", "key": "hidden-key"},
    {"content": "A private turn of the talk about the ship Orion", "parent": "talk", "position": 2},
    {"content": "Lamp 3 of the pier was mended on day 4", "author": "Xantippe Grey", "tags": ["lamp"]},
    {"content": "我们把港口卖给了大阪", "tags": ["port"]},
    {"content": "canary canary second left right new", "metadata": {"hidden_field": "x", "floor": 3}},
    {"content": "See [[canary]] and [[Orion]] and Zebulon Quagmire", "entity": "canary", "external_id": "hidden-1"},
    {"content": "Paragraph.\n\n" + "The tide rises and the pilot sleeps. " * 80, "external_id": "taken"},
    {"content": "Archived by its owner: the harbour burns", "ttl_days": 1, "tier": "cold", "workspace": "hidden-ws"},
)  # fmt: skip


TALK = {
    "kind": "document", "external_id": "talk-1", "format": "transcript", "title": "At the quay",
    "parts": [
        {"text": "When does the harbour open?", "author": "Melanie Klein", "role": "user"},
        {"text": "The harbour opens at nine, the pilot waits for the tide", "role": "assistant"},
    ],
}  # fmt: skip
"""A transcript that everybody may read."""

HIDDEN_TALK = {
    "kind": "document", "external_id": "hidden-talk", "format": "transcript", "title": "The sale",
    "visibility": "private", "metadata": {"hidden_field": "x"}, "thread": "hidden-thread", "collection": "hidden",
    "parts": [
        {"text": "The harbour harbour is sold to Zebulon Quagmire, prohects included", "author": "Xantippe Grey"},
        {"text": "我们把港口卖给了大阪, said the pilot of the Orion", "role": "assistant"},
    ],
}  # fmt: skip


CODE = {"quay.py": "def open_harbour():\n    return 9\n\n\nclass Pilot:\n    def wait(self):\n        open_harbour()\n"}
HIDDEN_CODE = {
    "sale.py": "from quay import Pilot, open_harbour\n\n\nclass Pilot:\n    pass\n\n\ndef sell():\n    open_harbour()\n"
}


@dataclass(frozen=True)
class Twin:
    """One of the two: an admin's and a reader's door to it, and the ids of two memories both see and of one neither
    does."""

    ann: Asking
    cat: Asking
    own: str
    other: str
    hidden: str


async def _grant(services: Services, subject: str, vault: str, role: Role = Role.ADMIN) -> Asking:
    await give_role(services, subject, role, vault=vault)
    return asker(services, Caller(local(subject), vault, role, "http"))


async def twin(services: Services, vault: str) -> Twin:
    """``left`` holds as many private memories as ``right``, but they say nothing."""
    ann, bob = [await _grant(services, name, vault) for name in ("ann", "bob")]
    root = folder(services.data, vault)
    put(root, NOTES)
    for number, path in enumerate(NOTES):  # the order they were written in may not depend on the clock's ticks
        os.utime(root / path, (1_767_225_600 + number, 1_767_225_600 + number))
    ids = []
    await ann("status")
    await indexed(services, len(NOTES), vault)
    await settled(services, vault)
    for each in SHARED:
        ids.append(str((await ann("remember", **each)).content["id"]))
    hidden = []
    for number, each in enumerate(PRIVATE):
        told = {"content": f"nothing {number}"} if vault == TWINS[0] else each
        stored = await bob("remember", **told, visibility="private", idempotency_key=f"key-{number}")
        assert stored.ok, stored.text
        hidden.append(str(stored.content["id"]))
    assert (await bob("memory_forget", ids=hidden[-1:])).ok
    nothing = {**HIDDEN_TALK, "title": "none", "metadata": {}, "thread": None, "collection": None, "parts": [
        {"text": f"nothing {number}"} for number in range(2)
    ]}  # fmt: skip
    for who, line in ((ann, TALK), (bob, nothing if vault == TWINS[0] else HIDDEN_TALK)):
        pushed = await who("imports", action="push", lines=[line])
        assert pushed.content["counts"] == {"document": {"stored": 1}}, pushed.text
        assert (await who("imports", action="end", run=pushed.content["run"])).ok
    async with services.pool.lease(services.registry_cache.entry(vault)) as held:
        await store_files(held, CODE)
        hidden_code = {"none.py": "x = 1\n"} if vault == TWINS[0] else HIDDEN_CODE
        await store_files(held, hidden_code, Actor("local|bob", "bob"), private=True)
        await held.background.wait()  # vectors: how many are owed is told
    return Twin(ann, await _grant(services, "cat", vault, Role.READER), ids[0], ids[1], hidden[0])


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\bk:[0-9a-f]{32}\b")
"""Ids, and hashes of content, for which each vault has a key of its own: what equals what counts."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")
_NONCE = re.compile(r"</?\d{9}>")
_MS = re.compile(r"\d[\d.,]*(?= ms\b)")
_TOKENS = re.compile(r"-?\d[\d,]*(?= (?:of [\d,]+ )?(?:tokens|net)\b)|(?<=arguments )\d[\d,]*|(?<=results )\d[\d,]*")
_AGE = re.compile(r"\bnow\b|\b\d+[a-z]+ ago\b")
_BYTES = re.compile(r"\d[\d,]*(?= (?:bytes|KB)\b)")
_FIGURES = re.compile(
    r"\b(?:(timings_ms: |tokens: |savings: )[^\n]*|(storage_bytes:? |tokens(?:_in|_out)? |used )\d+"
    r"|((?:p50_|p95_)?ms )[\d.]+|((?:leads|working|watching) )(?:true|false))|(pass cursor )\S+|(at work: )[a-z, ]+"
)
"""What stands before a figure is read; to look back for it at every place takes ten times as long."""

_MEASURED = frozenset({
    "timings", "timings_ms", "ms", "p50_ms", "p95_ms", "cursor", "call_id", "etag", "storage_bytes", "callers",
    "leads", "working", "watching", "tokens", "used", "tokens_in", "tokens_out", "arguments", "results",
    "responses", "net", "measured", "percent",
})  # fmt: skip
"""Times, ids in disguise, the length of answers, in which ids weigh differently, and of the files, which whoever pays
for the disk may know."""


_LOADED = re.compile(r",? ?\bloaded \d+")
"""How many vectors are in memory is told once they are loaded, in the background."""


def comparable(outcome: CallOutcome) -> str:
    """An answer with ids numbered as they come, and without what a clock or a vault's own name put there."""
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id-{len(numbers)}")

    said = json.dumps(_timeless(outcome.content), ensure_ascii=False, sort_keys=True) + "\n" + outcome.text
    said = _TIME.sub("<time>", _UUID.sub(numbered, said))
    if "loaded " in said:
        said = _LOADED.sub("", said)
    for measured in (_NONCE, _MS, _TOKENS, _AGE, _BYTES):
        said = measured.sub("<n>", said)
    said = _FIGURES.sub(r"\1\2\3\4\5\6<n>", said)
    return re.sub(r"\b(left|right)\b", "<vault>", said)


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        told = {key: each for key, each in value.items() if key != "loaded"}
        return {key: ("<n>" if key in _MEASURED else _timeless(each)) for key, each in told.items()}
    return [_timeless(each) for each in value] if isinstance(value, list) else value
