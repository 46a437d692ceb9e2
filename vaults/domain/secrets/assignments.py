"""Secrets recognised by what stands before them: a name and a sign, a header's keyword, a user in an address. Pure,
linear."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from vaults.domain.secrets.token_patterns import ADDRESS, ASSIGNMENT_SIGN, HEADER, MASK, NAME_PATTERNS


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret found in a text: its kind and its span."""

    kind: str
    start: int
    end: int


def find_in_addresses(text: str) -> Iterator[Secret]:
    """Passwords in addresses with a user."""
    if "://" not in text or "@" not in text:
        return
    for match in ADDRESS.finditer(text):
        secret = match["secret"]
        if secret.casefold() != match["user"].casefold() and not _is_placeholder(secret):
            yield Secret("password in an address", *match.span("secret"))


def find_in_headers(text: str) -> Iterator[Secret]:
    """Credentials in ``Bearer`` and ``Authorization`` headers."""
    folded = text.casefold()
    if "bearer" not in folded and "authorization" not in folded:
        return
    for match in HEADER.finditer(text):
        if match["secret"] and _is_random(match["secret"], 16):
            yield Secret("bearer token", *match.span("secret"))
        elif match["basic"] and _is_basic(match["basic"]):
            yield Secret("basic authorization", *match.span("basic"))


def find_assigned(text: str) -> Iterator[Secret]:
    """Values assigned to names of secrets."""
    folded = text.casefold()
    if not any(hint in folded for hint in _ASSIGNED_HINTS):
        return
    small = text.lower()
    names = NAME_PATTERNS[0].finditer(small) if len(small) == len(text) else NAME_PATTERNS[1].finditer(text)
    read = 0
    for name in names:
        match = ASSIGNMENT_SIGN.match(text, name.end()) if name.start() >= read else None
        if match is None:
            continue
        read = match.end()  # a value is read once: names inside it start no other
        if (found := _value(text, name, match)) is not None:
            yield found


def _value(text: str, name: re.Match[str], match: re.Match[str]) -> Secret | None:
    sign, quoted = match["sign"].casefold(), bool(match["quote"])
    said = sign in ("is", "ist") and not quoted
    if said and (not _is_of_password(name[0]) or _PARTS.search(match["secret"].rstrip(".:?)]}!"))):
        return None  # prose: "the token is base64-encoded", "the password is bcrypt-hashed"
    secret = match["secret"] if quoted else match["secret"].rstrip(".:?)]}")
    before = text[max(0, name.start() - 16) : name.start()]
    if not is_secret(name[0], secret, before, firm=quoted and "=" in sign):
        return None
    start = match.start("secret")
    return Secret(secret_kind(name[0]), start, start + len(secret))


def secret_kind(name: str) -> str:
    """The kind of a secret of this name, in words for people."""
    return re.sub(r"[ _-]+", " ", name.casefold()).strip().replace("apikey", "api key")


_ASSIGNED_HINTS = ("pass", "pwd", "secret", "token", "credential", "key")
NAME_HINTS = (*_ASSIGNED_HINTS, "bearer", "authorization", "://")
"""What a case-folded text holds, if any secret in it is told by what stands before it."""


def is_secret(name: str, value: str, before: str, *, firm: bool = False) -> bool:
    """Whether ``value`` looks like the secret that ``name`` promises. ``firm``: it is assigned in quotes."""
    if _is_placeholder(value) or _PLAIN.fullmatch(value) or _PASSING.search(before):
        return False
    if _is_of_password(name):
        return _is_password(value, firm=firm)
    return _is_random(value, 16)


def _is_of_password(name: str) -> bool:
    return name.casefold().lstrip("_").startswith(("pass", "pwd"))


def _is_password(value: str, *, firm: bool) -> bool:
    if len(value) < 6 or _CODE.search(value):
        return False
    if value.isdigit():
        return True
    if any(_is_mixed(part) and len(part) >= 6 for part in _PARTS.split(value)):
        return True
    if _SYMBOL.search(value) and re.search(r"[A-Za-z]", value) and re.search(r"[A-Z0-9]", value):
        return True
    return firm and len(value) >= 10 and not _WORDING.search(value)


def _is_random(value: str, least: int) -> bool:
    """Whether a value is as long and as mixed as a token."""
    if len(value) < least or _CODE.search(value) or _is_placeholder(value) or _PLAIN.fullmatch(value):
        return False
    longest = max(_PARTS.split(value), key=len)
    if len(longest) >= 10 and _is_mixed(longest) and entropy(longest) >= 2.8:
        return True
    return _is_mixed(value) and not value.islower() and "." not in value and entropy(value) >= 4.3


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False


def _is_mixed(part: str) -> bool:
    return bool(re.search(r"[0-9]", part) and re.search(r"[A-Za-z]", part))


def entropy(text: str) -> float:
    """Bits per character, by the frequency of each in ``text``."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


_PARTS = re.compile(r"[-_.:/\\|=]+")
_SYMBOL = re.compile(r"[!@#$%^&*+?~]")
_CODE = re.compile(r"[()\[\]{}]|::|->|=>|\$\(|^[$%@&]|^\*|\.\.\.|…")
_WORDING = re.compile(r"[_./:|]|[^\x00-\x7f]")
_PLAIN = re.compile(
    r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # a UUID
    r"|(?:sha[0-9]{1,3}|md5|blake2[bs]?)[-:=].*|\$(?:2[aby]|argon2\w*|[156]|scrypt|pbkdf2)\b.*"  # a digest, by its name
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*"  # a day
    r"|(?:https?|file|s3|gs|op|vault|arn|env|ref|secret|ssm|aws)[:/].*|[~.]{0,2}/.*|[a-z]:\\.*"  # where it is kept
    r"|[\w./-]{1,100}\.(?:json|ya?ml|toml|env|txt|pem|key|py|ts|js|go|rs|md|ini|cfg|conf|sh|sql|html?|css)"
    r"|(?:sha|md5|bcrypt|scrypt|argon|pbkdf|aes|rsa|base(?:32|64)|utf|oauth|hmac|ed25519|hs256|rs256|es256|jwt)[\w-]*"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?<![a-z])(?:your?|my|example|sample|placeholder|change[_-]?(?:me|it|this)|dummy|fake|redacted|masked|hidden"
    r"|insert|replace|todo|tbd|none|null|nil|undefined|required|optional|string|foo|bar|baz|env|environ|settings|config"
    r"|process|args|self|this|request)(?![a-z])"
)
_ITSELF = re.compile(
    r"(?i)(?:[a-z]{1,20}[-_. ]|my|your|the|some|new|old|user|db|admin)?"
    r"(?:secrets?|password|passwd|passwort|pass|token|key|test(?:ing)?)s?"
)
_PASSING = re.compile(
    r"(?i)(?:next|page|cursor|continuation|csrf|xsrf|sync|resume|cache|prev(?:ious)?|pagination|public|design|max)"
    r"[ _-]?$"
)


def _is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: ``your-token``, ``${TOKEN}``, ``********``."""
    if MASK.search(value) or value.startswith(("$", "%", "{", "<", "[", "@")) or "${" in value or "{{" in value:
        return True
    if value.isalpha() and value.casefold() in _COMMON_PASSWORDS:
        return True
    if _ITSELF.fullmatch(value):
        return True
    word = _PLACEHOLDER.search(value)
    return word is not None and (len(word[0]) * 2 >= len(value) or not re.search(r"[0-9]", value))


_COMMON_PASSWORDS = frozenset({
    "postgres", "root", "admin", "user", "username", "guest", "mysql", "redis", "mongo", "rabbitmq", "minio", "sa",
    "changeit", "hunter", "pw", "pwd", "abc",
})  # fmt: skip
