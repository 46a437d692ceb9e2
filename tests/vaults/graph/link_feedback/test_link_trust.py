"""What was said of links teaches which to suggest, by folder; nobody can shout the others down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.blanks import empty_tables
from tests.vaults.graph.bare import AT
from vaults.db.sql import Writer
from vaults.graph.link_feedback import link_trust
from vaults.graph.link_feedback.link_trust import LinkVerdict, Observation


@pytest.fixture
def tx() -> Writer:
    return empty_tables()


def said(
    tx: Writer, who: str, verdict: LinkVerdict, path: str = "work/a.md", entity: str = "mercury", days: int = 1
) -> int:
    """The same on so many days; how often it counted."""
    counted = 0
    for _ in range(days):
        counted += link_trust.observe(tx, [Observation(who, entity, path, verdict)])
        tx.run("UPDATE link_feedback SET at = ?", (AT,))  # that was long ago
    return counted


def is_suppressed(tx: Writer, folder: str, entity: str = "mercury") -> bool:
    return entity in link_trust.read_trust(tx, folder).suppressed


def worth(tx: Writer, folder: str, entity: str = "mercury") -> float:
    return link_trust.read_trust(tx, folder).points.get(entity, 0.0)


def test_nothing_is_known_of_what_nobody_spoke_of(tx: Writer) -> None:
    assert link_trust.read_trust(tx, "work") == link_trust.FolderTrust(frozenset(), {})


def test_agreement_raises_and_refusal_lowers_the_points_within_bounds(tx: Writer) -> None:
    said(tx, "ann", "accepted", days=50)
    said(tx, "ann", "rejected", entity="venus", days=50)
    assert 4 < worth(tx, "work") <= link_trust.MAX_POINTS
    assert worth(tx, "work", "venus") == -link_trust.MAX_POINTS


def test_who_is_alone_in_a_vault_suppresses_by_refusing_on_four_days(tx: Writer) -> None:
    said(tx, "ann", "rejected", days=3)
    assert not is_suppressed(tx, "work")
    said(tx, "ann", "rejected")
    assert is_suppressed(tx, "work")
    assert is_suppressed(tx, "work/deep/down")
    assert not is_suppressed(tx, "home")
    assert -link_trust.MAX_POINTS < worth(tx, "home") < 0  # elsewhere it only counts for less


def test_a_flood_in_one_day_counts_once_and_fills_no_table(tx: Writer) -> None:
    flood = [Observation("mallory", "mercury", f"work/{n}.md", "rejected") for n in range(2000)]
    assert link_trust.observe(tx, flood) == 1
    assert tx.value("SELECT COUNT(*) FROM link_feedback") == 1


def test_one_of_several_cannot_suppress_alone_however_long_it_refuses(tx: Writer) -> None:
    said(tx, "ann", "accepted", entity="venus")
    assert said(tx, "mallory", "rejected", days=60) == 60
    assert said(tx, "mallory", "rejected", path="home/b.md", days=60) == 60
    assert said(tx, "mallory", "removed", days=60) == 60
    assert not is_suppressed(tx, "work")
    assert not is_suppressed(tx, "home")
    said(tx, "bob", "rejected", days=2)
    assert is_suppressed(tx, "work")


def test_who_changes_notes_makes_the_others_not_alone(tx: Writer) -> None:
    tx.run(
        "INSERT INTO note_changes (id, at, who, author, tool, summary, state)"
        " VALUES ('c', ?, 'ann', 'ann', 't', '', 'done')",
        (AT,),
    )
    said(tx, "mallory", "rejected", days=30)
    assert not is_suppressed(tx, "work")


def test_refusals_in_several_folders_suppress_everywhere(tx: Writer) -> None:
    for folder in "abcdefgh":
        said(tx, "ann", "rejected", path=f"{folder}/note.md")
        assert is_suppressed(tx, "elsewhere") == (folder == "h")


def test_what_is_refused_in_one_folder_and_kept_in_another_is_suppressed_in_the_one(tx: Writer) -> None:
    said(tx, "ann", "accepted", path="chemistry/a.md", days=8)
    said(tx, "ann", "rejected", path="space/a.md", days=8)
    assert (is_suppressed(tx, "chemistry"), is_suppressed(tx, "space"), is_suppressed(tx, "")) == (False, True, False)


def test_a_suppression_is_lifted_by_agreement(tx: Writer) -> None:
    said(tx, "ann", "rejected", days=4)
    said(tx, "ann", "kept", days=3)
    assert is_suppressed(tx, "work")
    said(tx, "ann", "accepted", days=2)
    assert not is_suppressed(tx, "work")


def test_an_entity_suggested_again_starts_anew_and_can_be_learned_again(tx: Writer) -> None:
    said(tx, "ann", "rejected", days=4)
    assert link_trust.unsuppress(tx, "bob", "mercury", "work")
    assert not is_suppressed(tx, "work")
    assert worth(tx, "work") == 0
    assert not link_trust.needs_relearning(tx)
    assert not link_trust.unsuppress(tx, "bob", "mercury", "work")
    said(tx, "ann", "rejected", days=4)
    said(tx, "bob", "rejected", days=4)
    assert is_suppressed(tx, "work")


def test_what_a_person_suppressed_is_not_lifted_by_what_is_learned(tx: Writer) -> None:
    assert link_trust.suppress(tx, "ann", "mercury", "")
    assert not link_trust.suppress(tx, "ann", "mercury", "")
    said(tx, "bob", "accepted", days=20)
    assert is_suppressed(tx, "work/deep")
    assert link_trust.unsuppress(tx, "bob", "mercury", "")
    assert not is_suppressed(tx, "work/deep")


def test_what_is_derived_is_worked_out_anew(tx: Writer) -> None:
    said(tx, "ann", "rejected", days=4)
    before = link_trust.read_trust(tx, "work")
    assert not link_trust.needs_relearning(tx)
    tx.run("DELETE FROM link_trust")
    assert link_trust.needs_relearning(tx)
    link_trust.relearn(tx)
    assert link_trust.read_trust(tx, "work") == before


@given(st.floats(0, 1))
def test_points_rise_with_the_posterior_and_stay_within_five(mean: float) -> None:
    assert -link_trust.MAX_POINTS <= link_trust.to_points(mean) <= link_trust.MAX_POINTS
    assert link_trust.to_points(mean) <= link_trust.to_points(min(1.0, mean + 0.1))
