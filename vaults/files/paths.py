"""Rules for names inside a vault: what a caller may ask for, what may be created, what is the same. Pure.

Reading is lenient, because files made elsewhere bear any name; creating is strict, because a vault travels between
systems that disagree about names. Nothing here looks at a disk: how files are opened keeps paths inside the vault.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from vaults.errors import InvalidArgument

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_SEGMENTS = 64
NOTE_SUFFIXES = (".md", ".markdown")

# C0, DEL, C1, the two Unicode line ends, and the backslash, which is a separator elsewhere.
_UNSPEAKABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\\\\]")
_RESERVED_SIGNS = re.compile(r'[<>:"|?*]')
_RESERVED_NAMES = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|CLOCK\$|(?:COM|LPT)[0-9¹²³]) *(?:\.|$)", re.IGNORECASE
)
# Invisible, or turning the text around it: two names that look alike must not be two files.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# What some systems turn into a plain dot, or read as one: `．．` then climbs, and `．git` is hidden.
_DOTS = str.maketrans({"\uff0e": ".", "\u2024": ".", "\ufe52": ".", "\u2025": ".."})
# Windows knows a long name by a short one as well: `git~1` is `.git`. Others may be some other note's.
_HIDDEN_SHORT = re.compile(r"(?:git|strong|obsidi)~[0-9]+(?:\.|$)", re.IGNORECASE)
_SHORT = re.compile(r"(?=.{1,8}(?:\.|$))[^.~ ]{1,6}~[0-9]+(?:\.[^. ]{0,3})?$")
_JOINER = re.compile("[\u200c\u200d]")


def normalize_path(text: str) -> str:
    """A caller's path in the vault's form: segments joined by ``/``, none hidden, none that climbs.

    One trailing slash is dropped. Raises InvalidArgument for whatever could lead outside the vault, or could not be
    shown on one line.
    """
    path = text[:-1] if text.endswith("/") and len(text) > 1 else text
    reason = _reason_refused(path)
    if reason:
        raise InvalidArgument("path", reason, hint="give a path inside the vault, such as projects/plan.md")
    return path


def to_note_path(text: str) -> str:
    """``normalize_path(text)`` as the path of a note: ``.md`` is appended unless it has a note's suffix already."""
    if text.endswith("/"):
        raise InvalidArgument("path", "names a folder", hint="give the note's name too, such as projects/plan.md")
    path = normalize_path(text)
    return path if is_note(path) else normalize_path(path + ".md")


_OTHER_FILES = {
    "txt", "text", "rtf", "pdf", "doc", "docx", "odt", "pages", "ppt", "pptx", "odp", "key", "xls", "xlsx", "ods",
    "numbers", "csv", "tsv", "json", "jsonl", "xml", "yaml", "yml", "toml", "html", "htm", "epub", "tex", "rst",
    "org", "adoc", "canvas", "base", "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "tif", "tiff", "heic", "mp3",
    "wav", "m4a", "flac", "ogg", "mp4", "mov", "mkv", "webm", "avi", "zip", "gz", "tgz", "tar", "7z", "rar", "eml",
    "log",
}  # fmt: skip
"""Suffixes of files that are surely no notes. Others may belong to a note's title: ``v1.2``, ``Node.js``."""


def file_suffix(path: str) -> str | None:
    """The suffix by which a path names a file of another kind, without the dot; None where it may name a note."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path else ""
    return suffix if suffix in _OTHER_FILES else None


def check_named_as_note(text: str, field: str = "path") -> None:
    """Raises InvalidArgument for the name of another kind of file, to which ``.md`` would be appended."""
    if (suffix := file_suffix(text)) is not None:
        stem = text[: -len(suffix) - 1]
        raise InvalidArgument(
            field,
            f"ends in .{suffix}, and a note is Markdown",
            hint=f"say {stem}.md, or {text}.md if it is called that",
        )


def is_note(path: str) -> bool:
    """Whether the suffix is a note's, in any case."""
    return path.lower().endswith(NOTE_SUFFIXES)


NOTE_SCHEME = "note://"
"""Prefix of a note's address; it names no vault, because the reader's own is meant."""


def to_address(path: str) -> str:
    """The address of the note at ``path``, percent-encoded."""
    return f"{NOTE_SCHEME}{quote(path)}"


def path_from_address(text: str) -> str | None:
    """The path behind the address of a note; None for what is no address."""
    return unquote(text.removeprefix(NOTE_SCHEME)) if text.startswith(NOTE_SCHEME) else None


def check_creatable(path: str) -> None:
    """Raises InvalidArgument for a new name that some system would refuse, change or hide."""
    if normalize_path(path) != path:
        raise InvalidArgument("path", "names a folder")
    for segment in path.split("/"):
        reason = _reason_uncreatable(segment)
        if reason:
            raise InvalidArgument("path", reason, hint="choose a name that works on every system")


def collision_key(path: str) -> str:
    """Identity of a path: two names with one key are the same file on some system, so they collide.

    Canonical caseless matching, composed: independent of case and of Unicode's normal forms, and of no locale.
    """
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def parent_folder(path: str) -> str:
    """The folder of ``path``; an empty text is the vault's own folder."""
    return path.rpartition("/")[0]


def join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def conflict_path(path: str, moment: datetime, attempt: int = 0) -> str:
    """Where another version of ``path`` is kept: ``plan.conflict-20261121T224348Z.md``, in the same folder."""
    folder, name = parent_folder(path), path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    again = f"-{attempt}" if attempt else ""
    tail = f".conflict-{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}{again}{dot}{suffix}"
    room = MAX_NAME_BYTES - len(tail.encode(errors="surrogateescape"))
    kept = stem.encode(errors="surrogateescape")[:room].decode(errors="ignore")
    return join_path(folder, kept + tail)


def _reason_refused(path: str) -> str | None:
    """Why no caller may use this path, or None."""
    if not path:
        return "must not be empty"
    if not path.isascii() and not _is_unicode(path):
        return "must be valid Unicode"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"must be at most {MAX_PATH_BYTES} bytes long"
    if _UNSPEAKABLE.search(path):
        return "must not contain control characters, line ends or backslashes"
    return _reason_segments_refused(path.split("/"), path)


def _reason_segments_refused(segments: list[str], path: str) -> str | None:
    first = segments[0]
    rules = (
        (not first, "must be relative to the vault: it must not start with '/'"),
        ("" in segments, "must not contain '//'"),
        (len(segments) > MAX_SEGMENTS, f"must have at most {MAX_SEGMENTS} parts"),
        (first == "~" or (first.startswith("~") and len(segments) > 1), "must not start with '~'"),
        (
            first.startswith(".") or "/." in path,
            "must not contain '.', '..' or a hidden name (one that starts with a dot)",
        ),
        ("%" in path and _may_climb_decoded(path), "must not contain '..', also not percent-encoded"),
        (
            not path.isascii() and {".", ".."} & {each.translate(_DOTS) for each in segments},
            "must not contain '.' or '..', also not of wide dots",
        ),
        (
            "~" in path and any(_HIDDEN_SHORT.match(each) for each in segments),
            "must not contain a short name of a hidden folder, such as git~1",
        ),
    )
    return next((reason for broken, reason in rules if broken), None)


def _may_climb_decoded(path: str) -> bool:
    """A gateway may decode once more than the server does: a name that then climbs was never meant as a name."""
    decoded = unquote(path)
    while decoded != path:  # each round shortens the text
        if {".", ".."} & set(re.split(r"[/\\]", decoded)):
            return True
        path, decoded = decoded, unquote(decoded)
    return False


def _reason_uncreatable(segment: str) -> str | None:
    """Why no file or folder of this name should be made, or None."""
    plain = segment.translate(_DOTS)
    spaced = segment != segment.strip() or plain.endswith(".")
    hidden = _INVISIBLE.search(segment) or not _needs_joiners(segment)
    rules = (
        (len(segment.encode()) > MAX_NAME_BYTES, f"has a name over {MAX_NAME_BYTES} bytes"),
        (segment.startswith("-"), "has a name that starts with '-'"),
        (spaced, "has a name that starts or ends with a space, or ends with a dot"),
        (_RESERVED_SIGNS.search(segment), 'has a name with one of < > : " | ? *'),
        (_RESERVED_NAMES.match(segment), "has a name that Windows reserves for a device"),
        (_SHORT.match(segment), "has a name such as git~1, by which Windows may know another file"),
        (plain.startswith("."), "has a name that starts with a dot, if a wide one"),
        ("[[" in segment or "]]" in segment, "has a name with [[ or ]], which no link can hold"),
        (hidden, "has a name with invisible or direction-changing characters"),
    )
    return next((reason for broken, reason in rules if broken), None)


def _needs_joiners(segment: str) -> bool:
    """Zero-width joiners are part of writing Persian, Indic scripts and some emoji; elsewhere they only deceive."""
    for match in _JOINER.finditer(segment):
        before, after = segment[: match.start()][-1:], segment[match.end() :][:1]
        if not before or not after:
            return False
        in_script = unicodedata.bidirectional(before) == "AL" or unicodedata.combining(before) == 9  # virama
        in_emoji = (before == "\ufe0f" or unicodedata.category(before) in ("So", "Sk")) and (
            unicodedata.category(after) == "So"
        )
        if not (in_script or in_emoji):
            return False
    return True


def _is_unicode(text: str) -> bool:
    """False for lone surrogates: what Python makes of file names that are not UTF-8, and JSON of broken escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
