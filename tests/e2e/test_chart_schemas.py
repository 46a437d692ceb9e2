"""What the Helm chart renders to, against the schemas of the oldest and the newest Kubernetes; nothing more is allowed
than they name. (``requirements/clients.txt`` has the schemas.)"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.contracts.charts import CHART, VALUES, golden

VALIDATE = Path(sys.prefix) / "clients" / "bin" / "kubernetes-validate"
OLDEST = re.findall(r'^kubeVersion: ">=(\d+\.\d+)\.0-0"$', (CHART / "Chart.yaml").read_text(), re.MULTILINE)[0]
NEWEST = "1.37"
OF_OPERATOR = {"ServiceMonitor", "PrometheusRule"}

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not VALIDATE.exists(), reason="needs kubernetes-validate (make e2e)"),
]


def validate(file: Path, kubernetes: str) -> tuple[int, str]:
    words = [VALIDATE, "--strict", "--kubernetes-version", kubernetes, file]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("kubernetes", [OLDEST, NEWEST])
@pytest.mark.parametrize("case", VALUES)
def test_kubernetes_knows_every_field(case: str, kubernetes: str, tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    known = [each for each in golden(case) if each["kind"] not in OF_OPERATOR]
    file.write_text(yaml.safe_dump_all(known))
    code, said = validate(file, kubernetes)
    assert code == 0, said
    assert said.count(f"against version {kubernetes}") == len(known), said


def test_a_field_that_kubernetes_does_not_know_is_found(tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    (pods,) = (each for each in golden("defaults") if each["kind"] == "StatefulSet")
    file.write_text(yaml.safe_dump({**pods, "spec": {**pods["spec"], "replica": 1}}))
    code, said = validate(file, NEWEST)
    assert code != 0
    assert "replica" in said
