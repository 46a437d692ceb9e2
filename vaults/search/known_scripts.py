"""How much of a question's score is left to meaning where the model hardly reads its script. Pure."""

from __future__ import annotations

from vaults.embed.bundled import NAME as BUNDLED
from vaults.index.unspaced_scripts import RUN
from vaults.settings import SearchSettings

UNREAD_SHARE = 0.05
"""Share of ``dense_weight`` left to a question in a script without spaces: what meaning alone finds stays in order."""


def weigh_meaning(settings: SearchSettings, text: str, model: str | None) -> SearchSettings:
    """The settings for a question. The bundled model was taught English: of Chinese and Japanese it knows single
    characters, and its cosines put before what the words find what they do not."""
    if model != BUNDLED or text.isascii():
        return settings
    letters = sum(map(str.isalpha, text))
    unread = sum(len(run) for run in RUN.findall(text)) / max(1, letters)
    left = 1 - (1 - UNREAD_SHARE) * min(1.0, unread)
    return settings.model_copy(update={"dense_weight": settings.dense_weight * left})
