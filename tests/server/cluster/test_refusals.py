"""What belongs to one machine is refused by its name, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.cluster.refusals import refuse_for_cluster, refuse_stdio
from server.settings import Settings
from tests.server.cli.command import Strongroom
from vaults.errors import InvalidArgument
from vaults.registry import VaultEntry


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("server", "workers", 2),
        ("backup", "log", "/srv/log"),
        ("notes", "history", "auto"),
        ("notes", "repository", "/srv/work"),
        ("collections", "roots", ("/srv/papers",)),
    ],
)
def test_settings_of_one_machine_are_named(section: str, key: str, value: Any) -> None:
    plain = Settings()
    changed = plain.model_copy(update={section: getattr(plain, section).model_copy(update={key: value})})
    with pytest.raises(InvalidArgument, match=f"{section}.{key} .*cluster.url is set"):
        refuse_for_cluster(changed)
    refuse_for_cluster(plain)


def test_a_vault_served_in_place_is_named_unless_it_is_archived() -> None:
    entry = VaultEntry("wiki", "1", Path("/srv/wiki"), "active", "agent", "auto", "")
    with pytest.raises(InvalidArgument, match="vault wiki serves a folder in place"):
        refuse_for_cluster(Settings(), [entry])
    refuse_for_cluster(Settings(), [VaultEntry("wiki", "1", Path("/srv/wiki"), "archived", "agent", "auto", "")])
    refuse_for_cluster(Settings(), [VaultEntry("main", "2", None, "active", "agent", "auto", "")])


def test_a_client_s_process_that_would_serve_vaults_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="stdio cannot serve vaults of a cluster"):
        refuse_stdio()
    said = Strongroom(tmp_path)("stdio", STRONGROOM_CLUSTER__URL="postgresql://nobody@localhost/none")
    assert said.code != 0
    assert "stdio cannot serve vaults of a cluster" in said.err
