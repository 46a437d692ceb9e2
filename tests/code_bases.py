"""Source files in a vault, for whoever asks about code."""

from __future__ import annotations

from collections.abc import Mapping

from vaults.code.outline import outline_source
from vaults.domain.actors import Actor
from vaults.domain.code.intake import store_many
from vaults.domain.documents.intake import DocumentSource, StoredDocument
from vaults.vault import Vault

AT = "2026-03-01T10:00:00.000Z"
OWNER = Actor("local|owner", "owner")

SHOP: Mapping[str, str] = {
    "shop/__init__.py": "from shop.till import Till\nfrom .prices import find_price\n",
    "shop/prices.py": (
        '"""Prices."""\n\nTAX_RATE = 19\n\n\ndef find_price(what: str) -> int:\n'
        '    """What a thing costs."""\n    return len(what) * TAX_RATE\n\n\ndef reset():\n    pass\n'
    ),
    "shop/till.py": (
        "from shop import prices\nfrom shop.prices import find_price as price_of\n\n\nclass Drawer:\n"
        "    def reset(self):\n        return 1\n\n\nclass Till(Drawer):\n"
        '    """Counts money."""\n\n    def openDrawer(self, what):\n        self.reset()\n'
        "        return price_of(what) + prices.TAX_RATE\n\n    def close(self):\n        return self.openDrawer(1)\n"
    ),
    "shop/web.py": (
        "import shop\nfrom shop import Till\nfrom shop.till import Till as Register\n\n\ndef serve():\n"
        "    till = Till()\n    till.openDrawer('tea')\n    return shop.prices.find_price('tea')\n\n\n"
        "def sell():\n    return serve() + Register().close()\n"
    ),
    "shop/other.py": "def find_price():\n    return other.reset()\n\n\ndef ask():\n    return find_price()\n",
    "tests/test_till.py": "from shop.till import Till\n\n\ndef test_find_price():\n    assert Till().close()\n",
    "web/app.ts": (
        'import { drawBasket } from "./basket";\n\nexport function render(): string {\n  return drawBasket(1);\n}\n'
    ),
    "web/basket.ts": "/** Draws it. */\nexport function drawBasket(count: number): string {\n  return `${count}`;\n}\n",
}
"""A code base in which names are passed on, taken twice, and called through their module."""


async def store_files(
    vault: Vault, files: Mapping[str, str], actor: Actor = OWNER, *, private: bool = False
) -> dict[str, StoredDocument]:
    """Have files stored, by path."""
    pairs = [(outline_source(text, path), _source(path, private=private)) for path, text in files.items()]
    return dict(zip(files, await store_many(vault, actor, pairs), strict=True))


def _source(path: str, *, private: bool) -> DocumentSource:
    visibility = "private" if private else "shared"
    return DocumentSource(name=path, uri=path, kind="code", collection="shop", modified_at=AT, visibility=visibility)
