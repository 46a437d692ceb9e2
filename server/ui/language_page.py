"""The choice of a language at the foot of every page."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from server.languages import LANGUAGES
from server.oauth.visits import Visits
from server.ui.page import PersonPage
from server.ui.person_view import PersonView


async def show(view: PersonView) -> Response:
    """There is nothing to see but the choice itself."""
    return RedirectResponse(f"{view.parts.base}/ui/", 303)


async def change(view: PersonView) -> Response:
    """Keep the choice in this browser, and lead back to the page it was made on."""
    answer = RedirectResponse(_came_from(view), 303)
    chosen = view.form.get("language")
    if chosen in LANGUAGES:
        Visits(view.parts).remember_language(answer, str(chosen))
    return answer


def _came_from(view: PersonView) -> str:
    """The page of ours a browser says it comes from. A field of the form could not say it: the page for a vault that is
    not there would differ from that for one of others."""
    home = f"{view.parts.base}/ui/"
    try:
        came = urlsplit(view.request.headers.get("referer", ""))
    except ValueError:
        return home
    if not came.path.startswith(home):
        return home
    return f"{came.path}?{came.query}" if came.query else came.path


PAGE = PersonPage("language", show, change)
