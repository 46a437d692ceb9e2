"""What pages of sign-in say."""

from __future__ import annotations

from pathlib import Path

from server.catalogue import TextFolder

TEXTS = TextFolder(Path(__file__).parent / "texts")


def say(key: str, **values: object) -> str:
    """The text of a key, in the language of the page that is being made."""
    return TEXTS.catalogue().say(key, **values)


def count(key: str, number: int) -> str:
    """The form of a text that goes with a number."""
    return TEXTS.catalogue().count(key, number)
