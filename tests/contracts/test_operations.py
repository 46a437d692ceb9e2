"""The operator's page is true: each alert leads to what to do about it, and commands in it are commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contracts.test_docs import anchors, parsed

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations.md"
TEXT = PAGE.read_text(encoding="utf-8")
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
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


def test_alerts_that_are_sorted_by_urgency_exist() -> None:
    named = re.findall(r"Strongroom\w+", TEXT.partition("\n## What to alert on\n")[2].partition("\n# Runbook\n")[0])
    assert len(named) > 8
    assert set(named) <= set(SECTIONS)


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
