"""What German, French and Spanish call days, months, numbers, and what stands around a date: tables for
``foreign_dates``. Words are lower-case and matched in any case; alternatives are regular expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def _numbered(words: str, first: int = 1) -> dict[str, int]:
    """Words that stand for the same number are joined by ``|``, those of the next one follow a blank."""
    return {word: number for number, same in enumerate(words.split(), first) for word in same.split("|")}


@dataclass(frozen=True, slots=True)
class DateWords:
    """The words of a language. ``relations``: what stands before a date, by what it means to ``open_end``; "in" says
    only that a date follows, "from" begins two dates. ``day_after`` and ``month_after``: those of them after which a
    weekday, a day or a month without a year is a date. ``fillers`` may stand between such a word and the date."""

    days_ago: Mapping[str, int]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    units: Mapping[str, str]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    relations: Mapping[str, str]
    day_after: frozenset[str]
    fillers: str
    joined_by: str
    rules: tuple[tuple[str, str, str], ...]


_EVER = frozenset(("since", "after", "before", "until"))

_DMY = r"(?P<day>\d{1,2})\.\s?(?P<month>0?[1-9]|1[0-2])\.\s?{YEAR}"
_SLASHED = r"(?P<day>\d{1,2})/(?P<month>0?[1-9]|1[0-2])/{YEAR}"
_QUARTER = r"[QT](?P<quarter>[1-4])\s+{YEAR}"

GERMAN = DateWords(
    days_ago={"heute": 0, "gestern": 1, "vorgestern": 2},
    numbers=_numbered(
        "ein|einem|einer|eine|einen zwei drei vier fünf|fuenf sechs sieben acht neun zehn elf zwölf|zwoelf"
    ),
    ordinals=_numbered("ersten|erstes zweiten|zweites dritten|drittes vierten|viertes"),
    units={
        "tag": "day", "tage": "day", "tagen": "day", "woche": "week", "wochen": "week", "monat": "month",
        "monats": "month", "monate": "month", "monaten": "month", "quartal": "quarter", "quartals": "quarter",
        "quartale": "quarter", "quartalen": "quarter", "jahr": "year", "jahres": "year", "jahre": "year",
        "jahren": "year", "stunden": "hour",
    },
    months=_numbered(
        "januar|jan|jänner|jaenner februar|feb märz|maerz|mär april|apr mai juni|jun juli|jul august|aug"
        " september|sept|sep oktober|okt november|nov dezember|dez"
    ),
    weekdays=_numbered("montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag", 0),
    relations={
        "seit|ab": "since", "nach": "after", "vor": "before", r"bis(?:\s+(?:zum|einschließlich))?": "until",
        "zwischen": "between", "von|vom": "from", "in|im|am|an|aus|während|für|zum": "in",
    },
    day_after=_EVER | {"in"},
    fillers="dem|den|der|die|das|des|zum",
    joined_by=r"und|bis(?:\s+zum)?",
    rules=(
        (r"{DAYS_AGO}", "days_ago", "sure"),
        (r"diese[nrms]?\s+{UNIT}", "this", "sure"),
        (r"(?:letzte|vorige|vergangene|vorherige)[nrms]?\s+(?:{UNIT}|{WEEKDAY}|{MONTH})", "last", "sure"),
        (r"(?:letzten|vergangenen)\s+{COUNT}\s+{UNIT}", "last_few", "sure"),
        (r"vor\s+{COUNT}\s+{UNIT}", "ago", "sure"),
        (r"{DAY}\.\s*{MONTH}\s+{YEAR}", "day_or_month", "sure"),
        (_DMY, "day_or_month", "sure"),
        (r"{DAY}\.\s*{MONTH}", "day_or_month", "day"),
        (r"{MONTH}\s+{YEAR}", "day_or_month", "sure"),
        (r"(?:jahre?s?)\s+{YEAR}", "year", "sure"),
        (_QUARTER, "quarter", "sure"),
        (r"{ORDINAL}\s+quartals?\s+{YEAR}", "quarter", "sure"),
        (r"{WEEKDAY}", "weekday", "day"),
        (r"{MONTH}", "day_or_month", "period"),
        (r"{YEAR}", "year", "period"),
    ),
)  # fmt: skip

FRENCH = DateWords(
    days_ago={"aujourd['’]hui": 0, "hier": 1, "avant-hier": 2},
    numbers=_numbered("un|une deux trois quatre cinq six sept huit neuf dix onze douze"),
    ordinals=_numbered("premier|1er deuxième|second|2e troisième|3e quatrième|4e"),
    units={
        "jour": "day", "jours": "day", "semaine": "week", "semaines": "week", "mois": "month", "trimestre": "quarter",
        "trimestres": "quarter", "an": "year", "ans": "year", "année": "year", "années": "year", "annee": "year",
        "annees": "year", "heures": "hour",
    },
    months=_numbered(
        "janvier|janv février|fevrier|févr mars avril mai juin juillet|juil août|aout septembre|sept octobre|oct"
        " novembre|nov décembre|decembre|déc"
    ),
    weekdays=_numbered("lundi mardi mercredi jeudi vendredi samedi dimanche", 0),
    relations={
        r"depuis|(?:à\s+partir|dès)\s+d[eu]": "since", "après": "after", "avant": "before",
        r"jusqu['’](?:à|en|au)": "until", "entre": "between", "du|de": "from",
        r"en|le|ce|dans|pendant|durant|au(?:\s+(?:mois|cours)\s+d[eu])?|(?:le\s+|du\s+)?mois\s+d['’e]": "in",
    },
    day_after=_EVER,
    fillers=r"[lc]es|le|la|l['’]|des|mois\s+de|début|fin",
    joined_by=r"et|au|à|jusqu['’](?:à|au)",
    rules=(
        (r"{DAYS_AGO}", "days_ago", "sure"),
        (r"(?:ce|cet|cette)\s+{UNIT}(?:-ci)?", "this", "sure"),
        (r"(?:{UNIT}|{WEEKDAY}|{MONTH})\s+(?:derni(?:er|ère)|pass(?:é|ée)|précédente?)", "last", "sure"),
        (r"{COUNT}\s+derni(?:ers|ères)\s+{UNIT}", "last_few", "sure"),
        (r"derni(?:ers|ères)\s+{COUNT}\s+{UNIT}", "last_few", "sure"),
        (r"il\s+y\s+a\s+{COUNT}\s+{UNIT}(?!\s+(?:de|d['’]|pour|entre|par)(?!\w))", "ago", "sure"),
        (r"{DAY}(?:er)?\s+{MONTH}\s+{YEAR}", "day_or_month", "sure"),
        (_SLASHED, "day_or_month", "sure"),
        (r"{DAY}(?:er)?\s+{MONTH}", "day_or_month", "dated"),
        (r"{DAY}(?:er)?(?=\s+au\s+\d{1,2}\s+{MONTH}\s+{YEAR})", "day_or_month", "sure"),
        (r"{MONTH}\s+{YEAR}", "day_or_month", "sure"),
        (r"année\s+{YEAR}", "year", "sure"),
        (_QUARTER, "quarter", "sure"),
        (r"{ORDINAL}\s+trimestre\s+(?:de\s+)?{YEAR}", "quarter", "sure"),
        (r"{WEEKDAY}", "weekday", "day"),
        (r"{MONTH}", "day_or_month", "period"),
        (r"{YEAR}", "year", "period"),
    ),
)  # fmt: skip

SPANISH = DateWords(
    days_ago={"hoy": 0, "ayer": 1, "anteayer": 2, "antier": 2, r"antes\s+de\s+ayer": 2},
    numbers=_numbered("un|una|uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    ordinals=_numbered("primer|primero segundo tercer|tercero cuarto"),
    units={
        "día": "day", "días": "day", "dia": "day", "dias": "day", "semana": "week", "semanas": "week", "mes": "month",
        "meses": "month", "trimestre": "quarter", "trimestres": "quarter", "año": "year", "años": "year",
        "horas": "hour",
    },
    months=_numbered(
        "enero|ene febrero|feb marzo abril|abr mayo junio|jun julio|jul agosto|ago septiembre|setiembre|sept"
        " octubre|oct noviembre|nov diciembre|dic"
    ),
    weekdays=_numbered("lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo", 0),
    relations={
        r"desde|a\s+partir\s+del?": "since", r"después\s+del?|despues\s+del?|tras": "after", r"antes\s+del?": "before",
        "hasta": "until", "entre": "between", "del?": "from",
        r"en|el|durante|(?:en\s+)?el\s+mes\s+de|para": "in",
    },
    day_after=_EVER | {"in"},
    fillers="el|la|los|las|del?|mes de",
    joined_by=r"y|al?|hasta(?:\s+el)?",
    rules=(
        (r"{DAYS_AGO}", "days_ago", "sure"),
        (r"est[ea]\s+{UNIT}", "this", "sure"),
        (r"(?:{UNIT}|{WEEKDAY}|{MONTH})\s+(?:pasad[oa]|anterior)", "last", "sure"),
        (r"pasad[oa]\s+(?:{UNIT}|{WEEKDAY}|{MONTH})", "last", "sure"),
        (r"últim[oa]s\s+{COUNT}\s+{UNIT}", "last_few", "sure"),
        (r"{COUNT}\s+últim[oa]s\s+{UNIT}", "last_few", "sure"),
        (r"hace\s+{COUNT}\s+{UNIT}", "ago", "sure"),
        (r"{DAY}\s+de\s+{MONTH}\s+(?:del?\s+)?{YEAR}", "day_or_month", "sure"),
        (_SLASHED, "day_or_month", "sure"),
        (r"{DAY}\s+de\s+{MONTH}", "day_or_month", "dated"),
        (r"{DAY}(?=\s+al\s+\d{1,2}\s+de\s+{MONTH}\s+(?:del?\s+)?{YEAR})", "day_or_month", "sure"),
        (r"{MONTH}\s+(?:del?\s+)?{YEAR}", "day_or_month", "sure"),
        (r"año\s+{YEAR}", "year", "sure"),
        (_QUARTER, "quarter", "sure"),
        (r"{ORDINAL}\s+trimestre\s+(?:del?\s+)?{YEAR}", "quarter", "sure"),
        (r"{WEEKDAY}", "weekday", "day"),
        (r"{MONTH}", "day_or_month", "period"),
        (r"{YEAR}", "year", "period"),
    ),
)  # fmt: skip

DATE_WORDS: Mapping[str, DateWords] = {"german": GERMAN, "french": FRENCH, "spanish": SPANISH}
