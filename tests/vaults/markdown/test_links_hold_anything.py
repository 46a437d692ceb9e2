"""What may stand within a wiki link, against a reader of one line that is written in another way: sign by sign."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaults.markdown.parser import parse

Read = tuple[str, str, str]
"""Target, what follows ``#``, and the words of a link."""

INSIDE = st.sampled_from(
    [
        "`id`", "``a`b``", "`a]]b`", "`a|b`", "`[[no]]`", "`", "``", "\\`", "\\", "*em*", "**strong**", "~~gone~~",
        "==mark==", "[x]", "[", "]", "[x](y)", "![x](y.png)", "<b>t</b>", "<br>", "<!-- c -->", "%%c%%", "$x_1$", "|",
        "\\|", "&amp;", "#", "#tag", "^b1", "^[note]", "[^1]", "{{t}}", "@who", "a", "b c", " ", "👩‍👧", "\t", "http://a.b",
    ]
)  # fmt: skip
WORDS = st.lists(INSIDE, max_size=5).map("".join)
LINKS = st.builds(
    lambda target, heading, alias: f"[[{target}{heading}{alias}]]",
    st.sampled_from(["A", "A b", "", "d/e"]),
    st.one_of(st.just(""), WORDS.map(lambda text: f"#{text}")),
    st.one_of(st.just(""), WORDS.map(lambda text: f"|{text}")),
)
LINES = st.lists(st.one_of(LINKS, LINKS, INSIDE), min_size=1, max_size=4).map(lambda parts: "x" + "".join(parts))


def code_of(line: str) -> list[bool]:
    """For each sign, whether it is of code between backticks."""
    mask, at = [False] * len(line), 0
    while at < len(line):
        for opener, closer in (("<!--", "-->"), ("%%", "%%")):
            if line.startswith(opener, at) and line.find(closer, at + len(opener)) >= 0:
                at = line.find(closer, at + len(opener)) + len(closer)
                break
        else:
            at = _past_code(line, at, mask)
    return mask


def _past_code(line: str, at: int, mask: list[bool]) -> int:
    if line[at] == "\\" and at + 1 < len(line):
        return at + 2
    if line[at] != "`":
        return at + 1
    run = re.compile("`+").match(line, at)
    assert run is not None
    for close in re.finditer("`+", line[run.end() :]):
        if len(close[0]) == len(run[0]):
            end = run.end() + close.end()
            mask[at:end] = [True] * (end - at)
            return end
    return run.end()


def read_by_sign(line: str) -> list[Read]:
    code, found, at = code_of(line), [], 0
    while at < len(line):
        link = _link_at(line, code, at)
        if link is None:
            at += 1
            continue
        read, at = link
        if read[0] or read[1].strip():
            found.append(read)
    return found


def _link_at(  # noqa: C901  one sign after the other
    line: str, code: list[bool], start: int
) -> tuple[Read, int] | None:
    def mark(at: int, sign: str) -> bool:
        return line.startswith(sign, at) and not any(code[at : at + len(sign)])

    def run(at: int, stops: str, *, coded: bool) -> int:
        while at < len(line) and (coded if code[at] else line[at] not in stops):
            at += 1
        return at

    if not mark(start, "[["):
        return None
    at = run(start + 2, "[]|#", coded=False)
    target, heading, alias = line[start + 2 : at], "", None
    if mark(at, "#"):
        end = run(at + 1, "[]|", coded=True)
        heading, at = line[at + 1 : end], end
    if mark(at, "|"):
        end = at + 1
        while end < len(line) and not mark(end, "[[") and not mark(end, "]]"):
            end += 1
        alias, at = line[at + 1 : end], end
    if not mark(at, "]]"):
        return None
    if alias is not None:  # `\|`, as tables have it
        target, heading = (target, heading.removesuffix("\\")) if heading else (target.removesuffix("\\"), heading)
    return (target.strip(), heading, (alias or "").strip()), at + 2


def as_one(heading: str, block: str) -> str:
    return re.sub(r"[#^\s]", "", f"{heading}{block}")


@given(LINES)
@example("x[[Task Dependencies#`id`|id]]")
@example("x[[A#`a|b`|c]] [[B|`]]`]]")
@example("x[[A|b](c)]]")
def test_anything_may_stand_in_a_link(line: str) -> None:
    links = [link for link in parse(line).links if link.kind == "wiki"]
    expected = read_by_sign(line)
    assert [(link.target, as_one(link.heading, link.block), link.alias) for link in links] == [
        (target, as_one(heading, ""), alias) for target, heading, alias in expected
    ]
    for link in links:
        assert line[link.target_start : link.target_end] == link.target
        assert line[link.start : link.end].endswith("]]")


@pytest.mark.parametrize(
    ("text", "heading", "alias"),
    [
        ("[[Task Dependencies#`id`|id]]", "`id`", "id"),
        ("[[Task Dependencies#the `id` of it]]", "the `id` of it", ""),
        ("| [[Task Dependencies#`id`\\|`x`]] |", "`id`", "`x`"),
        ("<!-- [[Task Dependencies#`id`]] -->", "`id`", ""),
    ],
)
def test_code_in_a_heading_is_part_of_the_link(text: str, heading: str, alias: str) -> None:
    assert [(link.target, link.heading, link.alias) for link in parse(text).links] == [
        ("Task Dependencies", heading, alias)
    ]


@pytest.mark.parametrize("text", ["[[A#`b\nc`]]", "[[A|`b\nc`]]", "[[A#b\n```\nc\n```\n]]"])
def test_no_link_goes_on_into_the_next_line(text: str) -> None:
    assert parse(text).links == ()


def test_the_brackets_of_a_wiki_link_begin_no_other() -> None:
    assert [(link.kind, link.target) for link in parse("[[A|b](c)]] [d](e)").links] == [
        ("wiki", "A"),
        ("markdown", "e"),
    ]
