"""Pages for people: one frame, and headers that let nothing else in.

Templates escape whatever they are given. The policy (CSP) takes styles from here and nothing from elsewhere, and lets
no page frame ours; pages that ask for a passkey take our one script, others none. ``form_to`` names the one other
origin a form may end at: browsers hold a redirect after a form against it, and being sent back to a client is one.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from auth.people.browser_names import name_browser
from server.languages import current_language
from server.oauth.catalogue import TEXTS

_FOLDER = Path(__file__).parent / "templates"
_CSP_SOURCE = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?", re.ASCII)

_WITH_SCRIPT = frozenset({"sign_in", "invite", "account"})
"""Pages that ask for a passkey, which takes script in every browser."""

HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


@cache
def _templates(language: str) -> Environment:
    made = Environment(loader=read_templates(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    catalogue = TEXTS.catalogue(language)

    def with_pieces(key: str, **pieces: object) -> Markup:
        """A text with pieces of a page in it: what is no piece of a template's own is escaped."""
        return escape(catalogue.texts[key]).format(**pieces)

    made.filters["browser"] = name_browser
    made.globals.update(
        t=catalogue.say, counted=catalogue.count, pieced=with_pieces, written=catalogue.moment, language=language
    )
    return made


@cache
def read_templates(folder: Path) -> DictLoader:
    """The templates of a folder, all of them at once: an upgrade replaces the files under a running server."""
    return DictLoader({path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.html")})


class Pages:
    """``base``: the path all addresses begin with."""

    def __init__(self, base: str) -> None:
        self._base = base
        read_templates(_FOLDER)
        TEXTS.read_all()

    def render(self, template: str, *, status: int = 200, form_to: str | None = None, **values: Any) -> HTMLResponse:
        """A page. ``values``: what its template shows."""
        text = _templates(current_language()).get_template(f"{template}.html").render(base=self._base, **values)
        policy = content_policy(form_to, scripts="'self'" if template in _WITH_SCRIPT else "'none'")
        return HTMLResponse(text, status, headers={**HEADERS, "content-security-policy": policy})

    def message(self, title: str, text: str, *, status: int = 400) -> HTMLResponse:
        """A page that only says something."""
        return self.render("message", status=status, title=title, text=text, signed_in=None)


def frame_style() -> str:
    """The style every page of ours begins with, those of the console too."""
    return (_FOLDER / "frame.css").read_text(encoding="utf-8")


def style() -> Response:
    """The style sheet of every page."""
    return _asset(frame_style(), "text/css")


def passkey_script() -> Response:
    """The script of pages that ask for a passkey."""
    return _asset((_FOLDER / "passkeys.js").read_text(encoding="utf-8"), "text/javascript")


def _asset(text: str, media_type: str) -> Response:
    headers = {"cache-control": "public, max-age=3600", "x-content-type-options": "nosniff"}
    return Response(text, media_type=media_type, headers=headers)


def content_policy(form_to: str | None, *, scripts: str = "'none'") -> str:
    """The policy of a page; ``scripts``: where they may come from."""
    forms = "'self'"
    if form_to is not None:
        # An IPv6 address has no form in this policy: then the scheme stands for it.
        forms += f" {form_to}" if _CSP_SOURCE.fullmatch(form_to) else f" {form_to.partition(':')[0]}:"
    sources = f"default-src 'none'; style-src 'self'; script-src {scripts}"
    return f"{sources}; form-action {forms}; base-uri 'none'; frame-ancestors 'none'"
