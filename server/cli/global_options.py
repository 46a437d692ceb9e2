"""Global options may stand before or after the command: they are moved to the front before parsing."""

from __future__ import annotations

from collections.abc import Sequence

GLOBAL_OPTIONS = ("--data", "--config", "--log-level", "--log-format")

FLAG_OPTIONS = frozenset({
    "--help", "--json", "--read-only", "--no-agents", "--watch", "--no-watch", "--markdown", "--repair", "--verbose",
    "--admin", "--no-first-token", "--no-backup", "--version", "--dry-run", "--once", "--wait", "--harvest",
    "--private", "--undo", "--log", "--compact", "--empty-copies", "--control", "--grants", "--replace",
    "--installation", "--print", "--hooks", "--print-sql", "--vaults",
})  # fmt: skip
"""Options of any command that take no value. The word after any other option is its value and is left alone, whatever
it looks like. A test compares this with the commands."""


def hoist_global_options(argv: Sequence[str]) -> list[str]:
    """The same arguments, global options first. Nothing after ``--`` is touched."""
    front: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            return [*front, *rest, word, *words]
        target = front if word.split("=", 1)[0] in GLOBAL_OPTIONS else rest
        target.append(word)
        if word.startswith("--") and "=" not in word and word not in FLAG_OPTIONS:
            target.extend(value for value in [next(words, None)] if value is not None)
    return [*front, *rest]
