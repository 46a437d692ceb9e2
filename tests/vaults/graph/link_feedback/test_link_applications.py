"""Links that were set are kept in mind: those that people take out, and those that last, teach.

Covers vaults.graph.links.link_history.
"""

from __future__ import annotations

import pytest

from tests.blanks import empty_tables
from tests.vaults.graph.bare import AT, drop, note
from vaults.db.sql import Writer
from vaults.graph.link_feedback import link_applications, link_trust
from vaults.graph.link_feedback.link_applications import LinkApplication, LinkSource
from vaults.graph.links import link_history

LINKED = "about [[Mercury]]"


@pytest.fixture
def tx() -> Writer:
    tx = empty_tables()
    note(tx, "planets/Mercury.md")
    return tx


def set_link(tx: Writer, source: LinkSource = "auto", change: str | None = "change", text: str = LINKED) -> None:
    note(tx, "day.md", text)
    link_applications.record_applications(tx, [LinkApplication("day.md", "Mercury", "mercury", source, "ann", change)])


def edit(tx: Writer, text: str) -> None:
    number = note(tx, "day.md", text)
    link_applications.update_states(tx, number, "day.md", link_history.count_edit(tx, "day.md"))


def later(tx: Writer) -> None:
    """Time passes."""
    tx.run("UPDATE link_applications SET at = ?, gone = CASE WHEN gone IS NULL THEN NULL ELSE ? END", (AT, AT))
    while link_applications.judge(tx):
        pass


def state(tx: Writer) -> str:
    return str(tx.value("SELECT state FROM link_applications"))


def verdicts(tx: Writer) -> list[str]:
    return [row[0] for row in tx.all("SELECT verdict FROM link_feedback ORDER BY seq")]


def test_a_link_that_is_taken_out_counts_against_its_entity(tx: Writer) -> None:
    set_link(tx)
    edit(tx, "about mercury")
    assert (state(tx), link_applications.has_pending(tx), verdicts(tx)) == ("missing", True, [])
    later(tx)
    assert (state(tx), link_applications.has_pending(tx), verdicts(tx)) == ("removed", False, ["removed"])
    assert link_trust.read_trust(tx, "").points["mercury"] < 0


def test_a_link_that_is_cut_and_put_elsewhere_is_no_refusal(tx: Writer) -> None:
    set_link(tx)
    edit(tx, "nothing")
    link_applications.judge(tx)  # too soon
    assert state(tx) == "missing"
    edit(tx, f"further down {LINKED}")
    later(tx)
    assert (state(tx), verdicts(tx)) == ("standing", [])


def take_back(tx: Writer) -> None:
    """Ann undoes the change that set the link."""
    tx.run(
        "INSERT INTO note_changes (id, at, who, author, tool, summary, state, undoes)"
        " VALUES ('undo', ?, 'ann', 'ann', 'history', '', 'done', 'change')",
        (AT,),
    )


def test_a_link_that_was_undone_with_our_own_change_is_no_refusal(tx: Writer) -> None:
    set_link(tx)
    take_back(tx)
    edit(tx, "about mercury")
    later(tx)
    assert (state(tx), verdicts(tx)) == ("undone", [])


def test_a_link_nobody_asked_for_counts_against_its_entity_when_it_is_undone(tx: Writer) -> None:
    set_link(tx, "proactive")
    take_back(tx)
    edit(tx, "about mercury")
    later(tx)
    assert (state(tx), verdicts(tx)) == ("undone", ["removed"])
    assert link_applications.find_untouchable(tx, ["day.md", "planets/Mercury.md"]) == {"day.md"}


def test_a_link_follows_its_note_by_another_name_and_is_no_refusal(tx: Writer) -> None:
    set_link(tx)
    number = note(tx, "planets/Mercury.md")
    link_history.move_paths(tx, [("planets/Mercury.md", "planets/Hermes.md")])
    tx.run("UPDATE notes SET path = 'planets/Hermes.md', title = 'Hermes' WHERE seq = ?", (number,))
    note(tx, "planets/Hermes.md")
    edit(tx, "about [[Hermes]]")
    assert state(tx) == "standing"


def test_a_link_whose_note_is_gone_is_no_refusal(tx: Writer) -> None:
    set_link(tx)
    drop(tx, "planets/Mercury.md")
    edit(tx, "about mercury")
    later(tx)
    assert (state(tx), verdicts(tx)) == ("undone", [])


def test_a_link_by_alias_or_path_is_the_same_link(tx: Writer) -> None:
    set_link(tx)
    edit(tx, "about [[planets/Mercury|the planet]]")
    assert state(tx) == "standing"


def test_a_link_that_outlasts_edits_and_a_day_counts_for_its_entity(tx: Writer) -> None:
    set_link(tx)
    for n in range(6):
        edit(tx, f"{LINKED} {n}")
    assert state(tx) == "standing"  # an editor that saves by itself makes six edits in ten seconds
    later(tx)
    edit(tx, f"{LINKED} at last")
    later(tx)
    assert (state(tx), verdicts(tx)) == ("kept", ["kept"])
    assert link_trust.read_trust(tx, "").points["mercury"] > 0


def test_what_somebody_agreed_to_counts_at_once_and_only_once(tx: Writer) -> None:
    set_link(tx, "accepted")
    set_link(tx, "accepted")
    assert tx.value("SELECT COUNT(*) FROM link_applications") == 1
    assert verdicts(tx) == ["accepted"]


def test_another_note_at_the_same_path_is_no_refusal(tx: Writer) -> None:
    set_link(tx)
    drop(tx, "day.md")
    link_applications.update_states(tx, note(tx, "day.md", "another"), "day.md", None)
    later(tx)
    assert (state(tx), verdicts(tx)) == ("undone", [])


def test_many_links_are_judged_in_steps(tx: Writer) -> None:
    note(tx, "day.md", " ".join(f"[[e{n}]]" for n in range(250)))
    link_applications.record_applications(
        tx, [LinkApplication("day.md", f"e{n}", f"e{n}", "auto", "ann") for n in range(250)]
    )
    edit(tx, "nothing")
    tx.run("UPDATE link_applications SET gone = ?", (AT,))
    assert link_applications.judge(tx)
    assert tx.value("SELECT COUNT(*) FROM link_applications WHERE state = 'removed'") == link_applications.BATCH
