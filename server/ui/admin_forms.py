"""What forms of the administration have in common: fields, questions asked first, and refusals."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from starlette.responses import Response

from auth.access import EVERY_VAULT
from auth.principal import NAME_LIMIT
from server.ui.admin_view import AdminView
from server.ui.vault_view import AGREED

CHOICES = 50
"""Vaults that a form offers at once: whoever has more looks for some by their names."""

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


@dataclass(frozen=True, slots=True)
class VaultChoices:
    """What a form offers of the vaults. ``more``: how many others have the ``text`` in their names; ``is_cut``: whether
    there are too many to offer all, so that the form asks for one."""

    names: tuple[str, ...]
    more: int = 0
    text: str = ""
    is_cut: bool = False


def vault_choices(view: AdminView, chosen: Iterable[str] = (), without: Collection[str] = frozenset()) -> VaultChoices:
    """Every vault at once, what was chosen, and the first of the others, by name."""
    text = name_field(view, "vaults_text").lower()
    known = [each for each in all_vaults(view) if each not in without]
    first = [each for each in known if each == EVERY_VAULT or each in set(chosen)]
    fitting = [each for each in known if text in each and each not in first]
    return VaultChoices(
        (*first, *fitting[:CHOICES]), max(0, len(fitting) - CHOICES), text, is_cut=len(known) > CHOICES + 1
    )


def all_vaults(view: AdminView) -> tuple[str, ...]:
    """Every vault at once, and those there are."""
    return (EVERY_VAULT, *sorted(view.services.registry_cache.names()))


def is_looking(view: AdminView) -> bool:
    """Whether the form asks for other vaults to choose from, and nothing else."""
    return view.text("look") == "yes"
