import Foundation

let limit = 5

/// Sells things.
class Shop: Base, Seller {
    var name: String = "corner"

    /// Sells a thing.
    func sell(_ what: String) -> Int {
        return findPrice(what) + stock.level(what)
    }
}

protocol Seller { func sell(_ what: String) -> Int }
enum Size { case small, large }
struct Price { let cents: Int }
extension Shop { func open() {} }
func main() { Shop().sell("tea") }
