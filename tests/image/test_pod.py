"""Started as the chart starts it, on a volume as Kubernetes hands it over: of root, opened to the pod's group."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.contracts.charts import Manifest, one
from tests.image.containers import Container, read_only, running
from tests.image.test_starting_and_ending import TOKEN, serves

pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to other users"),
]

POD: Manifest = one("defaults", "StatefulSet")["spec"]["template"]["spec"]
SERVER: Manifest = POD["containers"][0]
GROUP = POD["securityContext"]["fsGroup"]
PASSPHRASE = "/etc/strongroom/secrets/auth.key_passphrase_file"


def given(folder: Path, name: str, text: str) -> Path:
    """A file of a ConfigMap or a Secret: root's, and the group may read it."""
    path = folder / name
    path.write_text(text)
    os.chown(path, 0, GROUP)
    path.chmod(0o440)
    return path


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    """A new disk with its file system's own folder, after fsGroup was applied."""
    root = tmp_path / "claim"
    root.mkdir()
    os.chown(root, 0, GROUP)
    root.chmod(0o2775)
    (root / "lost+found").mkdir(mode=0o700)
    return root


def as_the_chart_starts_it(claim: Path, folder: Path) -> list[str]:
    allowed, of_pod = SERVER["securityContext"], POD["securityContext"]
    assert (allowed["readOnlyRootFilesystem"], allowed["allowPrivilegeEscalation"]) == (True, False)
    config = given(folder, "strongroom.toml", one("defaults", "ConfigMap")["data"]["strongroom.toml"])
    mounted = {each["name"]: each["mountPath"] for each in SERVER["volumeMounts"]}
    return [
        f"--user={of_pod['runAsUser']}:{of_pod['runAsGroup']}",
        *(f"--cap-drop={each}" for each in allowed["capabilities"]["drop"]),
        "--security-opt=no-new-privileges",
        *read_only(),
        f"--tmpfs={mounted['tmp']}:size=64m,mode=1777",
        f"--volume={claim}:{mounted['data']}",
        f"--volume={config}:{mounted['settings']}/strongroom.toml:ro",
        f"--volume={given(folder, 'passphrase', 'correct horse battery')}:{PASSPHRASE}:ro",
        *(f"--env={each['name']}={each['value']}" for each in SERVER["env"]),
        f"--env=STRONGROOM_AUTH__KEY_PASSPHRASE_FILE={PASSPHRASE}",
    ]


def status(container: Container, path: str, host: str) -> int:
    request = urllib.request.Request(f"{container.url}{path}", headers={"Host": host}, method="POST", data=b"{}")
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


async def test_it_serves_from_a_volume_of_root_that_its_group_may_write(slim: str, claim: Path, tmp_path: Path) -> None:
    with running(slim, *as_the_chart_starts_it(claim, tmp_path), command=tuple(SERVER["args"])) as container:
        container.wait_ready()
        await serves(container)
        assert TOKEN.findall(container.logs()) == []
        told = json.loads(container.execute("strongroom", "config", "show", "--json").stdout)
        assert "memory-strongroom.agents.svc" in json.dumps(told), "a command reads the same settings"
        keys = claim / "keys"
        assert keys.stat().st_mode & 0o077 == 0
        assert {b"ENCRYPTED" in each.read_bytes() for each in keys.glob("*.pem")} == {True}
        # The name of the Service is a host it answers to; another is not.
        assert status(container, "/v/main/mcp", "memory-strongroom.agents.svc:8700") == 401
        assert status(container, "/v/main/mcp", "evil.example.org") == 421
        # The next pod finds the volume as this one left it.
        container.restart()
        await serves(container)
        assert container.stop() == 0
