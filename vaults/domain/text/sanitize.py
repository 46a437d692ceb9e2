"""Stored text made safe to show: what is hidden shows, what would act is inert. The stored text itself stays unchanged.

Pure, and linear in the text's length.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vaults.index.traits import is_adversarial

INSTRUCTIONS, HIDDEN, REMOTE = "instruction-like", "hidden-text", "remote-image"
"""Flags: the text gives its reader orders; it has characters nobody sees; it would make a client fetch a picture."""

MARK = "§"
"""Begins the server's own lines in a prompt. A line of stored text that begins with it gets a backslash."""

LINE_LENGTH = 120
"""Max characters of a title, author or path in a line of the server's."""

_SHOWN = 3
"""Max unseen characters in a row that are spelt out; of longer runs only their number is shown."""

# Controls, soft hyphen, joiners, directions, fillers, variation selectors, tags: whatever has no shape of its own.
_HIDDEN_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
    # A joiner is part of an emoji or of a word in some scripts, never beside a Latin letter and never twice.
    "|(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])|[\u200c\u200d]{2,}"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_IMAGE = re.compile(r"!(?=\[[^\]\n]{0,500}\](?:\(\s{0,9}<?(?:https?:)?//|\[))", re.IGNORECASE)
_TAG = re.compile(
    r"<(?=!--|\||/?(?:system|assistant|user|human|developer|function|tool|antml|instruction|invoke|parameter|img|image|script|iframe"
    r"|object|embed|svg|style|link|meta|form|input|video|audio|source|base)[\w:-]{0,40}[\s/>=])",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"<(?:img|image|video|audio|source|iframe|object|embed)\b[^>\n]{0,500}?(?:https?:)?//", re.I)
_LINE_WITH_MARK = re.compile(rf"^(?=[ \t]{{0,8}}{MARK})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SanitizedText:
    """A text to show, and its flags."""

    text: str
    flags: tuple[str, ...] = ()


def sanitize(text: str, *, adversarial: bool | None = None) -> SanitizedText:
    """``text`` with unseen characters spelt out, comments and active tags escaped, and remote pictures turned into
    links. ``adversarial``: whether it gives orders, where the caller knows."""
    flags = []
    if is_adversarial(text) if adversarial is None else adversarial:
        flags.append(INSTRUCTIONS)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if _IMAGE.search(plain) or _PICTURE.search(plain):
        flags.append(REMOTE)
        plain = _IMAGE.sub("", plain)
    shown = plain if plain.isascii() and plain.isprintable() else _HIDDEN_CHARACTER.sub(_spell_out, plain)
    if shown != plain or "<!--" in shown:
        flags.append(HIDDEN)
    return SanitizedText(_TAG.sub("&lt;", shown) if "<" in shown else shown, tuple(flags))


def escape_hidden(text: str) -> str:
    """Text with unseen characters spelt out, its lines and blanks unchanged."""
    if text.isascii() and not _CONTROLS.search(text):
        return text
    return _HIDDEN_CHARACTER.sub(_spell_out, text.replace("\r\n", "\n"))


def to_visible_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON, its unseen characters written as escapes."""
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    return _HIDDEN_CHARACTER.sub(lambda found: json.dumps(found[0])[1:-1], written)


def to_one_line(text: str, most: int = LINE_LENGTH) -> str:
    """A title, name or path for a line of the server's, at most ``most`` characters."""
    plain = " ".join(sanitize(text, adversarial=False).text.split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


def sanitize_value(value: Any) -> Any:
    """JSON with every text in it sanitized."""
    if isinstance(value, str):
        return sanitize(value, adversarial=False).text
    if isinstance(value, list):
        return [sanitize_value(each) for each in value]
    if isinstance(value, dict):
        return {sanitize(name, adversarial=False).text: sanitize_value(each) for name, each in value.items()}
    return value


def quote_for_prompt(text: str) -> str:
    """Text inside a prompt, no line of which can pass for one of the server's."""
    return _LINE_WITH_MARK.sub(r"\\", text) if MARK in text else text


def make_nonce(texts: Iterable[str]) -> str:
    """A word for the fence that nobody could guess and none of ``texts`` contains. Nine digits: always three tokens."""
    contents = list(texts)
    while True:
        nonce = str(secrets.randbelow(900_000_000) + 100_000_000)
        if not any(nonce in text for text in contents):
            return nonce


def _spell_out(found: re.Match[str]) -> str:
    unseen = found[0]
    if len(unseen) > _SHOWN:
        return f"\\u{{{len(unseen)} unseen}}"
    return "".join(f"\\u{ord(each):04x}" for each in unseen)
