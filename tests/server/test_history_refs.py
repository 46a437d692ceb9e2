"""What ``history`` takes for a ref, and what it says of a note that is not there."""

from __future__ import annotations

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in
from vaults.domain.notes.commit import git_commits


async def test_a_commit_that_the_log_shows_stands_for_its_change(opening: Opening) -> None:
    async with desk_in(opening, {"notes.history": "auto"}) as desk:
        for text in ("one\n", "two\n"):
            await desk.done("note_write", path="a.md", content=text, mode="overwrite", commit=True)
        last = (await desk.done("history", path="a"))["changes"][0]
        for ref in (last["git"], last["git"][:12]):
            shown = await desk.done("history", action="diff", ref=ref)
            assert shown["ref"] == last["id"]
            assert "-one\n+two\n" in shown["diff"]
        restored = await desk.done("history", action="restore", ref=last["git"], version="before", dry_run=True)
        assert "-two\n+one\n" in restored["diff"]
        assert (await desk.done("history", action="undo", ref=last["git"]))["changed"]
        assert desk.text("a.md") == "one\n"


@pytest.mark.parametrize("action", ["diff", "undo"])
async def test_a_commit_of_several_changes_names_their_ids(opening: Opening, action: str) -> None:
    async with desk_in(opening, {"notes.history": "batch"}) as desk:
        for text in ("one\n", "two\n"):
            await desk.done("note_write", path="a.md", content=text, mode="overwrite")
        await git_commits.commit_all_pending(desk.vault)
        first, second = (await desk.done("history"))["changes"]
        assert first["git"] == second["git"]
        refused = await desk.ask("history", action=action, ref=first["git"])
        assert refused.content["error"]["details"]["field"] == "ref"
        assert f"{first['id']}, {second['id']}" in refused.content["error"]["hint"]


async def test_a_commit_nobody_knows_still_needs_a_note(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        assert (await desk.ask("history", action="diff", ref="abcdef0123")).code == "invalid_argument"
        assert (await desk.ask("history", action="undo", ref="abcdef0123")).code == "invalid_argument"


async def test_the_diff_of_a_note_that_is_not_there_is_not_found(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put({"plan.md": "---\naliases: [roadmap]\n---\nx\n", "quiet.md": "y\n"})
        missing = await desk.ask("history", action="diff", path="nope.md")
        assert (missing.code, "nope.md" in missing.text) == ("not_found", True)
        quiet = await desk.ask("history", action="diff", path="quiet.md")
        assert (quiet.ok, quiet.text) == (True, "No change to show.")
        await desk.done("note_edit", path="plan.md", content="z")
        assert "+z\n" in (await desk.done("history", action="diff", path="roadmap"))["diff"]
