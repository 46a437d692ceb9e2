<?php
namespace Market;

use Prices\Finder;
use Stock\Level as Rack;

/** Sells things. */
class Shop extends Base implements Seller
{
    use Opens;
    const LIMIT = 5;
    private $name;

    /** Sells a thing. */
    public function sell(string $what): int
    {
        return Finder::find($what) + $this->count() + helper($what);
    }
}

interface Seller { public function sell(string $what): int; }
function main() { (new Shop())->sell("tea"); }
