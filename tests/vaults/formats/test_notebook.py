"""Jupyter notebooks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vaults.formats.made_files import read
from vaults.formats.parsed_document import ParseFailed


def cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source.splitlines(keepends=True), **more}


def make_notebook(*cells: dict[str, Any]) -> bytes:
    metadata = {"language_info": {"name": "python"}, "authors": [{"name": "Ann"}]}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}).encode()


def test_cells_stand_under_the_headings_of_their_markdown() -> None:
    outputs = [{"output_type": "stream", "text": ["done\n"]}, {"data": {"text/plain": "x" * 900, "image/png": "AAAA"}}]
    parsed = read(
        make_notebook(
            cell("markdown", "# Study\nWhy."),
            cell("code", "import x\nx.run()", outputs=outputs),
            cell("markdown", "## Result\n"),
            cell("code", "1 / 0", outputs=[{"ename": "ZeroDivisionError", "evalue": "division by zero"}]),
        ),
        "study.ipynb",
    )
    assert [(part.heading, part.locator) for part in parsed.parts] == [
        ("Study", "cells 1–2"),
        ("Study › Result", "cells 3–4"),
    ]
    assert "Why.\n\n```python\nimport x\nx.run()\n```\n\nOutput:\ndone\n\nxxx" in parsed.parts[0].text
    assert len(parsed.parts[0].text) < 700
    assert "ZeroDivisionError: division by zero" in parsed.parts[1].text
    assert (parsed.title, parsed.author, parsed.metadata) == ("Study", "Ann", {"language": "python"})


@pytest.mark.parametrize("data", [b'{"cells": ', b"[]", b'{"nbformat": 4}'])
def test_what_is_no_notebook_says_so(data: bytes) -> None:
    with pytest.raises(ParseFailed) as refused:
        read(data, "a.ipynb")
    assert refused.value.problem in ("damaged", "empty")
