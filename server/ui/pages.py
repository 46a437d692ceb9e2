"""Pages of the console: one frame, one style, and headers that let nothing else in.

Templates escape whatever they are given and hold no text of their own: they take it from the catalogue. The policy
(CSP) takes style and scripts from here, from files alone, and lets no page frame ours.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, Undefined
from starlette.responses import HTMLResponse

from auth.people.browser_names import name_browser
from server.languages import LANGUAGES, current_language
from server.oauth.pages import HEADERS, read_templates
from server.ui.assets import assets
from server.ui.catalogue import TEXTS, load_catalogue
from server.ui.visible_text import show

_FOLDER = Path(__file__).parent / "templates"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HTMX_SETTINGS = {
    "allowEval": False,
    "allowScriptTags": False,
    "includeIndicatorStyles": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,  # nothing of a vault stays in the browser
    "refreshOnHistoryMiss": True,
}


@cache
def _templates(language: str) -> Environment:
    made = Environment(
        loader=read_templates(_FOLDER),
        autoescape=True,
        undefined=Undefined,  # tools leave out what is not there
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # they lie in the package: nobody changes them while it runs
    )
    catalogue = load_catalogue(language)
    made.filters["shown"] = show
    made.filters["browser"] = name_browser
    made.globals.update(
        t=catalogue.say,
        counted=catalogue.count,
        has_text=catalogue.has,
        digits=catalogue.digits,
        written=catalogue.moment,
        language=language,
        languages=LANGUAGES,
        asset={name: each.address for name, each in assets().items()},
        htmx_settings=json.dumps(HTMX_SETTINGS, separators=(",", ":")),
    )
    return made


class ConsolePages:
    """``base``: the path all addresses begin with. Reads every file of the console, so that one that is replaced under
    a running server changes nothing."""

    def __init__(self, base: str) -> None:
        self._base = base
        read_templates(_FOLDER)
        assets()
        TEXTS.read_all()

    def render(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page, in the language of its reader. ``values``: what its template and the frame show."""
        text = _templates(current_language()).get_template(f"{template}.html").render(base=self._base, **values)
        return HTMLResponse(text, status, headers={**HEADERS, "content-security-policy": POLICY})
