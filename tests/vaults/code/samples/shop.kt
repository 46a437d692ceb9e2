package market

import market.prices.findPrice
import market.tax as levy
import market.stock.*

const val LIMIT = 5

/** Sells things. */
class Shop(val name: String) : Base(name), Seller {
    /** Sells a thing. */
    override fun sell(what: String): Int {
        return findPrice(what) + stock.level(what)
    }
}

interface Seller {
    fun sell(what: String): Int
}

enum class Size { SMALL, LARGE }

object Registry {
    fun all() = 1
}

fun main() {
    Shop("corner").sell("tea")
}
