"""What secrets look like: tokens with an issuer's mark, armoured keys, addresses with a password.

A table of our own: detect-secrets reads files through plug-ins, verifies over the network and does not guard against
backtracking, and all we need of it is this table. Every repetition in a pattern is bounded, so that no text makes it
slow, and a pattern runs only over texts that contain one of its hints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenPattern:
    """One kind of secret. ``hints``: a text without any of them contains none. The group ``secret`` of the pattern, or
    the whole match, is the secret."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _make_pattern(kind: str, hints: str, pattern: str) -> TokenPattern:
    return TokenPattern(kind, tuple(hints.split()), re.compile(pattern, re.ASCII))


_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_])"


def _make_token_pattern(kind: str, hints: str, pattern: str) -> TokenPattern:
    return _make_pattern(kind, hints, f"{_START}(?:{pattern}){_END}")


TOKEN_PATTERNS: tuple[TokenPattern, ...] = (
    _make_token_pattern("AWS access key", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
    _make_token_pattern("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[opusr]_[A-Za-z0-9]{36,255}"),
    _make_token_pattern("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{40,255}"),
    _make_token_pattern(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[A-Za-z0-9_.-]{20,200}",
    ),
    _make_token_pattern("Slack token", "xox", r"xox[abeoprs]-(?=[A-Za-z0-9-]{0,60}[0-9])[A-Za-z0-9-]{10,250}"),
    _make_token_pattern("Slack token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,250}"),
    _make_pattern(
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9]{6,20}/[A-Za-z0-9]{6,20}/[A-Za-z0-9]{12,60})",
    ),
    _make_token_pattern("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _make_token_pattern("Google OAuth secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _make_token_pattern("Google access token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,500}"),
    _make_token_pattern(
        "Stripe key", "sk_ rk_ whsec_", r"(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{24,99})"
    ),
    _make_token_pattern("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,250}"),
    _make_token_pattern(
        "OpenAI key",
        "sk-",
        r"sk-(?!ant-)(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}|[A-Za-z0-9]{20,200})",
    ),
    _make_token_pattern("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _make_token_pattern("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,500}"),
    _make_token_pattern("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{34,40}"),
    _make_token_pattern("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _make_token_pattern("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _make_token_pattern("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _make_token_pattern("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    _make_token_pattern("HashiCorp Vault token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,300}"),
    _make_token_pattern(
        "Grafana token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})"
    ),
    _make_token_pattern("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _make_token_pattern("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _make_token_pattern("Atlassian token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,300}"),
    _make_token_pattern("Sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{40,400}"),
    _make_token_pattern("Telegram bot token", ":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    _make_token_pattern("Twilio key", "SK", r"SK[a-f0-9]{32}"),
    _make_token_pattern("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _make_pattern("Azure storage key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{80,90}={0,2})"),
    _make_pattern(
        "JSON web token",
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,2000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{16,2000}+",
    ),
    _make_pattern(
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\"',+]|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}){0,24}+"
        r"(?:[A-Za-z0-9+/=]{24}[A-Za-z0-9+/=\s\\\"',]{0,16000}+(?:-----END [A-Z0-9 ]{0,60}-----)?"
        r"|[A-Za-z0-9+/=\s\\\"',]{4,400}+-----END [A-Z0-9 ]{0,60}-----)",
    ),
)
"""Every token with an issuer's mark. What follows the mark is not tested for randomness: nobody writes it otherwise."""

MASK = re.compile(r"[xX*.#•_?-]{6}")
"""What stands in a token that somebody has masked."""

ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,24}://(?P<user>[^\s:/@\"'<>`]{0,100}):"
    r"(?P<secret>[^\s/@\"'<>`]{3,200})@(?=[A-Za-z0-9\[_-])"
)
"""An address with user and password."""

NAMES_REGEX = (
    r"pass(?:word|wd|phrase|code)|passwort|_pass(?![a-z])|pwd|secret[_-]?access[_-]?key|secret[_-]?key|secret|token"
    r"|credential|api[ _-]?key|auth[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|master[_-]?key|account[_-]?key"
)
"""Names of secret values; each may end a longer name."""

NAME_PATTERNS = re.compile(NAMES_REGEX), re.compile(f"(?i){NAMES_REGEX}")
"""Names in lower-case text, which is five times as quick, and in any text."""

ASSIGNMENT_SIGN = re.compile(
    r"(?i)[\"'`*]{0,3}\s{0,3}(?P<sign>=>|:=|==?|:|\bis\b|\bist\b)\s{0,3}[*]{0,2}"
    r"(?P<quote>[\"'`]{0,3})(?P<secret>[^\s\"'`<>,;]{4,400})"
)
"""What follows a name that a value is assigned to."""

HEADER = re.compile(
    r"(?i)(?<![A-Za-z0-9])(?:bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,2000})"
    r"|authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?basic\s{1,3}(?P<basic>[A-Za-z0-9+/]{8,2000}={0,2}))"
)
"""What follows ``Bearer`` or ``Authorization: Basic``."""
