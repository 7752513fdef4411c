import { nn, np, optim, put, spec, type Tensor } from "../../src/index.ts";
import { numbers } from "../engine/data.ts";
import { smallestNet } from "../engine/nets.ts";

const [inputs, width, , outputs] = smallestNet.sizes as [number, number, number, number];

export const batchSize = smallestNet.batch;
/** Batches an epoch. */
export const batches = 1024;
/** Updates in one call. */
export const fused = 256;

export const model = nn.mlp({ hidden: [width, width], out: outputs, activation: np.tanh });
export const optimizer = optim.adam({ learningRate: 1e-3 });
export const params = (): nn.Params<Tensor> =>
  model.init(0, spec([batchSize, inputs]), { engine: "xla" }) as nn.Params<Tensor>;

/** As many examples as an epoch has, on the device. */
export function examples(): { readonly x: Tensor; readonly y: Tensor } {
  const rows = batchSize * batches;
  const place = (seed: number, size: number): Tensor =>
    put(numbers(seed, rows * size), { shape: [rows, size], engine: "xla" });
  return { x: place(100, inputs), y: place(101, outputs) };
}
