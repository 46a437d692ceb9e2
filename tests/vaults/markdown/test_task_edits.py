"""One task's status: the right task, and one character of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.markdown.parser import parse
from vaults.markdown.task_edits import set_task_status

NOTE = """---
todo: |
  - [ ] In the frontmatter
---
# Plan
- [ ] Buy milk
- [x] Buy bread
  * [ ] Deeper, 2026-11-21 #errand
1. [/] Numbered
> - [ ] In a quote
- [ ]
- [link](target)
- [[x]]
* [x]no blank
```md
- [ ] In code
~~~
- [ ] In code too
````
- [ ] Buy milk chocolate
"""


def at(line: int) -> str:
    return NOTE.split("\n")[line - 1]


@pytest.mark.parametrize(
    ("line", "status", "now"),
    [
        (6, None, "- [x] Buy milk"),
        (7, None, "- [ ] Buy bread"),
        (8, None, "  * [x] Deeper, 2026-11-21 #errand"),
        (9, None, "1. [x] Numbered"),
        (10, None, "> - [x] In a quote"),
        (11, None, "- [x]"),
        (20, None, "- [x] Buy milk chocolate"),
        (6, "cancelled", "- [-] Buy milk"),
        (6, "In_Progress", "- [/] Buy milk"),
        (7, "open", "- [ ] Buy bread"),
        (7, "done", "- [x] Buy bread"),
        (6, "!", "- [!] Buy milk"),
    ],
)
def test_only_the_status_of_the_line_changes(line: int, status: str | None, now: str) -> None:
    text, where = set_task_status(NOTE, line=line, status=status)
    assert where == line
    assert text.split("\n") == [*NOTE.split("\n")[: line - 1], now, *NOTE.split("\n")[line:]]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("match", "line"),
    [
        ("Buy milk", 6),  # the whole text wins over a part of another
        ("buy  MILK", 6),
        ("- [ ] Buy milk", 6),
        ("chocolate", 20),
        ("#errand", 8),
        ("In a quote", 10),
    ],
)
def test_a_task_is_found_by_its_words(match: str, line: int, newline: str) -> None:
    note = NOTE.replace("\n", newline)
    text, where = set_task_status(note, match=match)
    assert where == line
    assert text == note.replace(at(line) + newline, at(line).replace("[ ]", "[x]") + newline, 1)


def test_a_capital_x_is_done() -> None:
    assert set_task_status("- [X] a", line=1) == ("- [ ] a", 1)
    assert set_task_status("- [X] a", line=1, status="done") == ("- [X] a", 1)


def test_words_that_several_tasks_share_are_a_conflict_that_lists_them() -> None:
    with pytest.raises(Conflict) as conflict:
        set_task_status(NOTE, match="buy")
    assert conflict.value.details["lines"] == [6, 7, 20]
    assert "line 7: Buy bread" in (conflict.value.hint or "")


@pytest.mark.parametrize("match", ["Buy milkk", "In code", "In the frontmatter", "no blank"])
def test_words_no_task_has_are_not_found(match: str) -> None:
    with pytest.raises(NotFound):
        set_task_status(NOTE, match=match)


def test_the_closest_tasks_are_named() -> None:
    with pytest.raises(NotFound) as missing:
        set_task_status(NOTE, match="Buy mlik")
    assert missing.value.details["closest"][0] == {"line": 6, "text": "Buy milk"}


@pytest.mark.parametrize("line", [0, -1, 1, 3, 5, 16, 18, 99])
def test_a_line_without_a_task_is_not_found_but_its_neighbours_are_named(line: int) -> None:
    with pytest.raises(NotFound) as missing:
        set_task_status(NOTE, line=line)
    assert missing.value.details["closest"]


def test_line_and_words_must_agree() -> None:
    assert set_task_status(NOTE, line=20, match="milk")[1] == 20
    with pytest.raises(Conflict) as conflict:
        set_task_status(NOTE, line=7, match="Buy milk")
    assert [task["line"] for task in conflict.value.details["closest"]] == [6, 20]


@pytest.mark.parametrize("status", ["", "xy", "\n", "\t", "]", "[", "\ud800", "finished"])
def test_a_status_is_one_character_or_a_name(status: str) -> None:
    with pytest.raises(InvalidArgument, match="status"):
        set_task_status(NOTE, line=6, status=status)


@pytest.mark.parametrize("match", [None, "", "  "])
def test_some_task_must_be_meant(match: str | None) -> None:
    with pytest.raises(InvalidArgument):
        set_task_status(NOTE, match=match)


def test_a_fence_that_nothing_closes_hides_the_rest() -> None:
    with pytest.raises(NotFound):
        set_task_status("- ```\n- [ ] a\n```x\n- [ ] b\n", line=4)


def test_a_fence_ends_with_the_quote_it_stands_in() -> None:
    assert set_task_status("> ```\n> - [ ] code\n\n- [ ] task\n", match="task")[1] == 4


def test_a_line_with_backticks_on_both_sides_is_no_fence() -> None:
    assert set_task_status("```code```\n- [ ] task", line=2)[0] == "```code```\n- [x] task"


def test_a_shorter_fence_does_not_close_a_longer_one() -> None:
    with pytest.raises(NotFound):
        set_task_status("````\n```\n- [ ] code\n````\n", line=3)
    assert set_task_status("```\n````\n- [ ] task\n", line=3)[1] == 3


LINES = st.sampled_from(
    ["- [ ] a", "  - [x] b", "> 1. [/] c", "text", "", "```", "~~~~", "---", "# H", "- [ ]", "%%", "1. ```", "  ```"]
)


def test_markup_within_the_words_is_part_of_them() -> None:
    assert set_task_status("- [ ] see - [ ] below\n- [ ] see below", match="see below")[1] == 2
    with pytest.raises(NotFound):
        set_task_status("- [ ] see - [ ] below", match="see below")


def test_what_the_list_of_tasks_leaves_out_is_not_found() -> None:
    with pytest.raises(NotFound):
        set_task_status("%%\n- [ ] hidden\n%%\n", match="hidden")


@given(st.lists(LINES, max_size=25), st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 25))
def test_one_character_changes_or_nothing(lines: list[str], newline: str, line: int) -> None:
    note = newline.join(lines)
    try:
        text, where = set_task_status(note, line=line)
    except NotFound:
        return
    assert line in {task.line for task in parse(note).tasks}
    changed = [place for place, pair in enumerate(zip(note, text, strict=True)) if pair[0] != pair[1]]
    assert len(changed) == 1
    assert where == line == len(note[: changed[0]].replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert set_task_status(text, line=line, status="open")[0] == set_task_status(note, line=line, status="open")[0]
