"""The address of a social network: set in a group of its section, over TLS, and by its whole name everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.cli.reference import settings_table
from server.effective_settings import effective
from server.settings import MOLTBOOK_URL, Settings, configured_endpoints, load
from vaults.errors import InvalidArgument

URL = "https://www.moltbook.com/api/v1"


def test_nothing_is_spoken_to_unless_asked_for() -> None:
    assert configured_endpoints(Settings()) == frozenset()


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ({"environment": {"STRONGROOM_SOCIAL__MOLTBOOK__URL": URL}}, "environment"),
        ({"environment": {"STRONGROOM_SOCIAL__MOLTBOOK": f'{{"url": "{URL}"}}'}}, "environment"),
        ({"flags": {"social.moltbook.url": f"{URL}/"}, "environment": {}}, "flag"),
    ],
)
def test_it_is_taken_by_its_whole_name(tmp_path: Path, given: dict[str, dict[str, str]], source: str) -> None:
    loaded = load(tmp_path, **given)  # type: ignore[arg-type]
    assert loaded.settings.social.moltbook.url == URL
    assert dict(loaded.sources) == {MOLTBOOK_URL: source}
    assert effective(loaded.settings, loaded.sources)[MOLTBOOK_URL] == {"value": URL, "source": source}
    assert configured_endpoints(loaded.settings) == {MOLTBOOK_URL}


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "strongroom.toml").write_text(f'[social.moltbook]\nurl = "{URL}"\n')
    assert load(tmp_path, environment={}).settings.social.moltbook.url == URL
    other = {"STRONGROOM_SOCIAL__MOLTBOOK__URL": "http://localhost:8080/api"}
    assert load(tmp_path, environment=other).settings.social.moltbook.url == "http://localhost:8080/api"


@pytest.mark.parametrize(
    "url",
    ["http://www.moltbook.com/api/v1", "http://127.0.0.1.evil.org/", "https://key@moltbook.com/", "ftp://moltbook.com",
     "https://moltbook.com/?a=b", "moltbook.com", ""],
)  # fmt: skip
def test_no_key_goes_over_a_network_in_the_clear_or_to_an_odd_address(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidArgument, match=r"social\.moltbook\.url .*\(environment\)"):
        load(tmp_path, environment={"STRONGROOM_SOCIAL__MOLTBOOK__URL": url})


@pytest.mark.parametrize(
    "toml", ["[social.moltbook]\nurk = 1\n", "[social]\nmoltbook = 3\n", "[social.other]\nurl = 1\n"]
)
def test_what_is_no_setting_stops_the_start(tmp_path: Path, toml: str) -> None:
    (tmp_path / "strongroom.toml").write_text(toml)
    with pytest.raises(InvalidArgument, match="is not a setting"):
        load(tmp_path, environment={})


def test_it_is_in_the_reference() -> None:
    assert "| `social.moltbook.url` | `null` | " in settings_table()
    assert "`social.moltbook` " not in settings_table()
