"""Notes moved and deleted through the tools, on real files.

Covers server.tools.notes_files, vaults.domain.notes.edit.deletions, vaults.domain.notes.edit.moves,
vaults.graph.names.note_names.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import Opening
from tests.server.rendering.answers import is_told, outside
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.db.sql import Reader
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit import moves
from vaults.files.notebook import IndexProgress
from vaults.graph.links.link_index import LinkRow
from vaults.graph.names.note_names import find_candidates
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_link

REPOSITORY = Path(__file__).resolve().parents[2]
GOLD = REPOSITORY.parent / "shared" / "vaults" / "silverbullet-docs"


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as made:
        yield made


async def test_a_move_takes_every_link_along_and_is_taken_back_as_one(desk: Desk) -> None:
    await desk.put(
        {
            "a/Foo.md": b"\xef\xbb\xbf# Title\r\n[[Bar]] ![i](img.png)\r\n",
            "Bar.md": "[[Foo|x]] [m](a/Foo.md#t)\r\nlast [[Title]] no ending",
            "c/x.md": '---\nup: "[[a/Foo]]"\n---\n',
            "other.md": "nothing",
        }
    )
    (desk.root / "a/img.png").write_bytes(b"x")
    before = desk.digests()
    moved = await desk.done("note_move", path="a/Foo", to="b/New Name")
    assert (moved["path"], moved["changed"], moved["links"]) == ("b/New Name.md", True, 3)
    assert moved["others"] == ["Bar.md", "c/x.md"]
    assert (desk.root / "b/New Name.md").read_bytes() == b"\xef\xbb\xbf# Title\r\n[[Bar]] ![i](../a/img.png)\r\n"
    assert desk.text("Bar.md") == "[[New Name|x]] [m](b/New%20Name.md#t)\r\nlast [[Title]] no ending"
    assert desk.text("c/x.md") == '---\nup: "[[b/New Name]]"\n---\n'
    assert not (desk.root / "a/Foo.md").exists()
    undone = await desk.done("history", action="undo", ref=moved["change"])
    assert undone["path"] == "a/Foo.md"
    assert desk.digests() == before
    await desk.done("history", action="undo", ref=undone["change"])
    assert desk.text("Bar.md").startswith("[[New Name|x]]")


@pytest.mark.parametrize(
    ("to", "wanted"),
    [
        ("Archive/", "Archive/Foo.markdown"),
        ("Archive/Bar", "Archive/Bar.markdown"),
        ("Bar.md", "Bar.md"),
        ("/", "Foo.markdown"),
        ("a/FOO", "a/FOO.markdown"),
    ],
)
async def test_where_a_note_goes(desk: Desk, to: str, wanted: str) -> None:
    await desk.put({"a/Foo.markdown": "text", "x.md": "[f](a/Foo.markdown) [[Foo]]"})
    moved = await desk.done("note_move", path="a/Foo.markdown", to=to)
    assert moved["path"] == wanted
    assert {each for each in desk.digests() if each != "x.md"} == {wanted}
    assert f"({wanted})" in desk.text("x.md")
    links = await desk.vault.db.read(lambda tx: moves.find_links_to(tx, wanted))
    assert len(links) == 2


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("Taken.md", "already_exists"),
        ("taken", "conflict"),
        ("cafe\u0301", "conflict"),
        ("A/Other", "conflict"),
        ("CON", "invalid_argument"),
        ("x:y", "invalid_argument"),
        ("../out", "invalid_argument"),
        (".hidden", "invalid_argument"),
        ("trailing.", None),
    ],
)
async def test_a_name_that_is_taken_or_bad_changes_nothing(desk: Desk, to: str, code: str | None) -> None:
    await desk.put({"Foo.md": "one", "Taken.md": "two", "caf\u00e9.md": "three", "a/In.md": "four", "x.md": "[[Foo]]"})
    before = desk.digests()
    outcome = await desk.ask("note_move", path="Foo", to=to)
    assert outcome.code == code
    if code:
        assert desk.digests() == before
        assert not await desk.vault.db.read(
            lambda tx: tx.value("SELECT COUNT(*) FROM note_changes WHERE state = 'done'")
        )
    if code == "invalid_argument":
        assert outcome.content["error"]["details"]["field"] == "to"


async def test_a_stale_etag_or_a_dry_run_moves_nothing(desk: Desk) -> None:
    await desk.put({"Foo.md": "[[Foo#h]]", "x.md": "[[Foo]]\n"})
    before = desk.digests()
    stale = await desk.ask("note_move", path="Foo", to="Bar", etag="0" * 16)
    assert stale.code == "conflict"
    etag = stale.content["error"]["details"]["etag"]
    shown = await desk.ask("note_move", path="Foo", to="Bar", dry_run=True, etag=etag)
    assert "Only shown, nothing is written: call again with dry_run false. 1 link would follow." in shown.text
    assert is_told(shown.text, "path: Bar.md")
    dry = shown.content
    assert dry["changed"] is False
    assert "rename to Bar.md" in dry["diff"]
    assert "+[[Bar]]" in dry["diff"]
    assert desk.digests() == before


async def test_links_of_others_stay_where_that_is_asked(desk: Desk) -> None:
    await desk.put({"a/Foo.md": "[b](../Bar.md)", "Bar.md": "[[a/Foo]]"})
    await desk.done("note_move", path="a/Foo", to="Foo", update_backlinks=False)
    assert desk.text("Bar.md") == "[[a/Foo]]"
    assert desk.text("Foo.md") == "[b](Bar.md)"


async def test_a_note_that_no_index_knows_moves_with_a_warning(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "INDEX_WAIT_S", 0.01)
    await desk.put({"x.md": "[[Foo]]"})
    (desk.root / "Foo.md").write_text("# New\n")
    desk.vault.notes.report(IndexProgress("scanning"))
    moved = await desk.done("note_move", path="Foo.md", to="Bar.md")
    assert moved["warnings"] == [moves.UNREAD_WARNING]
    assert desk.text("x.md") == "[[Bar]]"


async def test_a_link_by_alias_that_the_new_name_would_catch_is_spelled_out(desk: Desk) -> None:
    await desk.put(
        {
            "c/Deep.md": "---\naliases: [Topic]\n---\n",
            "d/Deep.md": "another of that name",
            "Foo.md": "",
            "x.md": "[[Topic]]",
        }
    )
    await desk.done("note_move", path="Foo", to="Topic")
    assert desk.text("x.md") == "[[c/Deep]]"


async def test_links_are_read_from_the_files_not_from_the_index(desk: Desk) -> None:
    await desk.put({"Foo.md": "", "x.md": "[[Foo]]", "y.md": "[[Foo]]", "z.md": "[[Foo]]"})
    (desk.root / "x.md").write_text("inserted before, unseen\n[[Foo]] [[Foo]]")
    (desk.root / "y.md").unlink()
    (desk.root / "z.md").write_bytes(b"[[Foo]] \xff\xfe")
    moved = await desk.done("note_move", path="Foo.md", to="Bar.md")
    assert moved["links"] == 2
    assert "z.md" in moved["warnings"][0]
    assert desk.text("x.md") == "inserted before, unseen\n[[Bar]] [[Bar]]"
    assert (desk.root / "z.md").read_bytes() == b"[[Foo]] \xff\xfe"


async def test_a_file_that_is_saved_while_links_are_spelled_is_read_once_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.put({"Foo.md": "", "x.md": "[[Foo]]", "y.md": "[[Foo]]"})
    saves = iter(["first\n[[Foo]]", "second\n[[Bar]]", "third\n[[Bar]]"])
    most = 1

    async def slow(*args: object) -> object:
        nonlocal most
        if most:
            most -= 1
            (desk.root / "x.md").write_text(next(saves))
        return await commit(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("vaults.domain.notes.edit.moves.commit", slow)
    await desk.done("note_move", path="Foo", to="Bar")
    assert desk.text("x.md") == "first\n[[Bar]]"
    most = 2
    outcome = await desk.ask("note_move", path="Bar", to="Baz")
    assert outcome.code == "conflict"
    assert desk.text("x.md") == "third\n[[Bar]]"
    assert desk.text("y.md") == "[[Bar]]"
    assert (desk.root / "Bar.md").exists()


async def test_random_moves_and_their_undoing_leave_every_byte(desk: Desk) -> None:
    dice = random.Random(7)
    names = [f"{folder}Note {number}" for number, folder in enumerate(["", "a/", "a/b/", "c d/"] * 4)]
    short = [each.rpartition("/")[2] for each in names]
    forms = ("[[{}]]", "[[{}|words]]", "![[{}#^b]]", "[m](<{}.md>)", "[[{}.md#Part]]", "[[absent {}]]")
    for path in names:
        links = [dice.choice(forms).format(dice.choice(names + short)) for _ in range(8)]
        await desk.put({f"{path}.md": dice.choice(["\n", "\r\n"]).join(["# T", *links])})
    before, changes = desk.digests(), []
    here = {each: f"{each}.md" for each in names}
    for number in range(25):
        which = dice.choice(names)
        to = f"{dice.choice(['', 'a/', 'e/', 'c d/'])}New {number % 7} {which[-1]}.md"
        outcome = await desk.ask("note_move", path=here[which], to=to)
        assert outcome.code in (None, "already_exists"), outcome.text
        if outcome.ok and outcome.content["changed"]:
            here[which] = to
            changes.append(outcome.content["change"])
    assert len(changes) > 15
    rows = await desk.vault.db.read(lambda tx: tx.all("SELECT path FROM notes"))
    assert {row[0] for row in rows} == set(desk.digests())
    for change in reversed(changes):
        await desk.done("history", action="undo", ref=change)
    assert desk.digests() == before


async def test_a_note_is_only_deleted_when_that_is_confirmed(desk: Desk) -> None:
    await desk.put({"a/Foo.md": "# Called so\n", "x.md": "\n[[Foo]] [[Foo]]", "y.md": "[[Called so]]"})
    asked = await desk.ask("note_delete", path="a/Foo")
    assert asked.code == "confirmation_required"
    dry = await desk.ask("note_delete", path="a/Foo", dry_run=True)
    assert "-# Called so" in dry.content["diff"]
    assert dry.text.startswith("Only shown, nothing is written: call again with dry_run false.")
    assert "- 3 links in other notes pointed to it: x.md line 2, y.md line 1" in outside(dry.text)
    assert not any("Called so" in line for line in outside(dry.text))
    named = await desk.ask("note_delete", path="Called so", confirm=True)
    assert named.code == "not_found"
    assert named.content["error"]["details"]["closest"] == ["a/Foo.md"]
    stale = await desk.ask("note_delete", path="a/Foo", confirm=True, etag="0" * 16)
    assert stale.code == "conflict"
    assert (desk.root / "a/Foo.md").exists()
    done = await desk.done("note_delete", path="a/Foo", confirm=True)
    assert done["warnings"] == ["3 links in other notes pointed to it: x.md line 2, y.md line 1"]
    assert "etag" not in done
    assert not (desk.root / "a/Foo.md").exists()
    await desk.done("history", action="undo")
    assert desk.text("a/Foo.md") == "# Called so\n"
    assert len(await desk.vault.db.read(lambda tx: moves.find_links_to(tx, "a/Foo.md"))) == 3


@pytest.mark.skipif(not GOLD.is_dir(), reason="the real notes are not here")
async def test_real_notes_move_and_every_link_goes_on_meaning_its_note(desk: Desk) -> None:
    notes = {each.relative_to(GOLD / "notes").as_posix(): each.read_bytes() for each in (GOLD / "notes").rglob("*.md")}
    await desk.put(notes)
    rows = [line.split("\t") for line in (GOLD / "links.tsv").read_text().splitlines()[1:]]
    linked = [row[2] for row in rows if row[2] and row[0] != row[2]]
    most = sorted(set(linked), key=lambda path: (-linked.count(path), path))[:5]
    before = await _meanings(desk)
    digests = desk.digests()
    changes = []
    for number, path in enumerate(most):
        to = (
            f"Moved {number}/{path.rpartition('/')[2].removesuffix('.md')} anew.md"
            if number % 2
            else f"Elsewhere/{path}"
        )
        moved = await desk.done("note_move", path=path, to=to)
        assert "warnings" not in moved
        changes.append(moved["change"])
        now = {source: [to if each == path else each for each in meant] for source, meant in before.items()}
        before = {to if source == path else source: meant for source, meant in now.items()}
        after = await _meanings(desk)
        for source, meant in before.items():
            pairs = zip(meant, after[source], strict=True)
            assert all(was == is_ for was, is_ in pairs if was is not None), source
    for change in reversed(changes):
        await desk.done("history", action="undo", ref=change)
    assert desk.digests() == digests


async def _meanings(desk: Desk) -> dict[str, list[str | None]]:
    """What every link of every note means, by the rows of the index."""

    def read(tx: Reader) -> dict[str, list[str | None]]:
        notes: dict[str, list[str | None]] = {row[0]: [] for row in tx.all("SELECT path FROM notes")}
        rows = tx.all(
            "SELECT s.path, l.line, l.kind, l.target, l.heading, l.block, l.alias, l.embed FROM note_links l"
            " JOIN notes s ON s.seq = l.note ORDER BY s.path, l.ordinal"
        )
        known: dict[str, list[LinkTarget]] = {}
        for row in (LinkRow(*each) for each in rows):
            key = name_key(row.link.page)
            known[key] = known.get(key) or find_candidates(tx, [key])
            notes[row.source].append(resolve_link(row.link, row.source, known[key]) if row.target else row.source)
        return notes

    return await desk.vault.db.read(read)
