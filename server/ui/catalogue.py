"""What pages of the console say."""

from __future__ import annotations

from pathlib import Path

from server.catalogue import Catalogue, TextFolder

TEXTS = TextFolder(Path(__file__).parent / "texts")


def load_catalogue(language: str | None = None) -> Catalogue:
    """The texts of a language; None: of the page that is being made."""
    return TEXTS.catalogue(language)
