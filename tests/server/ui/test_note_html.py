"""Notes become HTML that can be put into a page, whatever they hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from server.ui.note_html import MAX_TEXT, NotePlaces, heading_id, render_note
from tests.work import python_steps

PLACES = NotePlaces("/ui/v/main/notes/", {"Rope": "gear/Rope.md", "b.md": "b.md", "gear/Rope.md": "gear/Rope.md"}.get)
ALLOWED = {"href", "title", "rel", "class", "id", "start", "colspan", "rowspan"}
ADDRESS = re.compile(r"(?:https?:|mailto:|#h-|/ui/v/main/notes/)")
PIECES = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    '<a href="javascript:alert(1)">x</a>', "[x](javascript:alert(1))", "[x](data:text/html,1)", "![x](http://evil/x.png)",
    "<style>*{}</style>", "<form action=/x><input name=q>", "<iframe src=//evil>", "<b style=color:red id=content>",
    "[[Rope|<b>]]", "![[Rope]]", "[[Nope#H]]", "- [ ] a", "- [x] b", "# H", "`a`", "```\n", "<!--", "-->", "\n\n", "> ",
    "| a | b |\n|--|:-:|\n| 1 | 2 |\n", "<math><mi xlink:href=javascript:1>", "<base href=//evil>",
    "[a]: javascript:x\n[a]", "\ue000 12 x\ue001", "\ue00012 x\ue001", "<a href='//evil'>", '" onclick="x',
    '<h2 id="content">', "&#x6a;avascript:", "\u202e", "\x00", "<details open ontoggle=alert(1)>",
)  # fmt: skip


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def tags_of(html: str) -> list[tuple[str, dict[str, str]]]:
    parser = Tags()
    parser.feed(html)
    parser.close()
    return parser.found


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12))
def test_nothing_a_note_holds_runs_or_leads_where_it_should_not(pieces: list[str]) -> None:
    for tag, attributes in tags_of(render_note(" ".join(pieces), PLACES).html):
        assert tag not in {
            "script",
            "style",
            "img",
            "svg",
            "form",
            "input",
            "button",
            "iframe",
            "math",
            "base",
            "object",
        }
        assert attributes.keys() <= ALLOWED, (tag, attributes)
        assert ADDRESS.match(attributes.get("href", "#h-")) or attributes["href"].startswith("//"), attributes
        assert attributes.get("id", "h-").startswith("h-")


@given(st.text(max_size=60))
def test_plain_words_stay_in_their_order(text: str) -> None:
    words = re.findall(r"[a-z]{3,}", text)
    html = render_note("x" + " ".join(words), PLACES).html
    assert re.findall(r"[a-z]{3,}", re.sub("<[^>]*>", " ", html)) == re.findall(r"[a-z]{3,}", "x" + " ".join(words))


def test_links_lead_to_the_notes_they_mean() -> None:
    html = render_note("[[Rope#Knots|knots]] [[Nope]] [b](b.md#One%20two) [c](/gear/Rope.md) [[#Here]]", PLACES).html
    links = [attributes for tag, attributes in tags_of(html) if tag == "a"]
    assert [each["href"] for each in links] == [
        "/ui/v/main/notes/gear/Rope.md#h-knots",
        "/ui/v/main/notes/Nope",
        "/ui/v/main/notes/b.md#h-one-two",
        "/ui/v/main/notes/gear/Rope.md",
        "#h-here",
    ]
    assert [each.get("class") for each in links] == ["wiki", "wiki missing", None, None, "wiki"]


@pytest.mark.parametrize("text", ["[[../../../oauth/sign-out]]", "[x](../../../admin/)", "[[a/./../../b]]"])
def test_no_link_steps_out_of_the_notes(text: str) -> None:
    (href,) = [attributes["href"] for tag, attributes in tags_of(render_note(text, PLACES).html) if tag == "a"]
    assert href.startswith(PLACES.base)
    assert not {".", ".."}.intersection(unquote(href).split("/"))


def test_a_link_in_code_is_no_link() -> None:
    assert "<a" not in render_note("`[[Rope]]`\n\n    [[Rope]]\n", PLACES).html


def test_a_picture_is_not_loaded_but_named() -> None:
    html = render_note("![A knot](http://evil.example/k.png)", PLACES).html
    assert 'class="embed"' in html
    assert "<img" not in html


def test_boxes_know_their_line() -> None:
    seen: list[tuple[int, str]] = []

    def tick(line: int, status: str) -> str:
        seen.append((line, status))
        return "BOX "

    text = "Intro\n\n- [ ] one\n- no\n  - [x] two\n\n1. [/] three\n\n[ ] none\n"
    html = render_note(text, PLACES, tick, first_line=4).html  # type: ignore[arg-type]
    assert seen == [(6, " "), (8, "x"), (10, "/")]
    assert "BOX one" in html


def test_a_note_cannot_make_a_box_itself() -> None:
    made: list[int] = []
    render_note("a \ue0007 x\ue001 b", PLACES, lambda line, _: made.append(line) or "")  # type: ignore[arg-type, func-returns-value, return-value]
    for spelt in ("&#xe000;7 x&#xe001;", "&#xe000;0123456789abcdef 7 x&#xe001;", "<b>&#xe000;7 x&#xe001;</b>"):
        render_note(f"a {spelt} b", PLACES, lambda line, _: made.append(line) or "")  # type: ignore[arg-type, func-returns-value, return-value]
    assert made == []


def test_a_box_is_never_put_into_an_attribute() -> None:
    left_open = '<div><a href="http://x" title="\n\n- [ ] foo\n\n<h2 id="x">k</h2></a></div>\n'
    html = render_note(left_open, PLACES, lambda line, _: Markup('<button name="task" value="{}">').format(line)).html
    assert "foo" in html
    assert "<button" not in html


def test_no_heading_takes_the_id_of_a_part_of_the_page() -> None:
    html = render_note('<h2 id="form-tick">a</h2>\n\n<h2 id="content">b</h2>\n\n## c\n', PLACES).html
    assert re.findall('id="([^"]*)"', html) == ["h-c"]


def test_headings_of_one_name_have_two_ids() -> None:
    outline = render_note("# A *b*\n\n## A b\n", PLACES).outline
    assert [(each.level, each.text, each.id) for each in outline] == [(1, "A b", "h-a-b"), (2, "A b", "h-a-b-2")]
    assert heading_id("  ") == "h-heading"


def test_what_turns_text_around_is_named() -> None:
    assert "[U+202E]" in render_note("a\u202eb", PLACES).html


@pytest.mark.parametrize(
    "piece", ["[", "[[", "[a](", "![a](", "*a ", "*_", "<b>", "> ", "- ", "|a", "`", "<!--", "&", "\\"]
)
def test_what_is_repeated_costs_no_more_than_in_proportion(piece: str) -> None:
    few, many = 1_000 // len(piece), 4_000 // len(piece)
    render_note(piece * few, PLACES)
    one = python_steps(lambda: render_note(piece * few, PLACES))
    four = python_steps(lambda: render_note(piece * many, PLACES))
    assert four < 8 * one + 20_000


def test_no_more_is_rendered_than_a_page_holds() -> None:
    assert len(render_note("a" * (2 * MAX_TEXT), PLACES).html) < MAX_TEXT + 100
