"""Differences of states: what they name is what changed."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.continuity.checkpoints import MAX_PATHS_SHOWN, StateDiff, diff_states

LEAF = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text("ab/~", max_size=2)
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3)
)
STATE = st.dictionaries(st.text("ab/~", max_size=2), JSON, max_size=4)


def _at(state: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        state = state[part.replace("~1", "/").replace("~0", "~")]
    return state


@given(STATE, STATE)
def test_every_path_leads_to_what_it_says(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = diff_states(before, after)
    mended = copy.deepcopy(before)
    for path in (*found.added, *found.changed, *found.removed):
        *parents, _ = path.split("/")
        name = path.split("/")[-1].replace("~1", "/").replace("~0", "~")
        inside = _at(mended, "/".join(parents))
        if path in found.removed:
            del inside[name]
        else:
            inside[name] = copy.deepcopy(_at(after, path))
    assert diff_states(mended, after) == StateDiff()
    assert repr(mended) == repr(after) or mended == after


@given(STATE)
def test_a_state_does_not_differ_from_itself(state: dict[str, Any]) -> None:
    assert diff_states(state, copy.deepcopy(state)) == StateDiff()


def test_one_and_true_are_two_things() -> None:
    assert diff_states({"a": [1]}, {"a": [True]}).changed == ["/a"]


def test_a_difference_is_bounded() -> None:
    found = diff_states({}, {str(number): 0 for number in range(MAX_PATHS_SHOWN + 1)})
    assert (len(found.added), found.truncated) == (MAX_PATHS_SHOWN, True)
