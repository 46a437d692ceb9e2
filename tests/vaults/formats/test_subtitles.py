"""Subtitles."""

from __future__ import annotations

from tests.vaults.formats.made_files import read

SRT = "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i>\nthere\n\n2\n00:00:03,000 --> 00:00:04,000\nBye\n"
VTT = (
    "WEBVTT\n\nNOTE nothing\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>Good &amp; well\n\n"
    "id\n01:00:02.000 --> 01:00:03.000\nAnn: Good & well\nnext\n"
)


def test_what_is_said_comes_with_its_time() -> None:
    parsed = read(SRT.encode(), "talk")
    assert [(part.text, part.locator) for part in parsed.parts] == [("Hello\nthere\nBye", "00:00:01–00:00:04")]
    assert (parsed.format, parsed.mime) == ("subtitles", "application/x-subrip")


def test_speakers_are_kept_and_a_line_that_stays_is_said_once() -> None:
    parsed = read(VTT.encode(), "talk.vtt")
    assert [(part.text, part.locator) for part in parsed.parts] == [("Ann: Good & well\nnext", "00:00:01–01:00:03")]


def test_a_long_talk_comes_in_stretches() -> None:
    cues = "".join(
        f"00:{number:02}:00.000 --> 00:{number:02}:30.000\n{f'word{number} ' * 30}\n\n" for number in range(30)
    )
    parsed = read(f"WEBVTT\n\n{cues}".encode(), "talk.vtt")
    assert len(parsed.parts) > 3
    assert parsed.parts[0].locator == "00:00:00–00:07:30"
