"""A shop."""

import os.path as paths
from decimal import Decimal
from . import stock
from .prices import price as find_price
from .taxes import *

LIMIT = 5
A, B = 1, 2


@register("shop")
class Shop(Base, stock.Holder):
    """Sells things.

    At a price."""

    name: str = "corner"

    def sell(self, what: str, *, much: int = 1) -> Decimal:
        """Sell a thing."""

        def inner():
            return self.count(what)

        return find_price(what) * much + stock.level(what)

    # how many there are
    @property
    def count(self):
        return paths.join(LIMIT)


async def main():
    Shop().sell("tea")
