"""What a server of several is set by."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from server.cluster_settings import URL_LIMIT, ClusterSettings
from vaults.errors import InvalidArgument

URL = "postgresql://strongroom:correct-horse@db.example.org/strongroom"


def test_a_server_is_one_of_several_only_where_a_database_is_named() -> None:
    assert not ClusterSettings().is_on
    assert ClusterSettings(url=URL).is_on
    assert ClusterSettings(url_file="/run/secrets/url").is_on


def test_the_address_is_read_from_its_file_without_what_editors_append(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{URL}\n")
    assert ClusterSettings(url_file=str(file)).read_url() == URL
    assert ClusterSettings(url=URL).read_url() == URL


def test_a_file_that_cannot_be_read_is_named_by_its_setting_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"cluster\.url_file cannot be read: No such file"):
        ClusterSettings(url_file=str(tmp_path / "none")).read_url()


@pytest.mark.parametrize("held", ["", "\n", "x" * (URL_LIMIT + 1)], ids=["empty", "blank", "long"])
def test_a_file_without_an_address_is_refused_and_not_quoted(held: str, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(held)
    with pytest.raises(InvalidArgument) as refused:
        ClusterSettings(url_file=str(file)).read_url()
    assert "xxx" not in str(refused.value)


def test_an_address_stands_in_one_place() -> None:
    with pytest.raises(ValidationError, match="may not have both"):
        ClusterSettings(url=URL, url_file="/run/secrets/url")


def test_the_password_is_in_no_picture_of_the_settings() -> None:
    assert "correct-horse" not in repr(ClusterSettings(url=URL))


@pytest.mark.parametrize("address", ["strongroom-0.peers:8701", "10.0.0.1:8701", "[fd00::1]:8701"])
def test_others_reach_a_server_by_host_and_port(address: str) -> None:
    assert ClusterSettings(address=address).address == address


@pytest.mark.parametrize("address", ["strongroom-0", "fd00::1:8701", "https://strongroom-0:8701", "a b:1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="address"):
        ClusterSettings(address=address)
