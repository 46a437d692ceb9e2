"""Style and scripts under addresses that name their content; what came from others is what they published."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from server.ui import assets as kept
from server.ui.assets import HTMX_DIGEST, HTMX_VERSION, assets
from tests.server.ui.stage import Stage

FOLDER = Path(kept.__file__).parent / "assets"


def test_htmx_is_what_was_published_and_says_under_which_licence() -> None:
    script = (FOLDER / "htmx.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == HTMX_DIGEST
    assert f'version:"{HTMX_VERSION}"'.encode() in script
    assert (FOLDER / "htmx.LICENSE").read_text(encoding="utf-8").startswith("Zero-Clause BSD")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_address_is_kept_for_good_and_holds_what_it_names(stage: Stage) -> None:
    http = stage.browser().http
    for each in assets().values():
        answer = await http.get(f"/ui/assets/{each.address}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith(each.media_type)
        assert answer.content == each.data == gzip.decompress(each.packed)
        assert hashlib.sha256(each.data).hexdigest()[:16] in each.address
    for missing in ("console.css", "console.0000000000000000.css", "en.toml"):
        assert (await http.get(f"/ui/assets/{missing}")).status_code == 404, missing


def test_the_first_page_needs_little() -> None:
    loaded = [assets()[name] for name in ("console.css", "console.js", "htmx.min.js", "icon.svg")]
    assert sum(len(each.packed) for each in loaded) < 40_000


def test_nothing_of_ours_asks_for_anything_from_elsewhere() -> None:
    for name in ("console.css", "console.js", "graph.js", "graph_picture.js"):
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert "http:" not in text
        assert "https:" not in text
        assert "url(" not in text
        assert "@import" not in text
        assert "innerHTML" not in text
        assert "eval(" not in text
