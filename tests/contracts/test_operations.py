"""The operator's page is true: each alert leads to what to do about it, and commands in it are commands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contracts.test_docs import anchors, parsed
from tests.work import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
PAGE = ROOT / "docs" / "operations.md"
TEXT = PAGE.read_text(encoding="utf-8")
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
ALERTS = {rule["alert"] for rule in RULES}
SECTIONS = re.findall(r"^## (Strongroom\w+)$", TEXT.partition("\n# Runbook\n")[2], re.MULTILINE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_leads_to_its_section(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert page == "docs/operations.md"
    assert anchor == rule["alert"].lower()
    assert anchor in anchors(PAGE)
    assert rule["alert"] in SECTIONS


def test_each_section_has_its_alert() -> None:
    assert len(SECTIONS) == len(set(SECTIONS))
    assert set(SECTIONS) == ALERTS


def urgencies() -> dict[str, str]:
    """Alert → severity, as the page sorts them; those it does not name belong to its last column."""
    head, _, row = TEXT.partition("\n| page somebody ")[2].partition("\n\n")[0].splitlines()
    severities = re.findall(r"\(`(\w+)`\)", head)
    columns = [re.findall(r"Strongroom\w+", cell) for cell in row.strip("|").split("|")]
    assert (severities, columns[-1]) == (["page", "ticket", "info"], [])
    return {alert: severity for severity, alerts in zip(severities, columns, strict=True) for alert in alerts}


def test_alerts_that_are_sorted_by_urgency_exist() -> None:
    assert len(urgencies()) > 8
    assert set(urgencies()) <= set(SECTIONS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_is_as_urgent_as_the_page_says_and_tells_it_in_a_sentence(rule: dict[str, Any]) -> None:
    assert rule["labels"] == {"severity": urgencies().get(rule["alert"], "info")}
    summary = rule["annotations"]["summary"]
    assert summary.endswith(".")
    assert summary.count(". ") == 0
    named = set(re.findall(r"\$labels\.(\w+)", summary))
    assert "instance" in named
    # What a sum drops would be an empty place in the sentence; what it keeps is said.
    kept = {label.strip() for group in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in group.split(",")}
    assert not kept or named == kept - {"le"}


def rule_tests() -> list[dict[str, Any]]:
    """Each moment that is tried in the file beside the rules."""
    groups = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    return [moment for group in groups for moment in group.get("alert_rule_test", ())]


def test_of_each_alert_it_is_tried_that_it_fires_and_that_it_does_not() -> None:
    assert {moment["alertname"] for moment in rule_tests() if moment.get("exp_alerts")} == ALERTS
    assert {moment["alertname"] for moment in rule_tests() if not moment.get("exp_alerts")} == ALERTS


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
@pytest.mark.parametrize(
    "command", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")], ids=" ".join
)
def test_prometheus_takes_the_rules_and_they_fire_when_they_should(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *command], cwd=PROMETHEUS, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def said_commands() -> list[str]:
    """Lines of blocks and words in the text that begin with the program's name. What stands in ``sh`` blocks is checked
    as in every page."""
    blocks = re.findall(r"^```text\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE)
    found = {line.strip() for block in blocks for line in block.splitlines()} | set(re.findall(r"`([^`\n]+)`", prose))
    return sorted(each for each in found if each.startswith("strongroom "))


@pytest.mark.parametrize("line", said_commands())
def test_a_command_in_the_text_is_one(line: str) -> None:
    parsed(shlex.split(line)[1:])


def test_there_are_commands_to_check() -> None:
    assert {"strongroom doctor", "strongroom verify"} <= set(said_commands())


def test_settings_that_are_named_exist() -> None:
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:auth|audit|backup|ops|server|storage|limits|embedding|notes)\.[a-z_]+)`", TEXT))
    assert len(named) > 10
    assert {name for name in named if f"`{name}`" not in settings} == set()
