"""``strongroom key``: what signs, and changing it."""

from __future__ import annotations

from tests.server.cli.command import Strongroom


def test_a_new_key_signs_and_the_old_one_is_listed_as_long_as_it_is_needed(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    strongroom("token", "create", "--subject", "alice", "--vault", "one", "--role", "reader", "--ttl", "1d")
    (first,) = strongroom("key", "list", "--json").json["keys"]
    assert (first["file"], first["state"], first["tokens"]) == ("0001.pem", "signs", 1)
    done = strongroom("key", "rotate")
    assert done.code == 0
    old, new = strongroom("key", "list", "--json").json["keys"]
    assert (old["kid"], old["state"]) == (first["kid"], "verifies")
    assert old["needed_until"]
    assert (new["file"], new["state"]) == ("0002.pem", "signs")
    assert new["kid"] in done.out
    assert "0002.pem" in strongroom("key", "list").out


def test_a_wrong_passphrase_stops_the_command_by_the_name_of_the_setting(strongroom: Strongroom) -> None:
    file = strongroom.data.parent / "passphrase"
    file.write_text("right")
    strongroom("vault", "create", "one")
    strongroom("key", "rotate", STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file))
    without = strongroom("key", "list")
    assert (without.code, "auth.key_passphrase_file" in without.err) == (2, True)
    file.write_text("wrong")
    create = ("token", "create", "--subject", "a", "--vault", "one", "--role", "reader")
    wrong = strongroom(*create, STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file))
    assert (wrong.code, "does not open the signing key" in wrong.err) == (2, True)
    file.write_text("right\n")
    assert strongroom(*create, STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file)).code == 0
