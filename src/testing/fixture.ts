import type { DType } from "../engine/index.ts";
import type { Dense } from "./dense.ts";
import { dense } from "./dense.ts";

const pattern = /^(f32|i32|u32|u8|bool)\[([\d,]*)\](.*)$/;
const words: Readonly<Record<string, number>> = {
  inf: Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  nan: Number.NaN,
};

/** A tensor as fixtures write it: `f32[2,3] 0.5 -1 inf nan -0 2`; undefined for any other text. */
export function parseTensor(text: string): Dense | undefined {
  const [, dtype, shape, numbers] = pattern.exec(text) ?? [];
  if (dtype === undefined || shape === undefined || numbers === undefined) return undefined;
  const data = numbers.split(" ").filter((word) => word !== "");
  return dense(
    dtype as DType,
    shape
      .split(",")
      .filter((n) => n !== "")
      .map(Number),
    data.map((word) => words[word] ?? Number(word)),
  );
}
