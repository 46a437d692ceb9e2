package shop

import (
	"fmt"
	pr "example.org/shop/prices"
)

// Limit is how many at most.
const Limit = 5

// Shop sells things.
type Shop struct {
	Name string
}

type (
	Seller interface {
		Sell(what string) int
	}
	Size int
)

// Sell sells a thing.
func (s *Shop) Sell(what string) int {
	fmt.Println(what)
	return pr.Find(what)
}

func main() {
	s := Shop{Name: "corner"}
	s.Sell("tea")
}
