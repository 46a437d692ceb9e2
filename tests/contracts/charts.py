"""The Helm chart as Helm renders it: golden files, so that what it makes is tested where there is no Helm.

Written by ``python -m tests.contracts.charts``, which needs Helm. Each begins with the digest of the chart it is of.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from server.version import version

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "strongroom"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
GOLDEN = ROOT / "tests" / "snapshots" / "helm"
VALUES: dict[str, tuple[str, ...]] = {
    "defaults": (),
    "everything": ("--values", str(CHART / "ci" / "everything.yaml")),
    "cluster": ("--values", str(CHART / "ci" / "cluster.yaml")),
}
PLACE = str(ALERTS.relative_to(ROOT))
RELEASE = ("memory", "--namespace", "agents")
HELM = shutil.which("helm")

Manifest = dict[str, Any]


class _Readable(yaml.SafeDumper):
    """Texts of several lines as they are."""


_Readable.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def helm(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    assert HELM is not None, "helm is not installed"
    done = subprocess.run([HELM, *words], capture_output=True, text=True, timeout=60, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def render(*values: str) -> list[Manifest]:
    """What Helm makes of the chart with these values, sorted."""
    made = yaml.safe_load_all(helm("template", *RELEASE[:1], str(CHART), *RELEASE[1:], *values).stdout)
    return sorted((each for each in made if each), key=lambda each: (each["kind"], each["metadata"]["name"]))


def as_golden(manifests: list[Manifest]) -> str:
    """Without what lies elsewhere: the version, and the alerts that Prometheus is given without a cluster."""
    known = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    for each in manifests:
        if each["kind"] == "PrometheusRule":
            each["spec"]["groups"] = [PLACE if group in known else group for group in each["spec"]["groups"]]
    text = yaml.dump_all(manifests, Dumper=_Readable, sort_keys=False, width=1000, allow_unicode=True)
    return f"# Of the chart {digest()}\n{text.replace(version(), 'VERSION')}"


@cache
def golden(name: str) -> list[Manifest]:
    text = (GOLDEN / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text.replace("VERSION", version())))


def one(name: str, kind: str, suffix: str = "") -> Manifest:
    """The one thing of this kind, and of a name that ends so, in a golden file."""
    (found,) = (
        each
        for each in golden(name)
        if each["kind"] == kind and each["metadata"]["name"] == f"memory-strongroom{suffix}"
    )
    return found


def digest() -> str:
    """Of every file that is the chart's own, but its version."""
    total = hashlib.sha256()
    for path in sorted(each for each in CHART.rglob("*") if each.is_file() and not each.is_symlink()):
        text = path.read_text(encoding="utf-8")
        if path.name == "Chart.yaml":
            text = re.sub(r"(?m)^(version|appVersion): .*$", "", text)
        total.update(f"{path.relative_to(CHART)}\n{text}\n".encode())
    return total.hexdigest()


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, values in VALUES.items():
        (GOLDEN / f"{name}.yaml").write_text(as_golden(render(*values)), encoding="utf-8")


if __name__ == "__main__":
    main()
