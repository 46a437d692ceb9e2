"""The installation at a glance: what there is, what needs a person, and what was done last."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from starlette.responses import Response

from auth.people import people
from auth.tokens import ending_tokens
from ops.audit import searching
from ops.audit.links import INSTALLATION
from ops.audit.searching import AuditQuery
from ops.doctor.check import GRAVE, DoctorCheck
from ops.doctor.machine import Machine, data_folder, disk_space
from ops.health import WELL
from server.installation_checks import examine_installation
from server.services import Services
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage
from server.ui.vault_lines import VaultLine, read_lines
from server.ui.vault_view import Complaint, refusal_of
from server.version import version
from vaults.errors import StrongroomError

ACTS = 20
ENTRIES = 500
"""Entries of the audit looked through for them: between acts it says where the chains of vaults stood."""

AUDIT_WAIT_S = 2.0
SOON = timedelta(days=7)

MENDED = {"licence": "licence", "plans": "vaults", "tokens": "tokens", "vault_folders": "vaults"}
"""Where in the administration somebody mends what a check finds; for the others its words say what helps."""


async def show(view: AdminView) -> Response:
    """The page."""
    services = view.services
    lines, checks, acts = await asyncio.gather(read_lines(services), _examine(services), _read_acts(services))
    persons, ending = await services.control.read(
        lambda tx: (people.list_people(tx), ending_tokens(tx, datetime.now(UTC), SOON))
    )
    health = await services.health.ready()
    done, complaint = acts
    return view.page(
        "overview",
        here="overview",
        version=version(),
        figures=_count(lines, sum(each.disabled_at is None for each in persons), len(ending)),
        ill=[(name, word) for name, word in health.parts.items() if word not in WELL],
        broken=[each for each in lines if each.state in ("damaged", "missing")],
        grave=[each for each in checks if each.status in GRAVE],
        notices=[each for each in checks if each.status == "notice"],
        fine=[each for each in checks if each.status == "ok"],
        mended=MENDED,
        acts=done,
        complaint=complaint,
    )


def _count(lines: Sequence[VaultLine], persons: int, ending: int) -> list[tuple[str, int, str]]:
    """The figures: a text, a number, and the page it leads to."""
    states = Counter(each.state for each in lines)
    return [
        ("served", states["active"], "vaults"),
        ("archived", states["archived"], "vaults"),
        ("broken", states["damaged"] + states["missing"], "vaults"),
        ("people", persons, "people"),
        ("ending", ending, "tokens"),
    ]


async def _examine(services: Services) -> list[DoctorCheck]:
    """What ``strongroom doctor`` says of the installation, but for what takes long: it reads no database through."""
    settings = services.settings
    machine = Machine(services.data, settings.storage, settings.embedding, settings.auth.key_passphrase_file)
    found = await asyncio.to_thread(lambda: [data_folder(machine), disk_space(machine)])
    return found + await examine_installation(services, services.registry_cache.entries())


async def _read_acts(services: Services) -> tuple[list[Mapping[str, Any]], Complaint | None]:
    """What was done last to the installation, newest first."""
    try:
        found = await searching.search(services.audit, INSTALLATION, AuditQuery(limit=ENTRIES), AUDIT_WAIT_S)
    except StrongroomError as failure:
        return [], refusal_of(failure)
    acts = (fields for each in found if (fields := each.fields()).get("kind") == "act")
    return [_read_fields(each) for each in islice(acts, ACTS)], None


def _read_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the page says of an act: by whom, what, to what."""
    details = fields.get("details", {})
    about = [fields.get("vault"), details.get("name"), details.get("subject"), details.get("to"), details.get("plan")]
    return {
        "at": fields["at"],
        "who": fields.get("subject", ""),
        "what": f"{fields.get('tool', '')}_{fields.get('action', '')}",
        "about": [each for each in about if isinstance(each, str) and each],
        "outcome": fields["outcome"],
    }


PAGE = AdminPage("", show)
