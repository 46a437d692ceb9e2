"""The filters of templates. Each charges what it reads and writes to the budget of its rendering."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

MAX_WORK = 2_000_000
"""Max cost of one rendering, in characters and steps."""

MAX_SECONDS = 2.0
MAX_OUTPUT = 200_000
"""Max characters of one rendering's output."""

MAX_INDENT = 40
MAX_DAYS = 36_600

_DIRECTIVES = frozenset("YmdHMSyjVGuaAbBpI%")
"""strftime directives that ``date`` accepts: none that differ between systems."""

_NO_SLUG = re.compile(r"[^\w]+")


class TemplateRefused(ValueError):
    """A value does not fit, or a template is too costly. The message says which, and contains no values."""


@dataclass(slots=True)
class RenderBudget:
    """What one rendering may still cost. ``until``: deadline on the monotonic clock."""

    work: int = MAX_WORK
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def spend(self, amount: int) -> None:
        """Charge an amount. Raises ``TemplateRefused`` when the budget is used up."""
        self.work -= amount
        if self.work < 0:
            raise TemplateRefused("costs too much: it loops over too much, or its values are too long")
        if time.monotonic() > self.until:
            raise TemplateRefused(f"takes longer than {MAX_SECONDS:g} s")


def to_text(value: object) -> str:
    """A value as text: '' for None, items joined by commas for a list. Raises ``TemplateRefused`` for a mapping."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(to_text(each) for each in value)
    raise TemplateRefused("writes out a value of several parts: name the part, such as task.text")


def _text(value: object, budget: RenderBudget) -> str:
    text = to_text(value)
    budget.spend(len(text) + 1)
    return text


def _upper(value: object, budget: RenderBudget) -> str:
    return _text(value, budget).upper()


def _lower(value: object, budget: RenderBudget) -> str:
    return _text(value, budget).lower()


def _title(value: object, budget: RenderBudget) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in _text(value, budget).split(" "))


def _capitalize(value: object, budget: RenderBudget) -> str:
    text = _text(value, budget)
    return text[:1].upper() + text[1:]


def _trim(value: object, budget: RenderBudget) -> str:
    return _text(value, budget).strip()


def _string(value: object, budget: RenderBudget) -> str:
    return _text(value, budget)


def _replace(value: object, budget: RenderBudget, old: object, new: object) -> str:
    text, before, after = _text(value, budget), _text(old, budget), _text(new, budget)
    if not before:
        raise TemplateRefused("replaces an empty text")
    budget.spend(text.count(before) * len(after))
    return text.replace(before, after)


def _default(value: object, budget: RenderBudget, other: object = "") -> object:
    budget.spend(1)
    return other if value in (None, "", []) else value


def _join(value: object, budget: RenderBudget, between: object = ", ") -> str:
    items, glue = _items(value), _text(between, budget)
    budget.spend(len(items) * (len(glue) + 1))
    return glue.join(_text(each, budget) for each in items)


def _first(value: object, budget: RenderBudget) -> object:
    budget.spend(1)
    items = value if isinstance(value, str) else _items(value)
    return items[0] if items else None


def _last(value: object, budget: RenderBudget) -> object:
    budget.spend(1)
    items = value if isinstance(value, str) else _items(value)
    return items[-1] if items else None


def _length(value: object, budget: RenderBudget) -> int:
    budget.spend(1)
    return len(value if isinstance(value, str) else _items(value)) if value is not None else 0


def _indent(value: object, budget: RenderBudget, width: object = 4) -> str:
    text = _text(value, budget)
    if isinstance(width, bool) or not isinstance(width, int) or not 0 <= width <= MAX_INDENT:
        raise TemplateRefused(f"indents by something else than 0 to {MAX_INDENT}")
    budget.spend(text.count("\n") * width)
    return text.replace("\n", "\n" + " " * width)


def _slug(value: object, budget: RenderBudget) -> str:
    plain = unicodedata.normalize("NFKD", _text(value, budget))
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    return _NO_SLUG.sub("-", plain.lower()).replace("_", "-").strip("-")


def _date(value: object, budget: RenderBudget, form: object = "%Y-%m-%d") -> str:
    shape = _text(form, budget)
    if len(shape) > 100 or any(each[:1] not in _DIRECTIVES for each in _directives(shape)):
        raise TemplateRefused(f"writes a date with something else than %{', %'.join(sorted(_DIRECTIVES - {'%'}))}")
    return _moment(_text(value, budget)).strftime(shape)


def _directives(form: str) -> list[str]:
    return [form[at + 1 : at + 2] or "?" for at in _percents(form)]


def _percents(form: str) -> list[int]:
    found, at = [], 0
    while (at := form.find("%", at)) >= 0:
        found.append(at)
        at += 2
    return found


def _days(value: object, budget: RenderBudget, number: object) -> str:
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > MAX_DAYS:
        raise TemplateRefused(f"goes on by something else than up to {MAX_DAYS} days")
    text = _text(value, budget)
    try:
        moved = _moment(text) + timedelta(days=number)
    except OverflowError:
        raise TemplateRefused("goes on to a day that no calendar has") from None
    return moved.isoformat(timespec="seconds") if "T" in text else moved.date().isoformat()


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text) if "T" in text else datetime.combine(date.fromisoformat(text), _MIDNIGHT)
    except ValueError:
        raise TemplateRefused("reads a date that is none: YYYY-MM-DD, or with a time behind T") from None


_MIDNIGHT = datetime.min.time()


def _items(value: object) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    if value is None:
        return ()
    raise TemplateRefused("takes something for a list that is none")


FILTERS: Mapping[str, Callable[..., object]] = {
    "upper": _upper,
    "lower": _lower,
    "title": _title,
    "capitalize": _capitalize,
    "trim": _trim,
    "string": _string,
    "replace": _replace,
    "default": _default,
    "join": _join,
    "first": _first,
    "last": _last,
    "length": _length,
    "indent": _indent,
    "slug": _slug,
    "date": _date,
    "days": _days,
}


def charge_loop(value: object, budget: RenderBudget, cost: int) -> Sequence[Any]:
    """The items of a loop, charged before it begins. ``cost``: of one iteration."""
    items = _items(value)
    budget.spend(len(items) * cost)
    return items
