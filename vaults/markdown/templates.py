"""Templates: text with ``{{variables}}``, filled in once. Pure.

Nothing is evaluated, and a value that holds braces stays as it is: there is no second pass. Unknown variables stay in
the text and are named in the warnings, because a template written for another program may hold its commands. Output is
bounded while it is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from vaults.errors import InvalidArgument, TooLarge
from vaults.markdown.date_formats import format_date

MAX_FILLED = 5_000_000
"""Characters of a filled template, as many as a note may have by default."""

MAX_WARNINGS = 20
"""Unknown variables to name in warnings; the rest are counted."""

DATES = {
    "date": "YYYY-MM-DD",
    "time": "HH:mm",
    "yesterday": "YYYY-MM-DD",
    "tomorrow": "YYYY-MM-DD",
    "week": "gggg-[W]ww",
}
"""Variables for the moment, with their patterns where the template gives none, as in ``{{date:DD.MM.YYYY}}``."""

_SHIFTS = {"yesterday": timedelta(days=-1), "tomorrow": timedelta(days=1)}

# Bounded repeats and no overlap between neighbours: linear, whatever the template.
_VARIABLE = re.compile(r"\{\{[ \t]{0,8}([^\W\d][\w.-]{0,63})[ \t]{0,8}(?::([^{}\r\n]{1,200}))?\}\}")


def fill_template(
    template: str, title: str, moment: datetime | date, variables: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """The template with its variables replaced, and warnings. The caller's names are case-sensitive.

    Variables are ``title``, those of ``DATES`` and the caller's ``variables``, which win over both, but not over a date
    with a pattern. Raises ``TooLarge``, and ``InvalidArgument`` for a variable that is not text.
    """
    known = {"title": title, **(variables or {})}
    if odd := [name for name, value in known.items() if not isinstance(value, str)]:
        raise InvalidArgument("variables", f"must be text: {odd[0][:64]!r} is not")
    unknown: dict[str, None] = {}
    size = len(template)

    def value_of(match: re.Match[str]) -> str:
        nonlocal size
        found = _value_of(match[1], match[2], known, moment)
        if found is None:
            unknown[match[0]] = None
            return match[0]
        size += len(found) - len(match[0])
        if size > MAX_FILLED:
            raise TooLarge(f"The filled template would have more than {MAX_FILLED} characters.")
        return found

    return _VARIABLE.sub(value_of, template), _warnings(list(unknown))


def _value_of(name: str, pattern: str | None, known: Mapping[str, str], moment: date) -> str | None:
    if pattern is None and name in known:
        return known[name]
    name = name.lower()  # as Obsidian reads its own: {{Date}}, {{TITLE}}
    if name == "title" and pattern is None:
        return known[name]
    if name not in DATES:
        return None
    try:
        return format_date((pattern or DATES[name]).strip(), moment + _SHIFTS.get(name, timedelta()))
    except (InvalidArgument, OverflowError):  # no pattern, or a day beyond the calendar
        return None


def _warnings(unknown: list[str]) -> list[str]:
    named = [f"The template's {text} is not known and was left as it is." for text in unknown[:MAX_WARNINGS]]
    rest = len(unknown) - len(named)
    return [*named, f"{rest} more variables of the template are not known."] if rest else named
