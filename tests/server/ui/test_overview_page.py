"""The overview of an installation: what there is, what needs a person, and what was done last, by whom.

Covers server.ui.overview_page and server.installation_checks.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
import pytest_asyncio

from auth.access import EVERY_VAULT
from auth.keys import open_key_ring
from auth.people import accounts
from auth.roles import Role
from auth.tokens import TOKEN_SEEN, TokenRequest, create_token
from ops.audit.entries import AuditActor, AuditEntry
from ops.audit.links import INSTALLATION
from ops.backup import backup_runs
from ops.backup.backup_runs import BackupRun
from server import vault_admin
from server.version import version
from tests.server.ui.stage import HOSTILE, Guest, Stage, open_stage
from vaults.errors import IndexUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def set_up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, Guest]]:
    """A server with backups every hour that nobody makes and a part that is not well, and who administers it."""
    folder = tmp_path_factory.mktemp("overview")
    (folder / "backups").mkdir()
    flags = {"backup.every": "1h", "backup.to": str(folder / "backups")}

    async def ping() -> str:
        return "full"

    async with open_stage(folder, **flags) as stage:
        stage.services.health.register("disk", ping, required=False)
        yield stage, await stage.person("ada", Role.ADMIN, EVERY_VAULT)


def figures_of(page: str) -> dict[str, int]:
    """The numbers on top, by what they count."""
    found = re.findall(
        r"<div><dt>([^<]*)</dt><dd><a [^>]*>([\d,]+)</a></dd></div>", page.partition('class="columns"')[0]
    )
    return {what: int(number) for what, number in found}


def part(page: str, name: str) -> str:
    """The text of a section."""
    found = page.partition(f'<h2 id="{name}">')[2].partition("</section>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found)).split())


async def test_it_counts_what_there_is(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    await stage.person("bert")
    await stage.person("cora")
    await stage.services.control.write(lambda tx: accounts.disable(tx, "cora", 0))
    await vault_admin.create(stage.services, "old")
    await vault_admin.archive(stage.services, "old")
    page = (await ada.open("/ui/admin/")).text
    assert figures_of(page) == {"vaults served": 2, "archived": 1, "people": 2}
    assert f"Version {version()}" in page


async def test_tokens_in_use_that_end_soon_are_counted_and_told(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    ring = open_key_ring(stage.services.data / "keys")
    made = datetime.now(UTC) - timedelta(days=20)

    def write(tx: object) -> str:
        asked = TokenRequest("agent-<b>7", ("main",), Role.WRITER, 3 * 86_400)
        token = create_token(tx, ring, stage.services.instance_id, asked)  # type: ignore[arg-type]
        tx.run(  # type: ignore[attr-defined]
            "UPDATE tokens SET created_at = :made WHERE id = :id",
            {"made": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "id": token.id},
        )
        return token.id

    token_id = await stage.services.access_cache.write(write)
    stage.services.daily_usage.mark_seen(TOKEN_SEEN + token_id)
    await stage.services.daily_usage.flush()
    page = (await ada.open("/ui/admin/")).text
    assert figures_of(page)["token in use that ends within a week"] == 1
    assert "agent-<b>7, writer of main" in part(page, "needs")
    assert "<b>7" not in page
    assert 'href="/ui/admin/tokens"' in page.partition('id="needs"')[2]


async def test_a_backup_that_is_old_and_failed_needs_a_person(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    fine = (await ada.open("/ui/admin/")).text
    assert "have no good backup" not in part(fine, "needs")
    entry = stage.services.registry_cache.entry("main")
    for days, outcome in ((3, "ok"), (1, "storage_full")):
        at = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        target = str(stage.services.data / "backups" / "vaults" / "main")
        run = BackupRun(entry.vault_id, "main", at, 1.0, 1, 1, target, 1, outcome)
        await stage.services.control.write(lambda tx, run=run: backup_runs.record(tx, run))  # type: ignore[misc]
    told = part((await ada.open("/ui/admin/")).text, "needs")
    assert "1 vaults have no good backup of the last 2h" in told
    assert "storage_full" in told


async def test_a_vault_whose_files_are_gone_needs_a_person(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    folder = stage.services.data / "vaults" / "other"
    folder.rename(folder.with_name("moved"))
    try:
        page = (await ada.open("/ui/admin/")).text
        assert "other its files are not there" in part(page, "needs")
        assert 'href="/ui/admin/vaults/other"' in page
        assert figures_of(page)["vault that cannot be opened"] == 1
    finally:
        folder.with_name("moved").rename(folder)


async def test_a_part_that_is_not_well_is_named(set_up: tuple[Stage, Guest]) -> None:
    _, ada = set_up
    assert "disk is not well: full" in part((await ada.open("/ui/admin/")).text, "needs")


async def test_what_was_done_last_stands_there_in_words(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    made = await ada.open("/ui/admin/vaults")
    await ada.send(made, "create", name="harbour")
    await ada.send(made, "create", name="main")
    actor = AuditActor(subject=HOSTILE[:200], issuer="cli")
    await stage.services.audit.append(INSTALLATION, AuditEntry("act", "<i>x", "ok", actor=actor, action="do_it"))
    page = (await ada.open("/ui/admin/")).text
    told = part(page, "acts")
    assert "ada made the vault harbour" in told
    assert re.search(r"ada made the vault main .{5,40}not done: already exists", told)
    assert "<i>x do it" in told
    for live in ("<script>alert", "<i>x", "\u202e", 'href="javascript'):
        assert live not in page


async def test_an_audit_that_cannot_be_searched_hides_nothing_else(
    set_up: tuple[Stage, Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ada = set_up

    async def fail(*_: object) -> None:
        raise IndexUnavailable("the audit is indexed for the first time")

    monkeypatch.setattr("server.ui.overview_page.searching.search", fail)
    page = await ada.open("/ui/admin/")
    assert page.status_code == 200
    assert "indexed for the first time" in page.text
    assert figures_of(page.text)
