import { nn, np, put, type Tensor, treeMap, type Value, valueAndGrad } from "../../src/index.ts";

/** The transformer whose training step is traced: bench/peers/jax_transformer.py has the same. */
export const sizes = { layers: 12, width: 256, heads: 8, context: 128, batch: 8, vocabulary: 256 } as const;
const { layers, width, heads, context, batch, vocabulary } = sizes;
const [learningRate, beta1, beta2, epsilon, decay] = [3e-4, 0.9, 0.999, 1e-8, 0.01];

interface Norm<T> {
  readonly scale: T;
  readonly bias: T;
}
interface Dense<T> {
  readonly w: T;
  readonly b: T;
}
interface Block<T> {
  readonly norm1: Norm<T>;
  readonly qkv: Dense<T>;
  readonly out: Dense<T>;
  readonly norm2: Norm<T>;
  readonly up: Dense<T>;
  readonly down: Dense<T>;
}
export interface Params<T> {
  readonly tokens: T;
  readonly positions: T;
  readonly blocks: readonly Block<T>[];
  readonly norm: Norm<T>;
  readonly head: T;
}

function normalised({ scale, bias }: Norm<Value>, x: Value): Value {
  const centred = np.subtract(x, np.mean(x, { axis: -1, keepdims: true }));
  const variance = np.mean(np.square(centred), { axis: -1, keepdims: true });
  return np.add(np.multiply(np.multiply(centred, np.rsqrt(np.add(variance, 1e-5))), scale), bias);
}

const dense = ({ w, b }: Dense<Value>, x: Value): Value => np.add(np.matmul(x, w), b);

function attention({ qkv, out }: Block<Value>, x: Value): Value {
  const split = [batch, context, heads, width / heads];
  const [q, k, v] = np
    .split(dense(qkv, x), 3, { axis: -1 })
    .map((part) => np.transpose(np.reshape(part, split), [0, 2, 1, 3])) as [Value, Value, Value];
  const scores = np.divide(np.matmul(q, np.swapaxes(k, -1, -2)), Math.sqrt(width / heads));
  const earlier = np.tri(context, { dtype: "bool" });
  const mixed = np.matmul(nn.softmax(np.where(earlier, scores, -1e9)), v);
  return dense(out, np.reshape(np.transpose(mixed, [0, 2, 1, 3]), [batch, context, width]));
}

function lossOf(params: Params<Value>, tokens: Value, targets: Value): Value {
  let x = np.add(np.take(params.tokens, tokens, { axis: 0 }), params.positions);
  for (const block of params.blocks) {
    x = np.add(x, attention(block, normalised(block.norm1, x)));
    x = np.add(x, dense(block.down, nn.gelu(dense(block.up, normalised(block.norm2, x)))));
  }
  const logs = nn.logSoftmax(np.matmul(normalised(params.norm, x), params.head));
  return np.negative(np.mean(np.takeAlongAxis(logs, np.expandDims(targets, -1), { axis: -1 })));
}

/** One step of AdamW. */
export function trainingStep(
  params: Params<Value>,
  m: Params<Value>,
  v: Params<Value>,
  t: Value,
  tokens: Value,
  targets: Value,
) {
  const [loss, grads] = valueAndGrad(lossOf)(params, tokens, targets);
  const now = np.add(t, 1);
  const nextM = treeMap((m: Value, g: Value) => blend(beta1, m, g), m, grads);
  const nextV = treeMap((v: Value, g: Value) => blend(beta2, v, np.square(g)), v, grads);
  const [c1, c2] = [np.subtract(1, np.power(beta1, now)), np.subtract(1, np.power(beta2, now))];
  const update = (p: Value, m: Value, v: Value): Value => {
    const step = np.divide(np.divide(m, c1), np.add(np.sqrt(np.divide(v, c2)), epsilon));
    return np.subtract(p, np.multiply(np.add(step, np.multiply(p, decay)), learningRate));
  };
  return [treeMap(update, params, nextM, nextV), nextM, nextV, now, loss] as const;
}

const blend = (beta: number, old: Value, now: Value): Value =>
  np.add(np.multiply(old, beta), np.multiply(now, 1 - beta));

/** The step's arguments, all on a device. */
export function trainingArguments() {
  const f32 = (...shape: readonly number[]): Tensor =>
    put(new Float32Array(shape.reduce((a, b) => a * b, 1)), { shape, engine: "xla" });
  const make = (): Params<Tensor> => ({
    tokens: f32(vocabulary, width),
    positions: f32(context, width),
    blocks: Array.from({ length: layers }, () => ({
      norm1: { scale: f32(width), bias: f32(width) },
      qkv: { w: f32(width, 3 * width), b: f32(3 * width) },
      out: { w: f32(width, width), b: f32(width) },
      norm2: { scale: f32(width), bias: f32(width) },
      up: { w: f32(width, 4 * width), b: f32(4 * width) },
      down: { w: f32(4 * width, width), b: f32(width) },
    })),
    norm: { scale: f32(width), bias: f32(width) },
    head: f32(width, vocabulary),
  });
  const tokens = put(new Int32Array(batch * context), { shape: [batch, context], engine: "xla" });
  return [make(), make(), make(), f32(), tokens, tokens] as const;
}
