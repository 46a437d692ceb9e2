"""PDF, also such as nobody should have made; with ``vaults.formats.number_ranges`` and ``vaults.formats.line_ends``."""

from __future__ import annotations

import pytest

from tests.vaults.formats.made_files import assemble_pdf, make_pdf, read
from vaults.formats.line_ends import LineEnds
from vaults.formats.number_ranges import describe_numbers
from vaults.formats.parsed_document import ParseFailed, ParseLimits


def test_each_page_is_a_part_and_the_file_says_who_and_when() -> None:
    parsed = read(make_pdf(["Buy bread.", "Buy milk."], title="Errands"))
    assert [(part.text, part.locator) for part in parsed.parts] == [("Buy bread.", "page 1"), ("Buy milk.", "page 2")]
    assert (parsed.format, parsed.title, parsed.author) == ("pdf", "Errands", "Dee")
    assert parsed.created_at == "2024-01-02T02:04:05.000Z"


def test_the_outline_gives_headings_and_cuts_a_page_at_their_lines() -> None:
    data = make_pdf(["Scope\nAll of it.\n2 Costs\nTen.", "Twelve."], outline=[("Scope", 0), ("2  Costs", 0)])
    assert [(part.heading, part.text, part.locator) for part in read(data).parts] == [
        ("Scope", "Scope\nAll of it.", "page 1"),
        ("2 Costs", "2 Costs\nTen.", "page 1"),
        ("2 Costs", "Twelve.", "page 2"),
    ]


def test_pages_without_a_text_layer_are_named() -> None:
    parsed = read(make_pdf(["Words.", "", "", "More.", ""]))
    assert parsed.warnings == ("without a text layer, so scanned or drawn: pages 2–3, 5",)
    with pytest.raises(ParseFailed, match="pages 1–2") as refused:
        read(make_pdf(["", ""]))
    assert refused.value.problem == "empty"


def test_ten_thousand_pages_are_read_up_to_the_limit() -> None:
    parsed = read(make_pdf(["Words."] * 10_000), limits=ParseLimits(pages=20))
    assert len(parsed.parts) == 20
    assert parsed.warnings == ("only the first 20 of 10000 pages were read",)


def test_an_encrypted_file_says_so() -> None:
    lock = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'00' * 32}> /U <{'00' * 32}> /P -4 >> /ID [<00> <00>]"
    with pytest.raises(ParseFailed) as refused:
        read(make_pdf(["Secret."], trailer=lock))
    assert refused.value.problem == "encrypted"


@pytest.mark.parametrize("kept", [8, 40, 300])
def test_a_truncated_file_is_damaged_or_read_as_far_as_it_goes(kept: int) -> None:
    with pytest.raises(ParseFailed) as refused:
        read(make_pdf(["Words."])[:kept])
    assert refused.value.problem in ("damaged", "empty")


def test_a_file_that_holds_itself_ends() -> None:
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
    )
    form = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 5 >>"
    data = assemble_pdf(
        {
            1: "<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
            2: "<< /Type /Pages /Count 2 /Kids [3 0 R 2 0 R] /Parent 2 0 R >>",
            3: page,
            4: "<< /Length 5 >>\nstream\n/X Do\nendstream",
            5: f"{form}\nstream\n/X Do\nendstream",
            6: "<< /First 7 0 R /Last 7 0 R >>",
            7: "<< /Title (Again) /Parent 7 0 R /First 7 0 R /Next 7 0 R /Dest [3 0 R /Fit] >>",
        }
    )
    with pytest.raises(ParseFailed) as refused:
        read(data)
    assert refused.value.problem in ("damaged", "empty")


def test_numbers_are_told_as_ranges() -> None:
    assert describe_numbers("page", [4]) == "page 4"
    assert describe_numbers("page", [1, 2, 3, 7]) == "pages 1–3, 7"
    assert describe_numbers("page", range(1, 99, 2)).endswith("39, …")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("An impor-\ntant result", "An important result"),
        ("Gene therapy: the-\nrapy by genes", "therapy by genes"),
        ("A world-\nrenowned tower, renowned for its height", "A world-renowned tower"),
        ("A follow-up visit, and the next follow-\nup", "the next follow-up"),
        ("The Ankle-\nBrachial index", "The Ankle-Brachial index"),
        ("A HER-\npositive tumour", "A HER-positive tumour"),
        ("Of pre-\nand postnatal care", "Of pre- and postnatal care"),
        ("The T-\ncells", "The T-cells"),
        ("In three-\ndimensional space", "In three-dimensional space"),
        ("It is high-\ner there", "It is higher there"),
        ("An evidence-\nbased view", "An evidence-based view"),
    ],
)
def test_a_word_divided_at_the_end_of_a_line_keeps_a_hyphen_that_is_its_own(lines: str, said: str) -> None:
    (part,) = read(make_pdf([lines])).parts
    assert said in part.text


def test_the_number_of_a_page_is_not_glued_to_a_word_that_goes_on_overleaf() -> None:
    first, second, _ = read(make_pdf(["It was inter-\n1", "rupted, and inter-", "rupted again."])).parts
    assert (first.text, second.text) == ("It was inter-\n1", "rupted, and inter-")


def test_what_a_document_says_on_an_earlier_page_tells_how_a_word_is_spelt() -> None:
    parts = read(make_pdf(["A long-term plan", "No long-\nterm plan"])).parts
    assert parts[1].text == "No long-term plan"


def test_line_ends_take_time_that_grows_with_the_page() -> None:
    page = "a" * 300_000 + "-" + "\x02" * 300_000 + " " * 300_000 + "b\x02" * 100_000
    assert "\x02" not in LineEnds().mend(page)
    assert LineEnds().mend("Donau\u00ad\nufer und im\u00adpor") == "Donauufer und im\u00adpor"


def test_a_title_over_the_first_page_is_the_heading_of_what_stands_below() -> None:
    parts = read(make_pdf(["Of Tides\nand Moons\nIt rises.", "It falls."], title="Of tides and moons")).parts
    assert [(part.heading, part.text) for part in parts] == [("Of tides and moons", "It rises."), (None, "It falls.")]
    for page in ("Of Tides\nand Suns\nIt rises.", "Of Tides\nand Moons", "It rises."):
        (part,) = read(make_pdf([page], title="Of tides and moons")).parts
        assert (part.heading, part.text) == (None, page)
