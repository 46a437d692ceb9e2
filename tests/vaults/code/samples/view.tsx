import React from "react";
import { Shop } from "./shop";

export function View({ shop }: Props) {
  return <Frame><Shop name="corner" /></Frame>;
}
