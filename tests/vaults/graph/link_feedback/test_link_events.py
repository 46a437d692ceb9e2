"""What happened to links is told newest first, and counted.

Covers vaults.graph.link_feedback.dismissals, vaults.graph.link_feedback.link_stats.
"""

from __future__ import annotations

import pytest

from tests.blanks import empty_tables
from tests.vaults.graph.bare import note
from vaults.db.sql import Writer
from vaults.domain.graph.links.stubs import read_stubs
from vaults.graph.link_feedback import dismissals, link_applications, link_events, link_trust
from vaults.graph.link_feedback.link_applications import LinkApplication
from vaults.graph.link_feedback.link_stats import read_link_stats
from vaults.graph.link_feedback.link_trust import Observation


@pytest.fixture
def tx() -> Writer:
    return empty_tables()


def came(tx: Writer, at: str, path: str, target: str, added: int = 1) -> None:
    tx.run("INSERT INTO link_history (at, path, target, added, edit) VALUES (?, ?, ?, ?, 1)", (at, path, target, added))


def test_what_happened_is_told_newest_first_over_all_logs_and_page_by_page(tx: Writer) -> None:
    for n in range(1, 6):
        came(tx, f"2026-01-0{n}T00:00:00.000Z", "a.md", "x", n % 2)
    note(tx, "a.md", "[[x]]")
    link_applications.record_applications(tx, [LinkApplication("a.md", "x", "x", "accepted", "ann", "c1")])
    tx.run("UPDATE link_applications SET at = '2026-01-02T12:00:00.000Z'")
    tx.run("UPDATE link_feedback SET at = '2026-01-04T12:00:00.000Z'")
    whole = link_events.read_page(tx, None, None, 50)
    assert [each.what for each in whole.happenings] == ["added", "accepted", "gone", "added", "set", "gone", "added"]
    assert whole.next is None
    paged, below = [], link_events.NEWEST
    for _ in range(10):
        found = link_events.read_page(tx, None, None, 2, below)
        paged += found.happenings
        if found.next is None:
            break
        below = found.next
    assert paged == whole.happenings


def test_what_happened_can_be_asked_of_a_note_and_of_an_entity(tx: Writer) -> None:
    came(tx, "2026-01-01T00:00:00.000Z", "a.md", "x")
    came(tx, "2026-01-01T00:00:00.000Z", "b.md", "y")
    assert [each.entity for each in link_events.read_page(tx, "a.md", None, 9).happenings] == ["x"]
    assert [each.path for each in link_events.read_page(tx, None, ["y", "z"], 9).happenings] == ["b.md"]
    assert link_events.read_page(tx, "a.md", ["y"], 9) == link_events.LinkEventPage([], None)


def test_names_that_several_notes_link_to_are_wanted(tx: Writer) -> None:
    for path in ("a.md", "b.md", "c.md"):
        note(tx, path, "[[Ship]] [[Ship]] [[pic.png]] [t](Tool.md) [[ship.*(]]")
    note(tx, "d.md", "[[Harbour]] [[Alone]] [[a]]")
    note(tx, "e.md", "[[harbour]]")
    found = read_stubs(tx, 10)
    assert [(each.name, each.references, each.wanted) for each in found.stubs] == [
        ("Ship", 3, "high"),
        ("ship.*(", 3, "high"),
        ("Harbour", 2, "medium"),
    ]
    assert found.stubs[0].paths == ["a.md", "b.md", "c.md"]
    assert (found.stubs[0].links, found.total) == (6, 3)
    assert read_stubs(tx, 1, 1).stubs == found.stubs[1:2]
    dismissals.dismiss(tx, "prospect", ("ship", ""), "ann")
    assert read_stubs(tx, 10).total == 2


def test_links_are_counted_by_what_became_of_them(tx: Writer) -> None:
    note(tx, "x/Plan.md", "")
    note(tx, "y/Plan.md", "")
    note(tx, "a.md", "[[x/Plan]] [[Plan]] [[Nobody]] ![[pic.png]]")
    link_applications.record_applications(tx, [LinkApplication("a.md", "plan", "plan", "auto", "ann")])
    link_trust.observe(
        tx, [Observation("ann", "plan", "a.md", "accepted"), Observation("ann", "nobody", "a.md", "rejected")]
    )
    link_trust.suppress(tx, "ann", "nobody", "x")
    found = read_link_stats(tx)
    assert (found.notes, found.links, found.resolved, found.broken, found.ambiguous) == (3, 4, 1, 1, 1)
    assert found.set_by_us == {"auto.standing": 1}
    assert [each.entity for each in found.best] == ["plan"]
    assert [each.entity for each in found.worst] == ["nobody"]
    assert (found.suppressed, found.suppressions[0].learned) == (1, False)
