"""``strongroom plan`` and ``strongroom licence``, and what settings say of them.

Covers ops.doctor.limits, server.cli.licence.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.blanks import lay_out
from tests.server.cli.command import Strongroom

TEAM = '[plans.team]\nstores_per_day = 3\nmemories = 100\nsize = "50MB"\n'


@pytest.fixture
def house(strongroom: Strongroom) -> Strongroom:
    """One with vault main and a plan of its own."""
    strongroom.data.mkdir()
    (strongroom.data / "strongroom.toml").write_text(TEAM)
    lay_out(strongroom.data, ("main",))
    assert strongroom("vault", "create", "main").code == 0
    return strongroom


def lines(path: Path, count: int, start: int = 0) -> str:
    path.write_text("\n".join(json.dumps({"content": f"line {start + n}"}) for n in range(count)))
    return str(path)


def test_a_plan_set_is_listed_and_holds_until_it_is_unset(house: Strongroom) -> None:
    assert house("plan", "set", "team", "--vault", "main").code == 0
    assert house("plan", "set", "free", "--subject", "email:ann@example.org").code == 0
    found = house("plan", "list", "--json").json
    assert found["default"] == "unlimited"
    assert found["plans"]["team"] == {
        "stores_per_day": 3, "memories": 100, "size": 50_000_000, "calls_per_minute": None,
    }  # fmt: skip
    held = [(each["kind"], each["name"], each["issuer"], each["plan"]) for each in found["holders"]]
    assert held == [("vault", "main", "", "team"), ("subject", "email:ann@example.org", "local", "free")]
    shown = house("plan", "list")
    assert "team" in shown.out
    assert "50,000,000" in shown.out
    limits = house("call", "status", "--vault", "main").json["limits"]
    assert (limits["plan"], limits["vault_plan"]) == ("unlimited", "team")
    assert house("plan", "unset", "--vault", "main").code == 0
    assert house("call", "status", "--vault", "main").json["limits"].get("bounds", []) == []
    assert house("plan", "unset", "--vault", "main").code == 1


@pytest.mark.parametrize(
    "args",
    [
        ("set", "gold", "--vault", "main"),
        ("set", "free"),
        ("set", "free", "--vault", "main", "--subject", "ann"),
        ("set", "free", "--vault", "none"),
        ("set", "free", "--vault", "*"),
        ("set", "free", "--vault", "main", "--issuer", "local"),
        ("set", "free", "--subject", "*"),
        ("set", "free", "--subject", "two\nlines"),
        ("unset", "--subject", "nobody"),
    ],
)
def test_a_plan_for_nobody_or_one_that_is_none_is_refused_in_a_line(house: Strongroom, args: tuple[str, ...]) -> None:
    ran = house("plan", *args)
    assert ran.code in (1, 2)
    assert ran.err.startswith("strongroom: ")
    assert ran.err.count("\n") == 1
    assert house("plan", "list", "--json").json["holders"] == []


def test_an_import_beyond_the_day_keeps_what_fits_and_says_when_to_go_on(house: Strongroom, tmp_path: Path) -> None:
    house("plan", "set", "team", "--vault", "main")
    ran = house("import", "jsonl", lines(tmp_path / "in.jsonl", 5), "--vault", "main")
    assert ran.code == 1
    assert "3 stored" in ran.err
    assert "the count starts again at" in ran.err
    assert house.memories() == 3


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("STRONGROOM_LIMITS__PLAN", "gold", "limits.plan"),
        ("STRONGROOM_PLANS__UNLIMITED", '{"memories": 1}', "plans.unlimited"),
        ("STRONGROOM_PLANS__TEAM", '{"seats": 1}', "plans.team.seats"),
        ("STRONGROOM_PLANS__TEAM", "{", "plans.team"),
        ("STRONGROOM_PLANS__TEAM", "5", "plans.team"),
    ],
)
def test_a_plan_that_cannot_be_stops_the_start_naming_the_key(
    house: Strongroom, name: str, value: str, key: str
) -> None:
    ran = house("config", "check", **{name: value})
    assert ran.code == 2
    assert ran.err.startswith(f"strongroom: {key} ")


def test_plans_come_from_the_environment_too(house: Strongroom) -> None:
    ran = house("plan", "list", "--json", STRONGROOM_PLANS__GUEST='{"memories": 5}', STRONGROOM_LIMITS__PLAN="guest")
    assert ran.json["default"] == "guest"
    assert ran.json["plans"]["guest"]["memories"] == 5
    assert house("config", "show", "--json").json["settings"]["plans.team"]["value"]["memories"] == 100


def test_a_plan_that_is_gone_from_the_settings_is_seen_by_doctor(house: Strongroom) -> None:
    house("plan", "set", "team", "--vault", "main")
    (house.data / "strongroom.toml").unlink()
    checks = {each["name"]: each for each in house("doctor", "--json").json["checks"]}
    assert checks["plans"]["status"] == "warning"
    assert checks["plans"]["details"] == ["team"]
    assert "no such plan" in house("plan", "list").out


def signed(house: Strongroom, tmp_path: Path, *args: str) -> None:
    """A licence in its place, and the key in the settings."""
    assert house("licence", "key", "--out", str(tmp_path / "keys")).code == 0
    key = str(tmp_path / "keys" / "licence-private.pem")
    ran = house("licence", "sign", "ACME", "--key", key, *args, "--out", str(house.data / "licence.jwt"))
    assert ran.code == 0, ran.err
    public = tmp_path / "keys" / "licence-public.pem"
    (house.data / "strongroom.toml").write_text(f'[limits]\nplan = "free"\nlicence_key_file = "{public}"\n')


def test_a_licence_is_signed_shown_and_lifts_what_it_names(house: Strongroom, tmp_path: Path) -> None:
    machine = house("licence", "show", "--json").json["machine"]
    signed(house, tmp_path, "--plan", "free", "--stores-per-day", "500", "--memories", "none", "--machine", machine)
    shown = house("licence", "show")
    assert shown.code == 0
    assert shown.out.startswith("valid: the licence of ACME lifts the limits of free until ")
    bounds = house("call", "status", "--vault", "main").json["limits"]["bounds"]
    assert {(each["what"], each["limit"]) for each in bounds} == {("stores_per_day", 500)}


def test_an_admin_licence_lifts_everything(house: Strongroom, tmp_path: Path) -> None:
    signed(house, tmp_path, "--admin", "--ttl", "1d")
    assert house("call", "status", "--vault", "main").json["limits"].get("bounds", []) == []
    checks = {each["name"]: each["status"] for each in house("doctor", "--json").json["checks"]}
    assert checks["licence"] == "ok"


def test_a_licence_of_another_installation_lifts_nothing_and_everything_else_goes_on(
    house: Strongroom, tmp_path: Path
) -> None:
    signed(house, tmp_path, "--admin", "--machine", "another")
    shown = house("licence", "show", "--json")
    assert (shown.code, shown.json["state"]) == (1, "machine")
    assert house("call", "status", "--vault", "main").json["limits"]["plan"] == "free"
    checks = {each["name"]: each["status"] for each in house("doctor", "--json").json["checks"]}
    assert checks["licence"] == "warning"


def test_keys_are_private_and_never_written_over(house: Strongroom, tmp_path: Path) -> None:
    assert house("licence", "key", "--out", str(tmp_path / "keys")).code == 0
    private = tmp_path / "keys" / "licence-private.pem"
    before = private.read_bytes()
    assert private.stat().st_mode & 0o077 == 0
    assert house("licence", "key", "--out", str(tmp_path / "keys")).code == 1
    assert private.read_bytes() == before


@pytest.mark.parametrize(
    "args",
    [
        ("--plan", "free"),
        ("--memories", "5"),
        ("--plan", "free", "--memories", "many"),
        ("--plan", "free", "--size", "huge"),
        ("--plan", "No Plan", "--memories", "5"),
        ("--plan", "free", "--memories", "5", "--admin"),
        ("--admin", "--ttl", "soon"),
        ("--admin", "--ttl", "0s"),
        ("--admin", "--machine", ""),
        ("--admin", "--key", "nowhere.pem"),
    ],
)
def test_a_licence_for_nothing_is_not_signed(house: Strongroom, tmp_path: Path, args: tuple[str, ...]) -> None:
    house("licence", "key", "--out", str(tmp_path))
    ran = house("licence", "sign", "ACME", "--key", str(tmp_path / "licence-private.pem"), *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("strongroom: ")
