import Base, { price as findPrice, tax } from "./prices.js";
import * as stock from "../stock";
const { join } = require("path");
export { rebate } from "./rebates";

/** How many at most. */
export const LIMIT = 5;

/**
 * Sells things.
 */
export class Shop extends Base {
  #name = "corner";
  sell(what) {
    return findPrice(what) + stock.level(what);
  }
}

export const main = async () => {
  new Shop().sell("tea");
};

function* all() {}
module.exports.extra = function () {};
