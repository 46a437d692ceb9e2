#include "prices.hpp"

namespace market {

/// Sells things.
template <typename T>
class Shop : public Base, private tools::Holder<T> {
 public:
  int sell(const std::string& what);
  int size() const { return size_; }

 private:
  int size_ = 0;
};

enum class Size { Small, Large };
using Basket = std::vector<int>;

template <typename T>
int Shop<T>::sell(const std::string& what) {
  return find_price(what) + prices::tax(what);
}

}  // namespace market

int market::open(int x) { return x; }
