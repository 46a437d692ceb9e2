"""``strongroom user``: who may sign in."""

from __future__ import annotations

from tests.server.cli.command import Strongroom


def test_somebody_is_invited_shut_out_and_let_in_again(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    made = strongroom("user", "invite", "ann", "--vault", "main", "--role", "reader")
    assert made.code == 0
    assert made.out.startswith("http://127.0.0.1:8700/oauth/invite?link=")
    grants = strongroom("grant", "list", "--json").json["grants"]
    assert ("ann", "main", "reader") in [(each["subject"], each["vault"], each["role"]) for each in grants]
    again = strongroom("user", "invite", "ann", "--json").json
    assert again["link"] not in made.out
    assert [each["state"] for each in strongroom("user", "list", "--json").json["users"]] == ["invited"]
    token = strongroom("token", "create", "--subject", "ann", "--vault", "main", "--role", "reader", "--json").json
    assert strongroom("user", "disable", "ann").code == 0
    listed = strongroom("user", "list").out
    assert "disabled" in listed
    tokens = strongroom("token", "list", "--json").json["tokens"]
    assert next(each for each in tokens if each["id"] == token["id"])["revoked_at"]
    assert strongroom("user", "invite", "ann").code == 1
    assert strongroom("user", "reset", "ann").out.startswith("http://127.0.0.1:8700/oauth/invite?link=")
    assert [each["state"] for each in strongroom("user", "list", "--json").json["users"]] == ["invited"]
    actions = strongroom("audit", "search", "--installation", "--tool", "user", "--json").out
    assert all(f'"{action}"' in actions for action in ("invite", "disable", "reset"))
    assert again["link"].partition("link=")[2] not in actions


def test_names_and_vaults_that_cannot_be_are_refused(strongroom: Strongroom) -> None:
    for name in ("*", "group:admins", " ann", "a\x00b", ""):
        assert strongroom("user", "invite", name).code == 2, name
    assert strongroom("user", "invite", "ann", "--vault", "nowhere").code == 1
    for command in ("reset", "disable"):
        assert strongroom("user", command, "nobody").code == 1
    assert strongroom("user", "list", "--json").json == {"users": []}


def test_no_link_is_made_for_a_server_nobody_signs_in_to(strongroom: Strongroom) -> None:
    for environment in (
        {"STRONGROOM_AUTH__LOGIN": "off"},
        {"STRONGROOM_AUTH__PUBLIC_URL": "http://mem.example.org"},
        {"STRONGROOM_AUTH__PUBLIC_URL": "http://mem.example.org", "STRONGROOM_AUTH__LOGIN": "local"},
        {"STRONGROOM_AUTH__MODE": "none", "STRONGROOM_AUTH__LOGIN": "local"},
    ):
        refused = strongroom("user", "invite", "ann", **environment)
        assert (refused.code, "auth.login" in refused.err) == (2, True), refused
    there = strongroom("user", "invite", "ann", STRONGROOM_AUTH__PUBLIC_URL="https://mem.example.org/base")
    assert there.out.startswith("https://mem.example.org/base/oauth/invite?link=")


def test_a_grant_to_who_signs_in_here_is_not_for_somebody_of_that_name_elsewhere(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    (strongroom.data / "strongroom.toml").write_text(
        '[auth]\nlogin = "local"\n[[auth.issuers]]\nissuer = "https://id.example"\njwks_url = "https://id.example/keys"\n'
    )
    assert strongroom("user", "invite", "ann").code == 0
    for name in ("ann", "ben"):
        assert strongroom("grant", "set", name, "main", "reader").code == 0
    grants = strongroom("grant", "list", "--json").json["grants"]
    assert {each["subject"]: each["issuer"] for each in grants} == {"ann": "local", "ben": "https://id.example"}
