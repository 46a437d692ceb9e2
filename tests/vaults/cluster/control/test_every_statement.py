"""Every function that asks something of control.db, run over a file and PostgreSQL: both say the same.

Functions are found by what they take, a ``Reader`` or a ``Writer``. A new one fails here until ``SCRIPT`` runs it.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import auth
from auth import access, daily_usage, grants, key_rotation, plan_holders, tokens
from auth.keys import KeyRing, add_key, open_key_ring
from auth.oauth import client_logins, clients, codes, consents, device_codes
from auth.oauth.clients import Client
from auth.oauth.codes import CodeRequest
from auth.oauth.consents import Consent
from auth.oauth.login_terms import LoginTerms
from auth.outside import identities
from auth.outside.id_tokens import OutsideIdentity
from auth.people import accounts, browser_sessions, challenges, invites, passkeys, people
from auth.people.passkeys import NewPasskey
from auth.plan_holders import PlanHolder
from auth.principal import LOCAL
from auth.roles import Role
from auth.settings import GroupGrantSettings, ProviderSettings
from auth.tokens import TokenRequest
from ops.backup import backup_runs, drill_records, restored_registration
from ops.backup.backup_runs import BackupRun
from ops.backup.restored_registration import RestoreTarget
from ops.backup.subject import GrantRecord, VaultRecord
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from vaults import registry
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres.connections import Connections
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.db.transactions import Transactions
from vaults.registry import VaultEntry, VaultRules
from vaults.settings import StorageSettings

MODULES = (
    *(found.name for found in pkgutil.walk_packages(auth.__path__, "auth.")),
    "vaults.registry",
    "ops.backup.backup_runs",
    "ops.backup.drill_records",
    "ops.backup.restored_registration",
    "ops.vault_life.folder_moves",
)
NOW = 1_800_000_000.0
SECRET = b"0" * 32


class Run:
    """One run of the script. ``said``: what each call returned, with what is random left out."""

    def __init__(self, control: Transactions, ring: KeyRing, data: Path) -> None:
        self.control, self.ring, self.data = control, ring, data
        self.ran: set[tuple[str, str]] = set()
        self.said: list[tuple[str, Any]] = []

    async def do(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call it in a transaction of its own."""

        def work(tx: Any) -> Any:
            with self._noting():
                return function(tx, *args, **options)

        found = await self.control.write(work)
        self.said.append((function.__qualname__, told(found)))
        return found

    @contextmanager
    def _noting(self) -> Iterator[None]:
        def note(frame: FrameType, event: str, _what: object) -> None:
            if event == "call":
                self.ran.add((str(frame.f_globals.get("__name__")), frame.f_code.co_name))

        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)


def told(found: Any) -> Any:
    """What may be compared: shapes, numbers and truth; texts that are random by their being there alone."""
    if isinstance(found, Mapping):
        return sorted(((len(str(key)), repr(told(value)))) for key, value in found.items())
    if isinstance(found, list | tuple):
        return [told(each) for each in found]
    if is_dataclass(found):
        return [type(found).__name__, *(told(getattr(found, name)) for name in found.__dataclass_fields__)]
    return found if isinstance(found, int | float | None) else type(found).__name__


def required() -> set[tuple[str, str]]:
    """Every function of these modules that takes a reader or a writer."""
    found = set()
    for name in MODULES:
        module = importlib.import_module(name)
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == name:
                takes = {each.annotation for each in inspect.signature(function).parameters.values()}
                if takes & {"Reader", "Writer"}:
                    found.add((name, function.__name__))
    return found


async def vaults_and_grants(run: Run) -> None:
    for name in ("main", "second", "third"):
        await run.do(registry.create, name)
    main: VaultEntry = await run.do(registry.get, "main")
    await run.do(registry.create, "placed", run.data / "placed")
    await run.do(registry.relocate, "placed", run.data / "moved")
    await run.do(registry.set_rules, "main", VaultRules("ask", "auto"))
    await run.do(registry.copy_rules, main, "second")
    await run.do(registry.archive, "placed")
    await run.do(registry.unarchive, "placed")
    await run.do(registry.announce_work, main.vault_id)
    await run.do(registry.announce_work, main.vault_id)
    assert list(await run.do(registry.list_announced_work)) == [main.vault_id]
    await run.do(registry.note_version, "1")
    await run.do(registry.note_version, "2")
    assert await run.do(registry.written_by) == "2"
    await run.do(registry.note_joined)
    await run.do(registry.joined_at)
    for vault, role in (("main", Role.READER), ("*", Role.WRITER), ("third", Role.ADMIN)):
        await run.do(grants.set_grant, "ann", LOCAL, vault, role)
    await run.do(grants.set_grant, "Bob % _", "https://issuer", "main", Role.READER)
    await run.do(grants.raise_grant, "ann", LOCAL, "main", Role.ADMIN)
    await run.do(grants.follow_groups, "eve", "idp", {"main": Role.READER})
    await run.do(grants.list_grants)
    await run.do(grants.list_issuers)
    assert len(await run.do(grants.grants_of, ("ann", "sub:eve", "nobody"), LOCAL)) == 4
    assert await run.do(grants.grants_of, (), LOCAL) == []
    assert (await run.do(grants.find_grants, "b % _", 10))[1] == 1
    await run.do(grants.remove_grant, "ann", LOCAL, "*")
    await run.do(plan_holders.set_plan, PlanHolder("vault", "main"), "big")
    await run.do(plan_holders.set_plan, PlanHolder("subject", "ann", LOCAL), "small")
    await run.do(plan_holders.set_plan, PlanHolder("subject", "bob", LOCAL), "small")
    await run.do(plan_holders.list_plan_assignments)
    await run.do(plan_holders.remove_plan, PlanHolder("subject", "bob", LOCAL))
    await run.do(plan_holders.load_holders)


async def keys_and_tokens(run: Run) -> None:
    ann = TokenRequest("ann", ("main", "third"), Role.READER, 3600)
    made = await run.do(tokens.create_token, run.ring, "i", ann)
    await run.do(tokens.create_token, run.ring, "i", TokenRequest("bob", ("*",), Role.ADMIN, 3600))
    await run.do(tokens.issue_token, run.ring, "i", ann)
    await run.do(tokens.find_token, made.id)
    await run.do(tokens.list_tokens)
    await run.do(tokens.list_tokens, "ann")
    assert (await run.do(tokens.find_tokens, "AN", 10, alive_at=datetime.now(UTC).timestamp()))[1] == 2
    await run.do(tokens.ending_tokens, datetime.now(UTC), timedelta(days=1))
    await run.do(tokens.has_local_tokens, "ann")
    await run.do(tokens.revoke_token, made.id)
    await run.do(tokens.revoke_subject, "ann")
    await run.do(access.load_access)
    old = run.ring.newest
    add_key(run.ring)
    await run.do(key_rotation.note_ends, run.ring.keys)
    await run.do(key_rotation.uses_of, run.ring.keys)
    await run.do(key_rotation._forget, kid=old.kid)
    for _ in range(2):
        await run.do(daily_usage._add, {("token:x", "2027-01-15"): 2, ("y", "2027-01-14"): 1}, "2027-01-15")
    await run.do(daily_usage._read_totals, ["token:x", "none"], "2027-01-15")
    assert await run.do(daily_usage.find_counted, "token:") == {"x"}


async def people_who_sign_in(run: Run) -> None:
    link = await run.do(accounts.invite, "ann", NOW)
    await run.do(invites.invited, link, NOW)
    await run.do(people.add, "carl", NOW)
    await run.do(people.set_password, "carl", "kept")
    await run.do(people.find, "ann")
    await run.do(people.require, "ann")
    await run.do(people.list_people)
    assert (await run.do(people.find_people, "AN", 10))[1] == 1
    await run.do(people.is_enabled, "ann")
    secret = await run.do(browser_sessions.start, "ann", "a browser", NOW)
    session = await run.do(browser_sessions.find, secret, NOW + 1)
    await run.do(browser_sessions.note_seen, session.id, NOW + 100_000)
    await run.do(browser_sessions.list_sessions, "ann", NOW)
    await run.do(browser_sessions.end, "ann", session.id)
    challenge = challenges.make_challenge(SECRET, "sign-in", NOW)
    assert [await run.do(challenges.use_up, challenge, NOW) for _ in range(2)] == [True, False]
    await run.do(accounts.take_passkey, "ann", "phone", NewPasskey("id-1", b"\0key", 0), NOW)
    await run.do(passkeys.add, "ann", "stick", NewPasskey("id-2", b"key", 5), NOW)
    assert (await run.do(passkeys.find, "id-1")).public_key == b"\0key"
    await run.do(passkeys.list_passkeys, "ann")
    await run.do(passkeys.note_use, "id-2", 6, NOW)
    await run.do(accounts.drop_passkey, "ann", "id-2")
    await run.do(accounts.change_password, "ann", "kept")
    provider = ProviderSettings(
        name="idp",
        issuer="https://issuer",
        client_id="c",
        grants=(GroupGrantSettings(group="staff", vault="main", role="reader"),),
    )
    dora = OutsideIdentity("sub-1", "dora", None, frozenset({"staff"}))
    arrived = await run.do(identities.arrive, provider, dora, NOW)
    await run.do(identities.arrive, provider, dora, NOW)
    await run.do(identities.find_person, "https://issuer", "sub-1")
    await run.do(identities.shut_out, arrived.person, "idp", NOW)
    await run.do(identities.forget, arrived.person)


async def programs_let_in(run: Run) -> None:
    client = Client("client-1", "A client", ("https://c/cb",), "none")
    await run.do(clients.register, client, NOW)
    await run.do(clients.describe_again, client, NOW)
    await run.do(clients.keep, "client-1", NOW + 1)
    await run.do(clients.find, "client-1", NOW)
    terms = LoginTerms("client-1", "ann", "main", Role.READER, 30, None)
    await run.do(consents.remember, "ann", "client-1", Consent("main", Role.READER, 30, "2027-01-01T00:00:00Z"), NOW)
    await run.do(consents.last_consents, "ann", "client-1")
    code = await run.do(codes.make_code, CodeRequest(terms, "https://c/cb", True, "challenge"), NOW)
    stored = await run.do(codes.find, code, "client-1")
    assert stored.asked.redirect_named is True
    assert [await run.do(codes.use, stored, NOW) for _ in range(2)] == [True, False]
    refresh = await run.do(client_logins.start, stored.login, terms, NOW)
    await run.do(client_logins.start_unrenewed, "login-2", terms, NOW)
    login = (await run.do(client_logins.find_refresh_token, refresh)).login
    assert await run.do(client_logins.rotate, refresh, login, NOW + 1) is not None
    await run.do(tokens.issue_token, run.ring, "i", TokenRequest("ann", ("main",), Role.READER, 60), login=login.id)
    held = await run.control.read(lambda tx: tx.value("SELECT id FROM tokens WHERE login IS NOT NULL"))
    assert (await run.do(client_logins.login_of_token, held)).id == login.id
    await run.do(client_logins.find, login.id)
    await run.do(client_logins.list_logins, "ann", NOW)
    assert (await run.do(client_logins.find_logins, "CLIENT", NOW, 10))[1] == 2
    assert (await run.do(clients.find_clients, "client", NOW, 10))[1] == 1
    await run.do(client_logins.end, "login-2", NOW, "revoked")
    device, typed = await run.do(device_codes.ask, "a laptop", "127.0.0.1", None, NOW)
    asked = await run.do(device_codes.find_pending, typed, NOW)
    await run.do(device_codes.decide, asked.user_code, LoginTerms("", "ann", "main", Role.READER, 30, None), NOW)
    await run.do(device_codes.find_state, device, NOW)
    assert await run.do(device_codes.redeem, device, NOW) is not None
    assert await run.do(device_codes.redeem, device, NOW) is None


async def backups(run: Run) -> None:
    main = await run.do(registry.get, "main")
    for outcome in ("ok", "failed", "ok"):
        made = BackupRun(main.vault_id, "main", "2027-01-01T00:00:00Z", 1.5, 10, 5, "/b/a.tar.zst", 3, outcome)
        await run.do(backup_runs.record, made)
    assert (await run.do(backup_runs.newest, main.vault_id)).seconds == 1.5
    await run.do(backup_runs.newest_at, main.vault_id, "/b")
    assert len(await run.do(backup_runs.list_archives, main.vault_id)) == 1
    await run.do(backup_runs.list_ids)
    await run.do(backup_runs.list_runs, main.vault_id)
    await run.do(drill_records.claim, [main.vault_id], 10.0)
    await run.do(drill_records.record, main.vault_id, "passed", "a backup")
    await run.do(drill_records.record, "gone", "passed")
    await run.do(drill_records.read_all, [main.vault_id])
    await run.do(drill_records.claim, [main.vault_id], 10.0)
    record = VaultRecord(
        name="restored",
        vault_id="id-of-it",
        path=None,
        preset="agent",
        write_mode="ask",
        destructive="ask",
        created_at="2027-01-01T00:00:00Z",
        plan="big",
        grants=(GrantRecord(subject="ann", issuer=LOCAL, role="reader", created_at="2027-01-01T00:00:00Z"),),
    )
    entry = VaultEntry("restored", "id-of-it", None, "active", "agent", "auto", "2027-01-01T00:00:00Z")
    target = RestoreTarget(entry, run.data / "restored", is_new=True, record=record)
    await run.do(restored_registration.register_in, target, with_grants=True)
    move = FolderMove(main.vault_id, "rename", "main", "other")
    await run.do(folder_moves.record, move)
    await run.do(folder_moves.list_moves)
    await run.do(folder_moves.lies_elsewhere, run.data, main.vault_id)
    await run.do(folder_moves.forget, main.vault_id)
    await run.do(folder_moves.refuse_if_moving, "main")
    await run.do(folder_moves._ids_of, "main")


async def ends(run: Run) -> None:
    tables = (grants, plan_holders, tokens, client_logins, consents)
    await run.do(registry.rename, "main", "renamed")
    for table in tables:
        await run.do(table.rename_vault, "main", "renamed")
    await run.do(consents.forget, "ann", "client-1", "renamed")
    for table, vault in itertools.product(tables, ("renamed", "third")):
        await run.do(table.remove_vault, vault)
    await run.do(accounts.reset, "carl", NOW)
    await run.do(accounts.disable, "ann", NOW)
    await run.do(registry.remove, "renamed")
    await run.do(registry.list_vaults)
    await run.do(access.load_access)


SCRIPT = (vaults_and_grants, keys_and_tokens, people_who_sign_in, programs_let_in, backups, ends)


async def run_all(control: Transactions, folder: Path) -> Run:
    run = Run(control, open_key_ring(folder / "keys"), folder)
    for part in SCRIPT:
        await part(run)
    await control.close()
    return run


async def test_both_run_every_statement_and_say_the_same(connections: Connections, tmp_path: Path) -> None:
    db = Database(tmp_path / "control.db", StorageSettings())
    await migrate(db, "control")
    on_file = await run_all(db, tmp_path / "file")
    shared = await run_all(PostgresControl(connections), tmp_path / "shared")
    assert shared.said == on_file.said
    assert required() <= shared.ran, sorted(required() - shared.ran)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path) -> None:
    for name in ("file", "shared"):
        (tmp_path / name).mkdir()
