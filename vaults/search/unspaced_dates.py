"""The span of time a Japanese or Chinese question names. Pure. There are no spaces to tell where a word ends, so each
pattern says what may not stand beside it: "前天" is the day before yesterday, but not in "出发前天气"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from vaults.search.foreign_dates import last_few, read_day_or_month
from vaults.search.time_spans import TimeSpan, calendar_span, open_end, units_back

_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "週": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九十")} | {"两": 2, "兩": 2}
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6} | {
    "月": 0, "火": 1, "水": 2, "木": 3, "金": 4, "土": 5,
}  # fmt: skip

_COUNT = r"(?P<count>\d{1,3}|十?[一二三四五六七八九两兩]|十)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = r"(?P<month>1[0-2]|0?[1-9])"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"

Reader: TypeAlias = Callable[[re.Match[str], datetime], TimeSpan]


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    span: TimeSpan
    sure: bool


def find_unspaced_span(text: str, now: datetime) -> tuple[TimeSpan, int, int] | None:
    """The span of time named first, and where the words that name it begin and end; None when it names none."""
    found = list(_named_dates(text, now))
    for index, first in enumerate(found):
        second = found[index + 1] if index + 1 < len(found) else None
        if second and (joined := _JOIN.fullmatch(text, first.end, second.start)):
            opened, closed = _OPEN.search(text, 0, first.start), _CLOSE.match(text, second.end)
            if (opened or joined["japanese"] or (closed and closed["between"])) and _in_order(first, second):
                start = opened.start() if opened else first.start
                span = TimeSpan(first.span.since, second.span.until)
                return span, start, closed.end() if closed else second.end
        before, after = _BEFORE.search(text, 0, first.start), _AFTER.match(text, first.end)
        word = _relation(before, after)
        if first.sure or word:
            start = before.start() if before else first.start
            return open_end(word, first.span), start, after.end() if after else first.end
    return None


def _in_order(first: _Found, second: _Found) -> bool:
    return first.span.since < second.span.until


def _named_dates(text: str, now: datetime) -> Iterator[_Found]:
    """Dates in order; of overlapping ones the first to begin, then the longest. A month that follows "2024年1月から"
    is of the same year."""
    every = [
        _Found(match.start(), match.end(), span, sure)
        for pattern, reader, sure in _RULES
        for match in pattern.finditer(text)
        if (span := _read(reader, match, now)) is not None
    ]
    end, year = 0, None
    for found in sorted(every, key=lambda found: (found.start, -found.end)):
        if found.start < end:
            continue
        joined = year is not None and _JOIN.fullmatch(text, end, found.start)
        shown = _in_year(text, found, year) if joined and year is not None else found
        end = shown.end
        year = shown.span.since.year if "年" in text[shown.start : shown.end] else None
        yield shown


def _in_year(text: str, found: _Found, year: int) -> _Found:
    """A month, or a month and a day, in a year that was named before."""
    named = _MONTH_ONLY.fullmatch(text, found.start, found.end)
    span = _read(_read_date, named, datetime(year, 12, 31, tzinfo=UTC)) if named else None
    return _Found(found.start, found.end, span, sure=True) if span else found


def _read(reader: Reader, match: re.Match[str], now: datetime) -> TimeSpan | None:
    try:
        return reader(match, now)
    except (ValueError, OverflowError):  # 30 February
        return None


def _relation(before: re.Match[str] | None, after: re.Match[str] | None) -> str:
    """What stands around the date says; of both, what follows."""
    names = ("since", "until", "before", "after", "in")
    for match in (after, before):
        found = next((name for name in names if match and match.groupdict().get(name)), "")
        if found:
            return found
    return ""


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    return 10 + _DIGITS[text[1]] if len(text) == 2 else _DIGITS[text]


def _ago(days: int) -> Reader:
    return lambda _match, now: calendar_span("day", now.date() - timedelta(days=days))


def _calendar(unit: str, back: int) -> Reader:
    return lambda _match, now: calendar_span(unit, units_back(unit, now.date(), back))


def _read_date(match: re.Match[str], now: datetime) -> TimeSpan:
    named = match.groupdict()
    day, year = named.get("day"), named.get("year")
    return read_day_or_month(int(day) if day else None, int(match["month"]), int(year) if year else None, now)


def _read_year(match: re.Match[str], _now: datetime) -> TimeSpan:
    return calendar_span("year", date(int(match["year"]), 1, 1))


def _read_quarter(match: re.Match[str], _now: datetime) -> TimeSpan:
    return calendar_span("quarter", date(int(match["year"]), _number(match["quarter"]) * 3 - 2, 1))


def _read_weekday(match: re.Match[str], now: datetime) -> TimeSpan:
    """A weekday of this week or the last; the latest, where neither is named."""
    number, which = _WEEKDAYS[match["weekday"]], match.groupdict().get("which") or ""
    monday = now.date() - timedelta(days=now.weekday())
    if which.startswith(("上", "先")):
        return calendar_span("day", monday + timedelta(days=number - 7))
    if which:
        return calendar_span("day", monday + timedelta(days=number))
    return calendar_span("day", now.date() - timedelta(days=(now.weekday() - number) % 7))


_NOT_WEEK = r"(?![围圍期转轉边邊刊密全易详詳末])"
_WEEK = "(?:周|週|个星期|星期|个礼拜|礼拜)"
_AGO_UNIT = r"(?:(?P<unit>天|日|周|週|年)|(?:个|個|か|ヶ|ヵ|カ|箇)?(?P<unit_2>月|星期|礼拜))"


def _rules() -> Iterator[tuple[str, Reader, bool]]:
    yield r"今日(?!头条|頭條)|本日|今天", _ago(0), True
    yield r"(?<!一)昨日|昨天|きのう", _ago(1), True
    yield r"一昨日|おととい|(?<![之以目日月年天发發提])前天(?![气氣空数數文地然才台线線])", _ago(2), True
    yield rf"今週|(?<![日样書书版])(?:本|这|這){_WEEK}{_NOT_WEEK}(?![一二三四五六日天])", _calendar("week", 0), True
    yield (
        rf"先週(?!の?[月火水木金土日])|(?<![晚早以海网路线马身])上{_WEEK}{_NOT_WEEK}(?![一二三四五六日天])",
        _calendar("week", 1),
        True,
    )
    yield rf"先々週|上上{_WEEK}", _calendar("week", 2), True
    yield r"今月|(?<![日样書书版])(?:本|这个|這個)月(?![亮饼餅光票球])", _calendar("month", 0), True
    yield r"先月|(?<![晚早以海网路线马身])上(?:个|個)?月(?![亮饼餅光票球])", _calendar("month", 1), True
    yield r"先々月", _calendar("month", 2), True
    yield r"今年", _calendar("year", 0), True
    yield r"去年|昨年", _calendar("year", 1), True
    yield r"一昨年|おととし|(?<![之以目])前年(?!度)", _calendar("year", 2), True
    yield r"今四半期|(?:本|这个)季度", _calendar("quarter", 0), True
    yield r"前四半期|上(?:个)?季度", _calendar("quarter", 1), True
    yield (
        rf"(?<![期的の予定])(?<![一-龯]\d)(?<!\d){_COUNT}{_AGO_UNIT}[間间]?(?:之|以)?前(?![半後后])",
        _read_ago_either,
        True,
    )
    yield rf"(?:過去|直近|最近|ここ|この|过去|近|這|这){_COUNT}{_AGO_UNIT}[間间]?(?![前次号])", _read_few_either, True
    yield rf"{_YEAR}年{_MONTH}月{_DAY}[日号號]", _read_date, True
    yield rf"{_YEAR}年{_MONTH}月(?!\d)", _read_date, True
    yield rf"(?<!\d){_YEAR}年(?![代問间間度級级货版])(?=\D)", _read_year, True
    yield rf"(?<!\d){_YEAR}年第?(?P<quarter>[1-4一二三四])(?:季度|四半期)", _read_quarter, True
    yield rf"(?<![\d年]){_MONTH}月{_DAY}[日号號](?!間|间)", _read_date, True
    yield rf"(?<![\d年か个ヶ]){_MONTH}月份?(?![\d病亮饼餅])", _read_date, False
    yield r"(?P<which>先週|今週)の?(?P<weekday>[月火水木金土日])曜日?", _read_weekday, True
    yield (
        r"(?<![先今]週)(?<![先今]週の)(?P<weekday>[月火水木金土日])曜日?(?=から|以降|以来|まで|に)",
        _read_weekday,
        False,
    )
    yield rf"(?P<which>上|本|这|這){_WEEK}(?P<weekday>[一二三四五六日天])", _read_weekday, True


def _read_ago_either(match: re.Match[str], now: datetime) -> TimeSpan:
    unit = _UNITS[match["unit"] or match["unit_2"]]
    return calendar_span(unit, units_back(unit, now.date(), _number(match["count"])))


def _read_few_either(match: re.Match[str], now: datetime) -> TimeSpan:
    return last_few(_UNITS[match["unit"] or match["unit_2"]], _number(match["count"]), now)


_RULES = tuple((re.compile(pattern), reader, sure) for pattern, reader, sure in _rules())
_MONTH_ONLY = re.compile(rf"{_MONTH}月(?:{_DAY}[日号號])?份?")

_OPEN = re.compile(r"(?:从|從|自|在)$")
_BEFORE = re.compile(r"(?:(?P<since>自从|自從|自|从|從)|(?P<until>截至|直到)|(?P<in>在|于|於))$")
_JOIN = re.compile(r"(?P<japanese>から)|至|到|和|と|～|〜")
_CLOSE = re.compile(r"(?P<between>之间的?|之間的?|期间的?|期間の?|の間の?)|まで(?:の間)?の?|的")
_AFTER = re.compile(
    r"(?:(?P<since>から|以降|以来|以來|起|开始|開始)|(?P<until>まで|为止|為止)"
    r"|(?P<before>より前|以前|の前|之前|前(?!半|期|景))|(?P<after>より後|以後|の後|之后|之後|以后))[の的]?|(?P<in>中に|に|の間?|里|份?的|份)"
)
