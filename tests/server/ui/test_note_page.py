"""Notes in the console: read, found in their folders, edited, ticked and taken back, through the tools.

Covers server.ui.note_page, server.ui.note_forms and server.ui.note_list; of server.activity_recorder, who only looks.
"""

from __future__ import annotations

import html
from urllib.parse import quote

import pytest

from auth.roles import Role
from tests.server.ui.stage import HOSTILE, Stage, forms_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def write(stage: Stage, path: str, content: str) -> str:
    return str((await stage.ask("note_write", path=path, content=content))["etag"])


def address(path: str) -> str:
    return f"/ui/v/main/notes/{quote(path)}"


async def text_of(stage: Stage, path: str) -> str:
    return str((await stage.ask("note_read", path=path, part="full"))["text"])


async def test_a_note_is_shown_with_its_links_properties_and_outline(stage: Stage) -> None:
    await write(stage, "gear/Rope.md", "# Rope\n\nTwelve metres.\n")
    await write(
        stage, "trips/Alps.md", "---\nguide: Mara\ntags: [alps]\n---\n# Alps\n\nBring [[Rope]].\n\n## Day one\n\nUp.\n"
    )
    anna = await stage.person("anna", Role.READER)
    page = (await anna.open(address("trips/Alps.md"))).text
    for said in ("Mara", "#h-day-one", "Day one", 'href="/ui/v/main/notes/gear/Rope.md"', "alps"):
        assert said in page
    assert "---" not in page.split('class="prose"')[1].split("</div>")[0]
    assert "trips/Alps.md" in (await anna.open(address("gear/Rope.md"))).text


async def test_what_a_hostile_note_says_is_text(stage: Stage) -> None:
    await write(stage, "evil.md", f"{HOSTILE}\n\n[x](javascript:alert(1)) <form><input name=form></form>\n")
    page = (await (await stage.person("otto", Role.READER)).open(address("evil.md"))).text
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    forms = forms_of(await (await stage.person("olga", Role.READER)).open(address("evil.md")))
    assert [each.action for each in forms] == ["/oauth/sign-out", "/ui/language"]


async def test_a_reader_sees_no_form_and_is_refused(stage: Stage) -> None:
    etag = await write(stage, "read.md", "- [ ] knot\n")
    reader = await stage.person("rita", Role.READER)
    page = await reader.open(address("read.md"))
    assert all("do" not in form.fields for form in forms_of(page))
    token = forms_of(page)[0].fields["form"]
    for sent in ({"do": "save", "content": "mine"}, {"do": "tick", "task": "1 done"}, {"do": "create", "content": "x"}):
        answer = await reader.http.post(address("read.md"), data={"form": token, "etag": etag, **sent})
        assert answer.status_code == 403
        assert "needs the role" in answer.text
    assert await text_of(stage, "read.md") == "- [ ] knot\n"


async def test_an_edit_is_saved(stage: Stage) -> None:
    await write(stage, "plan.md", "---\na: 1\n---\nOld\n")
    wolf = await stage.person("wolf")
    page = await wolf.open(address("plan.md"))
    answer = await wolf.send(page, "save", content="---\r\na: 1\r\n---\r\nNew\r\n")
    assert "Saved." in (await wolf.follow(answer)).text
    assert await text_of(stage, "plan.md") == "---\na: 1\n---\nNew\n"


async def test_saving_what_was_there_changes_no_byte(stage: Stage) -> None:
    await write(stage, "same.md", "\n\nTwo empty lines before\t\n- [ ] x  \n\nand after\n\n")
    wanda = await stage.person("wanda")
    answer = await wanda.send(await wanda.open(address("same.md")), "save")
    assert answer.headers["location"].endswith("?done=same")


async def test_an_edit_of_a_note_that_changed_shows_both_texts(stage: Stage) -> None:
    await write(stage, "both.md", "first\n")
    wim = await stage.person("wim")
    page = await wim.open(address("both.md"))
    await stage.ask("note_write", path="both.md", content="theirs\n", mode="overwrite")
    answer = await wim.send(page, "save", content="mine <b>\n")
    assert answer.status_code == 409
    assert html.escape("mine <b>") in answer.text
    assert "theirs" in answer.text
    assert await text_of(stage, "both.md") == "theirs\n"
    again = await wim.send(answer, "save")
    assert again.status_code == 303
    assert await text_of(stage, "both.md") == "mine <b>\n"


async def test_a_task_is_ticked_and_opened_again(stage: Stage) -> None:
    await write(stage, "tasks.md", "---\na: 1\n---\n# T\n\n- [ ] one\n- [x] two\n")
    tina = await stage.person("tina")
    page = await tina.open(address("tasks.md"))
    assert 'value="6 done"' in page.text
    answer = await tina.send(page, "tick", task="6 done")
    assert await text_of(stage, "tasks.md") == "---\na: 1\n---\n# T\n\n- [x] one\n- [x] two\n"
    answer = await tina.send(await tina.follow(answer), "tick", task="7 open")
    assert answer.status_code == 303
    assert "- [ ] two" in await text_of(stage, "tasks.md")


@pytest.mark.parametrize("task", ["", "x done", "99999999999 done", "1", "3 done\n", "1 nonsense of many words"])
async def test_a_task_that_is_none_is_said_to_be(stage: Stage, task: str) -> None:
    await stage.ask("note_write", path="none.md", content="no task\n", mode="overwrite")
    tom = await stage.person(f"tom{abs(hash(task))}")
    answer = await tom.send(await tom.open(address("none.md")), "tick", task=task)
    assert answer.status_code in (404, 422)
    assert 'role="alert"' in answer.text


async def test_a_change_is_shown_and_taken_back(stage: Stage) -> None:
    await write(stage, "undo.md", "one\ntwo\n")
    uta = await stage.person("uta")
    await uta.send(await uta.open(address("undo.md")), "save", content="one\nthree <i>\n")
    ref = (await stage.ask("history", action="log", path="undo.md"))["changes"][0]["id"]
    page = await uta.open(f"{address('undo.md')}?change={ref}")
    assert "+three &lt;i&gt;" in page.text
    beside = page.text.partition('class="beside"')[2].partition("</table>")[0]
    assert "<del>two</del>" in beside
    assert "<ins>three &lt;i&gt;</ins>" in beside
    assert "<i>" not in page.text
    await uta.follow(await uta.send(page, "undo"))
    assert await text_of(stage, "undo.md") == "one\ntwo\n"


async def test_a_note_that_is_not_there_can_be_written(stage: Stage) -> None:
    nora = await stage.person("nora")
    page = await nora.open(address("new/Idea"))
    assert page.status_code == 404
    answer = await nora.send(page, "create", content="# Idea\r\n")
    assert (await nora.follow(answer)).status_code == 200
    assert await text_of(stage, "new/Idea.md") == "# Idea\n"
    reader = await stage.person("rosi", Role.READER)
    assert all("do" not in form.fields for form in forms_of(await reader.open(address("nowhere"))))


@pytest.mark.parametrize(
    "path", ["../main.md", "/etc/passwd", "a//b.md", "%00.md", ".strongroom/x.md", "x" * 2000, "a\\b"]
)
async def test_a_path_that_is_none_leads_nowhere(stage: Stage, path: str) -> None:
    pia = await stage.person(f"pia{abs(hash(path))}")
    assert (await pia.open(f"/ui/v/main/notes/{path}")).status_code in (404, 422)


async def test_a_folder_lists_its_notes_and_folders(stage: Stage) -> None:
    await write(stage, "lists/a.md", "# First\n")
    await write(stage, "lists/deep/b.md", "# Second\n")
    lea = await stage.person("lea", Role.READER)
    page = (await lea.open("/ui/v/main/notes/lists/")).text
    assert 'href="/ui/v/main/notes/lists/deep/"' in page
    assert "First" in page
    filtered = (await lea.open("/ui/v/main/notes/?title=second&sort=modified")).text
    assert "lists/deep/b.md" in filtered
    assert "lists/a.md" not in filtered
    assert (await lea.open("/ui/v/main/notes/?cursor=nonsense")).status_code == 422


async def test_a_note_longer_than_a_page_is_read_on_and_not_edited_there(stage: Stage) -> None:
    await write(stage, "long.md", "".join(f"line {number} of a long note\n\n" for number in range(8000)))
    lars = await stage.person("lars")
    page = await lars.open(address("long.md"))
    assert "?from=" in page.text
    assert not any(form.fields.get("do") == "save" for form in forms_of(page))
    following = page.text.split("?from=")[1].split('"')[0]
    assert f"From line {following}" in (await lars.open(f"{address('long.md')}?from={following}")).text


async def test_saving_keeps_the_line_endings_of_a_note(stage: Stage) -> None:
    await stage.ask("note_write", path="crlf.md", content="one\ntwo\n")
    file = next(stage.services.data.rglob("crlf.md"))
    file.write_bytes(b"one\r\ntwo\r\n")
    carl = await stage.person("carl")
    page = await carl.open(address("crlf.md"))
    assert (await carl.send(page, "save")).headers["location"].endswith("?done=same")
    await carl.send(await carl.open(address("crlf.md")), "save", content="one\r\nthree\r\n")
    assert file.read_bytes() == b"one\r\nthree\r\n"


async def test_an_address_where_nothing_is_counts_as_no_failed_call_and_a_form_that_fails_does(stage: Stage) -> None:
    async def failed() -> dict[str, int]:
        used = await stage.ask("usage")
        return {use["tool"]: use["errors"] for use in used["tools"] if use["errors"]}

    guest = await stage.person("gero", Role.WRITER)
    await write(stage, "Yard/Capstan.md", "# Capstan\n\n![[Nowhere]]\n")
    form = next(each for each in forms_of(await guest.open(address("Yard/Capstan.md"))) if "content" in each.fields)
    before = await failed()
    nobodys = "00000000-0000-7000-8000-000000000000"
    for missing in (address("Yard/Capstam.md"), f"/ui/v/main/memories/{nobodys}", "/ui/v/main/memories/abc"):
        assert (await guest.open(missing)).status_code == 404
    for missing in (f"/ui/v/main/sessions/{nobodys}", "/ui/v/main/items?id=zzz"):
        assert (await guest.open(missing)).status_code == 404
    assert await failed() == before
    await guest.http.post(address("Yard/Nowhere.md"), data={**form.fields, "do": "save", "content": "x", "etag": "y"})
    assert await failed() != before
