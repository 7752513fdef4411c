import { np, type Value } from "../../engine/index.ts";
import { shapeText } from "../layer.ts";
import type { Params } from "../model.ts";
import { childParams, parameter } from "../parameters.ts";
import { layerError } from "../path.ts";

const kind = "attention";

interface Part {
  readonly w: Value;
  readonly b: Value | undefined;
}

function checkedPart(params: Params, name: string, x: Value): Part {
  const own = childParams(params, name);
  const w = parameter(kind, own, "w");
  if (x.shape.at(-1) !== w.shape[0])
    throw layerError(
      kind,
      "SHAPE_MISMATCH",
      `the input ${shapeText(x.shape)} has ${x.shape.at(-1)} features, but ${name}.w is ${shapeText(w.shape)}`,
      `give inputs of ${w.shape[0]} features, or draw parameters for these`,
    );
  return { w, b: own.b === undefined ? undefined : parameter(kind, own, "b") };
}

/** How many heads a part's outputs make. */
export type HeadCounts = Readonly<Record<"q" | "k" | "v", number>>;

/** Products of one input with several weights as one product: [batch, length, heads, dim] for each. */
export function project(
  params: Params,
  x: Value,
  parts: readonly ("q" | "k" | "v")[],
  heads: HeadCounts,
): Value[] {
  const [batch, length] = x.shape as [number, number];
  const own = parts.map((name) => checkedPart(params, name, x));
  const w = np.concatenate(
    own.map((part) => part.w),
    { axis: 1 },
  );
  const product = np.matmul(np.reshape(x, [batch * length, -1]), w);
  const biases = own.flatMap(({ b }) => (b ? [b] : []));
  const rows = biases.length === own.length ? np.add(product, np.concatenate(biases)) : product;
  let from = 0;
  return own.map(({ w: { shape } }, i) => {
    const width = shape[1] as number;
    const columns = np.slice(rows, ":", [from, from + width]);
    from += width;
    const count = heads[parts[i] as "q" | "k" | "v"];
    return np.reshape(columns, [batch, length, count, width / count]);
  });
}

/** What heads have found, [batch, length, heads, dim], through the last product: [batch, length, width]. */
export function joinHeads(params: Params, mixed: Value): Value {
  const [batch, length, heads, dim] = mixed.shape as [number, number, number, number];
  const rows = np.reshape(mixed, [batch * length, heads * dim]);
  const { w, b } = checkedPart(params, "out", rows);
  const y = np.matmul(rows, w);
  return np.reshape(b ? np.add(y, b) : y, [batch, length, -1]);
}

/** The features of an input [batch, time, features]. */
export function features(shape: readonly number[]): number {
  const last = shape[2];
  if (last !== undefined && shape.length === 3) return last;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `the input is ${shapeText(shape)}, but it takes [batch, time, features]`,
    "give it three axes",
  );
}

/** Refuses queries and keys that do not belong together. */
export function checkHeads(q: Value, k: Value): void {
  if (q.shape[0] === k.shape[0] && q.shape[3] === k.shape[3]) return;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `queries are ${shapeText(q.shape)} and keys ${shapeText(k.shape)} as [batch, length, heads, dim]`,
    "give x and memory of one batch, and parameters that this model's init gave",
  );
}
