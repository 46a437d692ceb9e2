"""What people call a browser, from what it says of itself at each request (``User-Agent``)."""

from __future__ import annotations

_PROGRAMS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Vivaldi/", "Vivaldi"), ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"), ("Firefox/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
"""A mark and the name it stands for: most say that they are others, too, so the first that is found counts."""

_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Mac OS X", "Mac"), ("Linux", "Linux"),
)  # fmt: skip


def name_browser(said: str) -> str:
    """``Firefox, Windows``; what says of itself nothing that is known stays as it is."""
    program = next((name for mark, name in _PROGRAMS if mark in said), None)
    if program is None or not said.startswith("Mozilla/"):
        return said
    system = next((name for mark, name in _SYSTEMS if mark in said), None)
    return program if system is None else f"{program}, {system}"
