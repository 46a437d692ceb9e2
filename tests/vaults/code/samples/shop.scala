package market

import market.prices.{Finder, Tax => Levy}
import market.stock._

/** Sells things. */
class Shop(name: String) extends Base(name) with Seller {
  val limit = 5
  /** Sells a thing. */
  def sell(what: String): Int = Finder.find(what) + count(what)
}

trait Seller { def sell(what: String): Int }
object Main { def main(): Unit = new Shop("corner").sell("tea") }
