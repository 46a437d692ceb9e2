"""Broken links are found with what they are meant for, and set right without touching anything else.

Covers vaults.domain.graph.links.broken_links, vaults.domain.graph.links.target_guesses.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in
from tests.work import assert_linear
from vaults.domain.actors import Actor
from vaults.domain.graph.links import broken_links, entity_vector_job, link_repairs
from vaults.domain.graph.links.link_repairs import RepairTarget, repair_text
from vaults.domain.graph.links.target_guesses import (
    MIN_CERTAIN,
    TargetGuess,
    TargetGuesser,
    find_certain,
    rank_by_distance,
)
from vaults.errors import InvalidArgument, NotFound
from vaults.graph.note_graph import Graph, Node
from vaults.markdown.frontmatter.parser import parse_frontmatter
from vaults.markdown.link_resolution import LinkTarget, name_key
from vaults.markdown.links import find_links
from vaults.markdown.scan import scan

ME = Actor("owner", "owner")


def guesser(*paths: str, aliases: tuple[str, ...] = ()) -> TargetGuesser:
    nodes = [Node(n, path, path.rpartition("/")[2][:-3], aliases, "") for n, path in enumerate(paths)]
    return TargetGuesser(Graph(nodes={node.number: node for node in nodes}))


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("Merkury", "planets/Mercury.md"),
        ("planets/inner/Mercury", "planets/Mercury.md"),
        ("mer cury", "planets/Mercury.md"),
        ("turbopump", "Turbo-Pump.md"),
        ("Doe John", "people/John Doe.md"),
    ],
)
def test_a_link_is_meant_for_the_note_that_is_called_most_alike(page: str, path: str) -> None:
    found = guesser("planets/Mercury.md", "Turbo-Pump.md", "people/John Doe.md", "Venus.md").likely(page)
    assert found[0].path == path
    assert find_certain(found) is not None


def test_what_two_notes_are_called_alike_is_not_for_sure() -> None:
    found = guesser("a/Mercury.md", "b/Mercury.md").likely("c/Mercury")
    assert len(found) == 2
    assert find_certain(found) is None
    assert find_certain(guesser("Release 1.md", "Release 2.md").likely("Release 3")) is None


def test_another_number_or_quite_another_folder_is_a_guess_and_not_for_sure() -> None:
    found = guesser("Release 12.md", "notes/Index.md").several(["Release 13", "people/Index"])
    assert [(each[0].path, find_certain(each)) for each in found] == [("Release 12.md", None), ("notes/Index.md", None)]


def test_short_and_strange_names_are_like_nothing() -> None:
    held = guesser("abc.md", "Mercury.md")
    assert [held.likely(page) for page in ("abd", "", "...", "quite another thing", "日本")] == [[]] * 5


def test_of_several_of_one_name_the_nearest_comes_first_and_never_for_sure() -> None:
    found = rank_by_distance("a/b/day.md", {"z/Plan.md": "Plan", "a/Plan.md": "Plan", "a/b/c/Plan.md": "Plan"})
    assert [each.path for each in found] == ["a/Plan.md", "a/b/c/Plan.md", "z/Plan.md"]
    assert find_certain(found) is None


def test_a_name_is_compared_with_thousands_in_time_that_grows_with_their_number() -> None:
    def names(count: int) -> TargetGuesser:
        return guesser(*(f"notes/{n:05} about the matter {n * 7919 % 10_007}.md" for n in range(count)))

    assert_linear(lambda held: held.likely("abuot the mater 7"), names, 1_250)


RIGHT = RepairTarget("planets/Mercury.md", "Mercury", {"mercury": [LinkTarget("planets/Mercury.md", "Mercury")]})


def plan(*written: tuple[str, str]) -> link_repairs.RepairPlan:
    return {("day.md", kind, target): RIGHT for kind, target in written}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("see [[Merkury]]", "see [[Mercury]]"),
        ("see [[Merkury|the planet]] and ![[Merkury#Orbit]]", "see [[Mercury|the planet]] and ![[Mercury#Orbit]]"),
        ("| a |\n|---|\n| [[Merkury\\|x]] |", "| a |\n|---|\n| [[Mercury\\|x]] |"),
        ("see [it](old/Merkury.md)", "see [it](planets/Mercury.md)"),
        ("see [it](<old/Merkury.md#a> 'b')", "see [it](<planets/Mercury.md#a> 'b')"),
        ('---\nup: "[[Merkury]]" # kept\n---\r\nx', '---\nup: "[[Mercury]]" # kept\n---\r\nx'),
        ("`[[Merkury]]` [[Other]]", "`[[Merkury]]` [[Other]]"),
        ("[of [[Merkury]] here](old/Merkury.md)", "[of [[Mercury]] here](planets/Mercury.md)"),
    ],
)
def test_only_what_a_link_gives_as_its_target_changes(before: str, after: str) -> None:
    named = plan(("wiki", "Merkury"), ("markdown", "old/Merkury.md"), ("frontmatter", "Merkury"))
    assert repair_text("day.md", before, named) == after


def test_a_name_that_no_link_can_hold_is_given_by_path() -> None:
    right = RepairTarget("odd/a.md", "[x] | #y", {"a": [LinkTarget("odd/a.md", "[x] | #y")]})
    assert repair_text("day.md", "[[Ab]]", {("day.md", "wiki", "Ab"): right}) == "[[a]]"


def test_frontmatter_that_could_not_be_read_any_more_stays_as_it_is() -> None:
    name = 'say "x": y'
    right = RepairTarget(f"{name}.md", name, {name_key(name): [LinkTarget(f"{name}.md", name)]})
    text = '---\nup: "[[Ab]]"\n---\n[[Ab]]'
    both: link_repairs.RepairPlan = {("day.md", "wiki", "Ab"): right, ("day.md", "frontmatter", "Ab"): right}
    assert repair_text("day.md", text, both) == f'---\nup: "[[Ab]]"\n---\n[[{name}]]'


PIECES = st.sampled_from(
    ["[[Ab]]", "![[Ab#h|x]]", "[[Ab^b]]", "[t](Ab.md)", "[t](<Ab.md>)", "[[", "]]", "[", "](", "`", "```\n", "|", "\\",
     "---\n", "up: [[Ab]]\n", "\r\n", "\n", "%%", "<!--", "é", "\U0001f600", "[[Other]]", "$", ".*", "Ab"]
)  # fmt: skip


def shell(text: str) -> list[str]:
    """A text but for the targets of its links."""
    places = sorted((each.target_start, each.target_end) for each in find_links(scan(text), text))
    ends = [0, *(end for place in places for end in place), len(text)]
    return [text[start:end] for start, end in pairwise(ends)][::2]


@given(st.lists(PIECES, max_size=25).map("".join))
def test_every_other_byte_stays(text: str) -> None:
    wiki = {("day.md", kind, "Ab"): RIGHT for kind in ("wiki", "frontmatter")}
    new = repair_text("day.md", text, {**wiki, ("day.md", "markdown", "Ab.md"): RIGHT})  # type: ignore[dict-item]
    assert shell(new) == shell(text)
    assert parse_frontmatter(text).error == parse_frontmatter(new).error
    left = [
        each.target
        for each in find_links(scan(new), new)
        if each.target in ("Ab", "Ab.md") and each.kind != "frontmatter"
    ]
    assert left == []


def test_ten_thousand_links_in_a_note_are_set_right_in_linear_time() -> None:
    def set_right(text: str) -> None:
        count = text.count("\n")
        assert repair_text("day.md", text, plan(("wiki", "Ab"))).count("[[Mercury]]") == count

    assert_linear(set_right, lambda count: "[[Ab]] and [[Other]]\n" * count, 1_250)


NOTES: dict[str, str | bytes] = {
    "planets/Mercury.md": "# Orbit\n\nfast ^quick\n",
    "a/Plan.md": "x",
    "b/Plan.md": "x",
    "pictures/sky.png": b"\x89PNG",
    "day.md": (
        "[[Merkury]] [[Plan]] [[Mercury#Orbit]] [[Mercury#Orbits]] [[Mercury#^quick]] [[Mercury#^slow]]\n"
        "![[sky.png]] [pic](pictures/sky.png) ![[moon.png]] [[#nowhere]] [web](https://x.org/Merkury.md)\n"
        "[[Quite unknown]] [[Mercury#orbit]]\n"
    ),
}


async def test_links_that_lead_nowhere_are_found_with_the_reason(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        found = await broken_links.find_broken_links(desk.vault, broken_links.BrokenLinksRequest())
        assert [(each.target or each.wanted, each.reason, each.line) for each in found.links] == [
            ("Merkury", "no note", 1),
            ("Plan", "ambiguous", 1),
            ("Mercury", "no heading", 1),
            ("Mercury", "no block", 1),
            ("moon.png", "no note", 2),
            ("nowhere", "no heading", 2),
            ("Quite unknown", "no note", 3),
        ]
        assert found.links[0].likely[0] == TargetGuess("planets/Mercury.md", "Mercury", 0.86, "spelling")
        assert found.links[2].headings == ["Orbit"]
        assert found.cursor is None
        first = await broken_links.find_broken_links(desk.vault, broken_links.BrokenLinksRequest(limit=4))
        rest = await broken_links.find_broken_links(desk.vault, broken_links.BrokenLinksRequest(cursor=first.cursor))
        assert [*first.links, *rest.links] == found.links
        with pytest.raises(InvalidArgument):
            await broken_links.find_broken_links(desk.vault, broken_links.BrokenLinksRequest(cursor="nonsense"))


async def test_setting_links_right_is_one_change_that_is_undone_byte_for_byte(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put({**NOTES, "other.md": "\ufeff[[Merkury|x]]\r\n"})
        before = desk.digests()
        shown = await link_repairs.repair_links(desk.vault, ME, link_repairs.LinkRepairRequest())
        assert (shown.done.paths, shown.done.change, desk.digests()) == (["day.md", "other.md"], None, before)
        assert shown.done.diff is not None
        assert "+[[Mercury]] [[Plan]]" in shown.done.diff
        done = await link_repairs.repair_links(desk.vault, ME, link_repairs.LinkRepairRequest(dry_run=False))
        assert desk.text("other.md") == "\ufeff[[Mercury|x]]\r\n"
        assert [each.target for each in done.links] == ["Merkury", "Merkury"]
        assert (await link_repairs.repair_links(desk.vault, ME, link_repairs.LinkRepairRequest())).done.paths == []
        await desk.done("history", action="undo", ref=done.done.change)
        assert desk.digests() == before


async def test_a_person_may_say_which_note_is_meant(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        await link_repairs.repair_links(
            desk.vault, ME, link_repairs.LinkRepairRequest(target="Plan", to="b/Plan", dry_run=False)
        )
        assert "[[b/Plan]]" in desk.text("day.md")
        assert "[[Merkury]]" in desk.text("day.md")
        for asked in (link_repairs.LinkRepairRequest(target="Plan"), link_repairs.LinkRepairRequest(to="Plan")):
            with pytest.raises(InvalidArgument):
                await link_repairs.repair_links(desk.vault, ME, asked)
        with pytest.raises(NotFound):
            await link_repairs.repair_links(
                desk.vault, ME, link_repairs.LinkRepairRequest(target="Plan", to="nobody.md")
            )


async def test_a_note_that_is_renamed_meanwhile_is_not_broken_by_a_plan_made_before(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        async with desk.vault.notes.writing():
            fixing = asyncio.create_task(
                link_repairs.repair_links(desk.vault, ME, link_repairs.LinkRepairRequest(dry_run=False))
            )
            await asyncio.wait({fixing}, timeout=0.05)  # it waits for whoever writes, and looks only then
            (desk.root / "planets/Mercury.md").rename(desk.root / "planets/Merkury.md")
            await desk.look()
        await fixing
        assert desk.text("day.md").startswith("[[Merkury]] [[Plan]] [[Merkury#Orbit]]")


def test_a_link_knows_itself_by_what_is_kept_of_it() -> None:
    assert broken_links.BrokenLink("a", 1, "markdown", "b%20c.md", "no note").link.page == "b c.md"


async def test_a_name_that_is_spelled_like_none_is_looked_for_by_meaning_and_never_set_right_unasked(
    opening: Opening,
) -> None:
    async with desk_in(opening, {"embedding.engine": "auto"}) as desk:
        await desk.put(
            {
                "Boats.md": "---\ntitle: Sailing\n---\nharbour boats sailing wind water ropes",
                "day.md": "[[harbour boats with wind water ropes]] [[zzzz qqqq]]",
            }
        )
        await desk.done("remember", content="so that there is a model")
        await entity_vector_job.backfill_entity_vectors(desk.vault)
        found = (await desk.done("links", action="validate"))["links"]
        assert [[(one["path"], one["by"]) for one in each.get("likely", ())] for each in found] == [
            [("Boats.md", "meaning")],
            [],
        ]
        assert found[0]["likely"][0]["confidence"] < MIN_CERTAIN
        assert (await link_repairs.repair_links(desk.vault, ME, link_repairs.LinkRepairRequest())).done.paths == []
