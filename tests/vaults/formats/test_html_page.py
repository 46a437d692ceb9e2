"""HTML: ``vaults.formats.html_content``, ``vaults.formats.section_builder``."""

from __future__ import annotations

import pytest

from tests.vaults.formats.made_files import read

PAGE = """<!doctype html><html lang="en"><head><title>Guide – Site</title><meta name="author" content="Ann">
<meta property="og:title" content="Guide"><meta property="article:published_time" content="2024-01-02T03:04:05Z">
<link rel="canonical" href="https://example.org/guide"><style>p {}</style></head>
<body><header>Site <a href="/">Home</a></header><nav><ul><li>Menu</li></ul></nav>
<div class="cookie-banner">We use cookies</div>
<div class="page has-sidebar"><main><h1>Guide</h1><p>See <a href="https://example.org/docs">the <b>docs</b></a>,
<a href="#x">here</a>.</p><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
<h2>Costs</h2><table><tr><th>Item</th><th>Cost</th></tr><tr><td>A|B</td><td>1</td></tr></table>
<pre>x = 1\n  y</pre>after<script>var hidden</script></main></div><footer>Imprint</footer></body></html>"""


def test_the_main_content_comes_by_its_headings() -> None:
    parsed = read(PAGE.encode(), "guide.html")
    assert [(part.heading, part.text) for part in parsed.parts] == [
        ("Guide", "See the docs (https://example.org/docs), here.\n\n- one\n  - inner\n- two"),
        ("Guide › Costs", "| Item | Cost |\n| A\\|B | 1 |\n\n```\nx = 1\n  y\n```\n\nafter"),
    ]


def test_the_head_says_title_author_and_date() -> None:
    parsed = read(PAGE.encode(), "guide.html")
    assert (parsed.title, parsed.author, parsed.created_at) == ("Guide", "Ann", "2024-01-02T03:04:05.000Z")
    assert parsed.metadata == {"language": "en", "canonical": "https://example.org/guide"}


@pytest.mark.parametrize(
    "body",
    [
        "<nav><p>All there is on this page is navigation.</p></nav>",
        '<div id="sidebar"><h1>Framed</h1><p>All there is on this page is in a frame of that name.</p></div>',
        "<header><h1>A title of a page in its header</h1></header>",
        "<p>Enough words of content to be kept</p><nav>Menu</nav>\x01 this page has control characters",
    ],
)
def test_a_page_never_loses_all_it_says(body: str) -> None:
    parsed = read(f"<html><body>{body}</body></html>".encode())
    assert any("page" in part.text for part in parsed.parts)


def test_a_table_for_layout_is_no_table() -> None:
    page = "<table><tr><td><p>Left</p></td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>"
    assert read(page.encode(), "a.html").parts[0].text == "Left\n\n| a | b |"


def test_what_is_nested_deep_keeps_its_text() -> None:
    page = b"<html><title>T</title><script>x</script>" + b"<div>" * 100_000 + b"deep &amp; down" + b"</div>" * 100_000
    parsed = read(page + b"<p>after", "a.html")
    assert "deep & down" in parsed.parts[0].text
    assert "after" in parsed.parts[0].text
    assert "<div>" not in parsed.parts[0].text
    assert parsed.warnings == ("nested too deep: read without its structure",)


def test_the_encoding_a_page_declares_counts() -> None:
    page = '<html><head><meta charset="windows-1251"></head><body>Привет, мир</body></html>'
    assert read(page.encode("cp1251"), "a.html").parts[0].text == "Привет, мир"


def test_a_word_with_soft_hyphens_is_one_word() -> None:
    (part,) = read(b"<html><body><p>The Donau&shy;dampf&#xad;schiff leaves at noon.</p></body></html>").parts
    assert part.text == "The Donaudampfschiff leaves at noon."
