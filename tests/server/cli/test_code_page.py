"""The commands of docs/code.md do what it says, over a code base as a collection."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.server.cli.command import ROOT, Strongroom

FILES = {
    "shop/prices.py": 'def find_price(what: str) -> int:\n    """What does a thing cost."""\n    return len(what)\n',
    "shop/till.py": (
        "from shop.prices import find_price\n\n\nclass Till:\n    def open_drawer(self, what):\n"
        "        return find_price(what)\n\n    def close(self):\n        return self.open_drawer('tea')\n"
    ),
}


def test_the_commands_of_the_page_do_what_it_says(strongroom: Strongroom, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "code.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    add, *asked = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    for name, text in FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    strongroom("vault", "create", "main")
    added = strongroom(*add)
    assert added.code == 0, added.err
    ran = [strongroom(*command) for command in asked]
    assert [each.code for each in ran] == [0] * len(asked), [each.err for each in ran]
    where, outline, callers, references, impact, found = (each.json for each in ran)
    assert [each["path"] for each in where["symbols"]] == ["shop/prices.py"]
    assert [each["name"] for each in outline["symbols"]] == ["Till", "Till.open_drawer", "Till.close"]
    assert [(each["within"], each["sure"]) for each in callers["places"]] == [("Till.close", "exact")]
    assert [(each["within"], each["sure"]) for each in references["places"]] == [("Till.open_drawer", "import")]
    assert {each["path"] for each in impact["places"]} == {"shop/till.py"}
    assert found["hits"][0]["title"] == "shop/prices.py"
