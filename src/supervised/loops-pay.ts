import { compile, type Device, np, type Tensor, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { type Batch, sliceRows } from "./batch.ts";

/**
 * Whether updates of this objective may run in a loop. Convolutions on XLA's CPU back end take several times as long
 * inside one.
 */
export function loopsPay(
  loss: (params: Params, batch: Batch) => Value,
  params: Params<Tensor>,
  data: unknown,
  size: number,
  device: Device,
): boolean {
  if (device.engine !== "xla" || device.kind !== "cpu") return true;
  const traced = compile(
    (p: Params, rows: Batch) => loss(p, sliceRows(rows, np.zeros([], { dtype: "i32" }), size)),
    { engine: device.engine, device: device.index, name: "the objective" },
  );
  return !traced.lower(params, data as never).includes("stablehlo.convolution");
}
