"""What forms of the administration have in common: fields, questions asked first, and refusals."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from auth.access import EVERY_VAULT
from auth.principal import NAME_LIMIT
from server.ui.admin_view import AdminView
from server.ui.vault_view import AGREED

ROLES = ("reader", "writer", "admin")

_LONGEST = NAME_LIMIT + 8
"""Characters read of a name. One that is longer is refused all the same, and the audit keeps no more of it."""


@dataclass(frozen=True, slots=True)
class AdminQuestion:
    """An act that is asked about before it is done. ``name``: its texts below ``agree``."""

    name: str


def ask_first(view: AdminView, here: str, question: str, about: str, address: str, **hidden: str) -> Response:
    """The page that says what would be done, with the same form again and the person's word added; ``address``: below
    the administration, where the form goes and where whoever does not agree is led back to."""
    return view.page(
        "agree",
        here=here,
        status=409,
        form=AdminQuestion(question),
        hidden={**hidden, AGREED: "yes"},
        address=f"{view.home}{address}",
        about=about,
    )


def has_agreed(view: AdminView) -> bool:
    """Whether the form is that of ``ask_first``."""
    return view.text(AGREED) == "yes"


def name_field(view: AdminView, name: str) -> str:
    """A name as it was typed, without blanks around."""
    return view.text(name).strip()[:_LONGEST]


def vaults_field(view: AdminView) -> tuple[str, ...]:
    """The vaults that were ticked. A name is cut as in ``name_field``: whatever was sent is shown again."""
    return tuple(dict.fromkeys(each[:_LONGEST] for each in view.form.getlist("vault") if isinstance(each, str)))


def vault_choices(view: AdminView) -> tuple[str, ...]:
    """What may be ticked: every vault at once, or those there are."""
    return (EVERY_VAULT, *sorted(view.services.registry_cache.names()))
