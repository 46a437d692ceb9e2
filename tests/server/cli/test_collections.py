"""``strongroom collection``, and every command of docs/collections.md as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.server.cli.command import ROOT, Strongroom

PAGE = (ROOT / "docs" / "collections.md").read_text(encoding="utf-8")


@pytest.fixture
def ready(
    strongroom: Strongroom, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Strongroom:
    assert strongroom("vault", "create", "main").code == 0
    return strongroom


@pytest.fixture
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("work")
    for path, text in {
        "handbook/holidays.md": "# Holidays\n\nThirty days a year.\n",
        "company-handbook/holidays.md": "# Holidays\n\nThirty days a year.\n",
        "company-handbook/drafts/later.md": "# Later\n\nForty days.\n",
        "shop/src/cart.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n",
    }.items():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text(text)
    return here


def test_the_commands_of_the_page_work_in_their_order(ready: Strongroom, folders: Path) -> None:
    commands = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines() if line.strip()
    ]
    assert len(commands) == 8
    outs = {}
    for line in commands:
        words = [str(folders / word) if word.startswith("./") else word for word in shlex.split(line)]
        assert words[0] == "strongroom"
        ran = ready(*words[1:])
        assert (ran.code, ran.err) == (0, ""), line
        outs[line] = ran
    table = outs["strongroom collection list --vault main"].out
    assert re.search(r"^handbook +markdown +ready +1 ", table, re.MULTILINE)
    assert re.search(r"^shop +code +ready +1 ", table, re.MULTILINE)
    known = {each["name"]: each for each in outs["strongroom collection list --vault main --json"].json["collections"]}
    assert known["company"]["left_out"] == {"left out by the collection's patterns": 1}
    assert known["company"]["documents"] == 1
    left = ready("collection", "list", "--vault", "main", "--json").json["collections"]
    assert [each["name"] for each in left] == ["shop"]
    assert (folders / "company-handbook" / "holidays.md").exists()


def test_what_is_refused_is_said_in_a_line(ready: Strongroom, folders: Path) -> None:
    ran = ready("collection", "add", "docs", str(folders / "nothing"), "--vault", "main")
    assert (ran.code, ran.out) == (2, "")
    assert "root is no folder" in ran.err
    assert ready("collection", "add", "mine", str(ready.data), "--vault", "main").code == 2
    ran = ready("collection", "remove", "docs", "--vault", "main")
    assert (ran.code, "no collection docs" in ran.err) == (1, True)
    ran = ready("collection", "rename", "docs", "other", "--vault", "main", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "not_found")
    assert ready("collection", "list", "--vault", "main").out == "no collections\n"


def test_a_relative_path_is_one_from_here(ready: Strongroom) -> None:
    (ready.data.parent / "docs").mkdir()
    (ready.data.parent / "docs" / "a.md").write_text("# A\n")
    ran = ready("collection", "add", "docs", "docs", "--vault", "main", "--no-watch", "--json")
    (made,) = ran.json["collections"]
    assert (made["root"], made["watching"], made["documents"]) == (str(ready.data.parent / "docs"), "on demand", 1)
