"""E-mail, with ``vaults.formats.mbox``."""

from __future__ import annotations

from email.message import EmailMessage

from tests.vaults.formats.made_files import read


def make_message(text: str = "Hello Bob.", subject: str = "Größe") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Änn <ann@example.org>", "bob@example.org"
    message["Subject"], message["Date"] = subject, "Tue, 02 Jan 2024 03:04:05 +0100"
    message.set_content(text)
    return message


def test_a_message_says_who_when_and_what() -> None:
    message = make_message()
    message.add_alternative("<p>Hello in HTML</p>", subtype="html")
    message.add_attachment(b"\0", maintype="application", subtype="pdf", filename="offer.pdf")
    parsed = read(bytes(message), "a.eml")
    (part,) = parsed.parts
    assert (part.heading, part.author, part.at) == ("Größe", "Änn <ann@example.org>", "2024-01-02T02:04:05.000Z")
    assert part.text == "To: bob@example.org\n\nHello Bob."
    assert parsed.title == "Größe"
    assert parsed.warnings == ("attachments were not read: offer.pdf (application/pdf)",)


def test_html_alone_is_read_as_a_page() -> None:
    message = make_message()
    message.set_content("<h1>News</h1><p>Hello <b>all</b></p>", subtype="html")
    assert "Hello all" in read(bytes(message), "a.eml").parts[0].text


def test_a_message_within_a_message_is_a_part_of_its_own() -> None:
    outer = make_message("See below.", "Fwd")
    outer.add_attachment(make_message("The inner one.", "Inner"))
    assert [part.heading for part in read(bytes(outer), "a.eml").parts] == ["Fwd", "Inner"]


def test_an_archive_has_its_messages_in_order() -> None:
    first, second = make_message("One.\n\n>From here on.", "First"), make_message("Two.", "Second")
    data = b"".join(
        b"From ann@example.org Tue Jan  2 03:04:05 2024\n" + bytes(each) + b"\n" for each in (first, second)
    )
    parsed = read(data, "archive")
    assert parsed.format == "mbox"
    assert [(part.heading, part.locator) for part in parsed.parts] == [("First", "message 1"), ("Second", "message 2")]
    assert parsed.parts[0].text.endswith("One.\n\nFrom here on.")


def test_a_message_without_order_is_still_read() -> None:
    parsed = read(
        b"Subject: =?\xff?q?=FF?=\nFrom: \xff\nDate: soon\nContent-Type: text/plain; charset=no-such\n\nText \xe4",
        "a.eml",
    )
    assert parsed.parts[0].text == "Text ä"
    assert parsed.created_at is None
