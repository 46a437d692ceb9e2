"""A memory: read by whoever may, changed by whoever may, through the tools and in their words.

Covers server.ui.memory_page, server.ui.memory_forms and server.ui.item_page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.ui.memory_page import is_memory_id
from tests.server.ui.stage import HOSTILE, Stage, forms_of, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

CROSSED = "The text has\n\n  its lines\n\tand blanks"


async def memory_of(stage: Stage, memory_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await stage.ask("memory_get", ids=[memory_id]))["memories"][0]
    return found


async def test_the_whole_text_stands_there_with_everything_known_of_it(stage: Stage) -> None:
    memory = await stage.remember(
        CROSSED, title="Crossed", tags=["a, b".replace(", ", "-")], thread="ropes", metadata={"port": "west"}
    )
    note = await stage.remember("Another one", title="The other one")
    await stage.ask("memory_link", from_id=memory, relation="about", to_id=note)
    page = (await (await stage.person("anna", Role.READER)).open(f"/ui/v/main/memories/{memory}")).text
    for said in (CROSSED, "Crossed", "a-b", "ropes", "west", "The other one", "version 1"):
        assert said in page


async def test_who_sees_it_is_said_in_the_readers_language(stage: Stage) -> None:
    memory = await stage.remember("A crane is a bird, too")
    guest = await stage.person("gesine", Role.READER)
    page = (await guest.http.get(f"/ui/v/main/memories/{memory}", headers={"accept-language": "de"})).text
    assert '<dd dir="auto">für alle</dd>' in page
    assert '<dd dir="auto">überall</dd>' in page


async def test_a_reader_sees_no_form_and_is_refused(stage: Stage) -> None:
    memory = await stage.remember("The safe is behind the map")
    reader, writer = await stage.person("rosa", Role.READER), await stage.person("willi", Role.WRITER)
    page = await reader.open(f"/ui/v/main/memories/{memory}")
    assert all("do" not in form.fields for form in forms_of(page))
    token = forms_of(page)[0].fields["form"]
    for do in ("edit", "supersede", "forget", "purge"):
        sent = {"form": token, "do": do, "content": "Mine", "title": "x", "expected_version": "1", "agreed": "yes"}
        answer = await reader.http.post(f"/ui/v/main/memories/{memory}", data=sent)
        assert answer.status_code == 403
        assert "needs the role" in answer.text
    offered = [
        form.fields["do"]
        for form in forms_of(await writer.open(f"/ui/v/main/memories/{memory}"))
        if "do" in form.fields
    ]
    assert offered == ["edit", "supersede", "forget"]
    sent = {"form": forms_of(await writer.open("/ui/"))[0].fields["form"], "do": "purge", "agreed": "yes"}
    assert (await writer.http.post(f"/ui/v/main/memories/{memory}", data=sent)).status_code == 403
    assert (await memory_of(stage, memory))["version"] == 1


async def test_an_edit_changes_what_was_touched_and_nothing_else(stage: Stage) -> None:
    memory = await stage.remember("\nRopes are\r\nwet", title="Ropes", tags=["b", "a"], thread="ropes", type="fact")
    guest = await stage.person("ben")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    before = await memory_of(stage, memory)
    same = await guest.follow(await guest.send(page, "edit"))
    assert "Nothing was changed" in same.text
    answer = await guest.send(page, "edit", title="Wet ropes", tags="b, a, c ,")
    assert "Saved." in (await guest.follow(answer)).text
    after = await memory_of(stage, memory)
    assert {name: after[name] for name in ("title", "tags", "version")} == {
        "title": "Wet ropes",
        "tags": ["b", "a", "c"],
        "version": 2,
    }
    assert (after["content"], after["thread"], after["type"]) == (before["content"], "ropes", "fact")


async def test_of_two_who_edit_the_later_sees_both_texts_and_decides(stage: Stage) -> None:
    memory = await stage.remember("The buoy is red")
    guest = await stage.person("carla")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    await stage.ask("memory_update", id=memory, content="The buoy is green & gone")
    conflict = await guest.send(page, "edit", content="The buoy is <yellow>")
    assert conflict.status_code == 409
    assert "The buoy is green &amp; gone" in conflict.text
    assert "The buoy is &lt;yellow&gt;" in conflict.text
    assert "Somebody else changed this memory" in conflict.text
    assert (await memory_of(stage, memory))["content"] == "The buoy is green & gone"
    assert (await guest.send(conflict, "edit")).status_code == 303
    assert (await memory_of(stage, memory))["content"] == "The buoy is <yellow>"


async def test_what_the_tool_refuses_stands_beside_the_form_with_what_was_typed(stage: Stage) -> None:
    memory = await stage.remember("The anchor holds")
    guest = await stage.person("dora")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    for do, typed in (
        ("edit", {"content": "x" * 52_000, "title": "Kept"}),
        ("supersede", {"content": "  ", "title": "Kept"}),
    ):
        answer = await guest.send(page, do, **typed)
        assert answer.status_code == 422
        assert "content" in answer.text.partition('role="alert"')[2][:200]
        assert next(form for form in forms_of(answer) if form.fields.get("do") == do).fields["title"] == "Kept"
    for version in ("x", "9" * 5000):
        odd = await guest.send(page, "edit", type="no such type", expected_version=version)
        assert odd.status_code == 422
    token = forms_of(page)[0].fields["form"]
    unknown = await guest.http.post(f"/ui/v/main/memories/{memory}", data={"form": token, "do": "dance"})
    assert unknown.status_code == 303


async def test_what_is_replaced_leads_to_what_replaced_it(stage: Stage) -> None:
    memory = await stage.remember("Dues are paid in March", title="Dues")
    guest = await stage.person("emma")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    newer = await guest.follow(await guest.send(page, "supersede", content="Dues are paid in May", reason="moved"))
    assert "Replaced." in newer.text
    assert "Dues are paid in May" in newer.text
    assert f"memories/{memory}" in newer.text
    old = (await guest.open(f"/ui/v/main/memories/{memory}")).text
    assert str(newer.url).rpartition("/")[2].partition("?")[0] in old
    assert "moved" in old


async def test_a_person_is_asked_before_anything_is_deleted_for_good(stage: Stage) -> None:
    memory = await stage.remember("The code is 1234", title="Code <of> the gate")
    guest = await stage.person("finn", Role.ADMIN)
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    asked = await guest.send(page, "purge", reason="it is <secret>")
    assert asked.status_code == 409
    assert "for good?" in asked.text
    assert "Code &lt;of&gt; the gate" in asked.text
    assert (await memory_of(stage, memory))["version"] == 1
    gone = await guest.follow(await guest.send(asked, "purge"))
    assert "Deleted for good." in gone.text
    assert (await guest.open(f"/ui/v/main/memories/{memory}")).status_code == 404


async def test_what_is_forgotten_says_so_and_why(stage: Stage) -> None:
    memory = await stage.remember("The dog bites")
    guest = await stage.person("greta")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    answer = await guest.send(page, "forget", reason="the dog <moved>")
    if answer.status_code == 409:
        answer = await guest.send(answer, "forget")
    after = (await guest.follow(answer)).text
    assert "the dog &lt;moved&gt;" in after
    assert (await memory_of(stage, memory))["archived_at"]


async def test_private_memories_of_others_are_not_there(stage: Stage) -> None:
    memory = await stage.remember("Only mine", visibility="private")
    guest = await stage.person("hanna", Role.ADMIN)
    theirs = await guest.open(f"/ui/v/main/memories/{memory}")
    nobodys = await guest.open("/ui/v/main/memories/01a21b50-0000-7000-8000-000000000000")
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.text == nobodys.text
    for odd in ("x", "' OR 1=1", "..", "a" * 500):
        assert (await guest.open(f"/ui/v/main/memories/{odd}")).status_code in (404, 422)


async def test_hostile_texts_are_only_texts_and_are_typed_back_as_they_were(stage: Stage) -> None:
    memory = await stage.remember(HOSTILE, title=HOSTILE[:400], tags=["<b>"], metadata={"<i>": "<u>"}, thread="<s>")
    guest = await stage.person("ines")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    for live in ("<script>alert", "<b>", "<i>", "<u>", "<s>", 'href="javascript'):
        assert live not in page.text
    assert "[U+202E]evil" in page.text
    assert "\u202e" not in page.text.partition('<pre class="body"')[2].partition("</pre>")[0]
    kept = (await memory_of(stage, memory))["content"]
    assert next(form for form in forms_of(page) if form.fields.get("do") == "edit").fields["content"] == kept


async def test_ids_are_told_from_other_names() -> None:
    assert is_memory_id("01a21b50-0000-7000-8000-000000000000")
    assert not any(
        map(is_memory_id, ("Note.md", "", "01A21B50-0000-7000-8000-000000000000", "01a21b5000007000800000000000000 0"))
    )


@pytest.mark.parametrize(("mode", "status"), [("ask", 303), ("off", 403)])
async def test_pressing_a_button_is_a_persons_word_and_where_nothing_is_written_there_is_none(
    tmp_path: Path, mode: str, status: int
) -> None:
    async with open_stage(tmp_path, **{"server.write_mode": mode}) as stage:
        memory = await stage.remember("The lock is new")
        guest = await stage.person("jan", Role.ADMIN)
        page = await guest.open(f"/ui/v/main/memories/{memory}")
        assert any("do" in form.fields for form in forms_of(page)) == (mode == "ask")
        sent = {"form": forms_of(page)[0].fields["form"], "do": "forget", "reason": ""}
        answer = await guest.http.post(f"/ui/v/main/memories/{memory}", data=sent)
        assert answer.status_code == status
        assert ("archived_at" in await memory_of(stage, memory)) == (mode == "ask")
