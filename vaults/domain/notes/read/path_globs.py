"""Finding notes by path patterns: ``daily/2026-*.md``, ``**/*.md``, ``{a,b}/plan.md``, ``log-[0-9].md``.

``*`` and ``?`` stay inside a folder, ``**`` crosses folders. Case matters; Unicode normalization does not. Patterns are
compiled to RE2, so matching is linear in the path whatever the pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from vaults.db.sql import Reader
from vaults.domain.text.regexes import MAX_PATTERN_LENGTH, compile_pattern
from vaults.errors import InvalidArgument

_GLOB_CHARACTERS = re.compile(r"[*?]|\[[^\]/]+\]|\{[^{}]*,[^{}]*\}")
_TOKEN = re.compile(
    r"(?P<over>(?:(?<=/)|(?<![\s\S]))\*\*/)"
    r"|(?P<below>(?:(?<=/)|(?<![\s\S]))\*\*\Z)"
    r"|(?P<any>\*+)"
    r"|(?P<one>\?)"
    r"|\[(?P<but>[!^]?)(?P<set>\]?[^\]/]+)\]"
    r"|\{(?P<words>[^{}]*,[^{}]*)\}"
    r"|(?P<plain>[\s\S])"
)
_WILD = {"over": "(?:[^/]+/)*", "below": ".*", "any": "[^/]*", "one": "[^/]"}
_SPECIAL = re.compile(r"[\\\[\]^]")
_LAST_CHARACTER = "\U0010ffff"
_HINT = "* and ? stay in a folder, ** goes over folders, [a-z] is one character, {a,b} one of several"


def is_glob(text: str) -> bool:
    """Whether a path contains pattern characters. A note may have such a name all the same."""
    return _GLOB_CHARACTERS.search(text) is not None


def compile_matcher(pattern: str) -> Callable[[str], bool]:
    """A predicate for paths that match. Raises ``InvalidArgument`` for an invalid pattern."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidArgument("refs", f"has a pattern of more than {MAX_PATTERN_LENGTH} characters")
    if any(part in (".", "..") for part in pattern.split("/")) or pattern.startswith("/"):
        raise InvalidArgument("refs", "has a pattern that does not stay inside the vault", hint=_HINT)
    found = compile_pattern(f"(?s){_to_regex(unicodedata.normalize('NFC', pattern))}", "refs", hint=_HINT)
    return lambda path: found.fullmatch(unicodedata.normalize("NFC", path)) is not None


def expand_pattern(tx: Reader, pattern: str, limit: int) -> list[str]:
    """Paths of matching notes in order, ``limit`` at most. Raises ``InvalidArgument``."""
    matches, start = compile_matcher(pattern), _common_prefix(pattern)
    rows = tx.all(
        "SELECT path FROM notes WHERE path >= :start AND path < :beyond ORDER BY path",
        {"start": start, "beyond": f"{start}{_LAST_CHARACTER}"},
    )
    found = []
    for (path,) in rows:
        if matches(path):
            found.append(path)
            if len(found) == limit:
                break
    return found


def _common_prefix(pattern: str) -> str:
    """The prefix of every match, as far as it is spelled the same in every normal form."""
    found = _GLOB_CHARACTERS.search(pattern)
    plain = pattern[: found.start()] if found else pattern
    # The last character is dropped: a combining accent may follow it and compose with it.
    return plain[:-1] if plain.isascii() else ""


def _to_regex(pattern: str) -> str:
    return "".join(_translate_token(match) for match in _TOKEN.finditer(pattern))


def _translate_token(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "set":
        return f"[{'^/' if match['but'] else ''}{_SPECIAL.sub(_escape_match, match['set'])}]"
    if kind == "words":
        return f"(?:{'|'.join(_to_regex(word) for word in match['words'].split(','))})"
    return _WILD.get(kind) or re.escape(match[0])


def _escape_match(match: re.Match[str]) -> str:
    return f"\\{match[0]}"
