import { np, put, type Tensor, treeMap, type Value, valueAndGrad } from "../../src/index.ts";
import { numbers } from "./data.ts";
import type { Net } from "./nets.ts";

const [learningRate, beta1, beta2, epsilon] = [1e-3, 0.9, 0.999, 1e-8];

/** An MLP's weights and what Adam remembers; of values while tracing, of tensors outside. */
export interface Layer<T> {
  readonly w: T;
  readonly b: T;
}
export interface Adam<T> {
  readonly m: readonly Layer<T>[];
  readonly v: readonly Layer<T>[];
  readonly t: T;
}

/** The mean squared error of an MLP with tanh between its layers. */
export function lossOf(params: readonly Layer<Value>[], x: Value, y: Value): Value {
  const last = params.length - 1;
  const out = params.reduce((h, { w, b }, i) => {
    const next = np.add(np.matmul(h, w), b);
    return i < last ? np.tanh(next) : next;
  }, x);
  return np.mean(np.square(np.subtract(out, y)));
}

/** One step of Adam with bias correction: the same formula in every peer. */
export function adamStep(params: readonly Layer<Value>[], adam: Adam<Value>, x: Value, y: Value) {
  const [loss, grads] = valueAndGrad(lossOf)(params, x, y);
  const t = np.add(adam.t, 1);
  const m = treeMap((m: Value, g: Value) => blend(beta1, m, g), adam.m, grads);
  const v = treeMap((v: Value, g: Value) => blend(beta2, v, np.square(g)), adam.v, grads);
  const [c1, c2] = [np.subtract(1, np.power(beta1, t)), np.subtract(1, np.power(beta2, t))];
  const next = treeMap(
    (p: Value, m: Value, v: Value) => {
      const scale = np.add(np.sqrt(np.divide(v, c2)), epsilon);
      return np.subtract(p, np.divide(np.multiply(np.divide(m, c1), learningRate), scale));
    },
    params,
    m,
    v,
  );
  return [next, { m, v, t }, loss] as const;
}

const blend = (beta: number, old: Value, now: Value): Value =>
  np.add(np.multiply(old, beta), np.multiply(now, 1 - beta));

/** Everything a training run starts with, on a device. */
export function start({ sizes, batch }: Net, engine: "xla" | "wasm") {
  const place = (data: Float32Array<ArrayBuffer>, shape: readonly number[]): Tensor =>
    put(data, { shape, engine });
  const layers = (make: (seed: number, size: number, scale: number) => Float32Array<ArrayBuffer>) =>
    sizes.slice(1).map((out, i) => {
      const size = sizes[i] as number;
      return {
        w: place(make(i, size * out, size ** -0.5), [size, out]),
        b: place(new Float32Array(out), [out]),
      };
    });
  const zeros = (_seed: number, size: number): Float32Array<ArrayBuffer> => new Float32Array(size);
  const [inputs, outputs] = [sizes[0] as number, sizes.at(-1) as number];
  return {
    params: layers(numbers) as readonly Layer<Tensor>[],
    adam: { m: layers(zeros), v: layers(zeros), t: place(new Float32Array(1), []) } as Adam<Tensor>,
    x: place(numbers(100, batch * inputs), [batch, inputs]),
    y: place(numbers(101, batch * outputs), [batch, outputs]),
  };
}
