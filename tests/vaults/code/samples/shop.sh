#!/usr/bin/env bash
source lib/prices.sh

LIMIT=5

# Sells a thing.
sell() {
  find_price "$1"
}

function main {
  sell tea
}
main
