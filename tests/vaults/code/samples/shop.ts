import type { Price } from "./prices";
import { findPrice } from "@/prices";

export interface Seller extends Person {
  name: string;
  sell(what: string): Price;
}

export enum Size { Small, Large }
export type Basket = Map<string, Price>;

@Injectable()
export abstract class Shop<T> implements Seller {
  private stock: Basket = new Map();
  abstract open(): void;
  sell(what: string): Price {
    return findPrice(what);
  }
}

namespace Tools {
  export function round(x: number) { return x; }
}
declare const VERSION: string;
export const main = (): void => Tools.round(1);
