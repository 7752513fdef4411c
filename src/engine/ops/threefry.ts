import { parity, rotations, threefryInto } from "../random/hash.ts";
import { userError } from "../trace/location.ts";
import { type Batched, defineOp, lacking, type Op } from "../trace/op.ts";
import { type Shape, type TensorType, tensorType } from "../trace/type.ts";
import { emit, type Value } from "../trace/value.ts";
import { jaxName } from "../wasm/dtype.ts";
import type { HloWriter } from "../xla/writer.ts";
import { type None, none } from "./elementwise-rows.ts";
import { passThrough } from "./pass-through.ts";
import { batchedValue, checkSame } from "./rules.ts";
import { broadcastInDim } from "./shape.ts";

/** The type of both results: that of the inputs, among which scalars count for every element. */
function resultType(inputs: readonly TensorType[]): TensorType {
  inputs.forEach((input, i) => {
    if (input.dtype !== "u32")
      throw userError(
        "DTYPE_MISMATCH",
        `threefry2x32: argument ${i} is ${input.text}, but keys and counts are u32`,
        'convert first: x.astype("u32")',
      );
  });
  const arrays = inputs.filter((input) => input.shape.length > 0);
  if (arrays.length > 0) checkSame("threefry2x32", arrays);
  return arrays[0] ?? tensorType("u32", []);
}

const threefryOp: Op<None> = defineOp<None>({
  name: "threefry2x32",
  type: (inputs) => {
    const type = resultType(inputs);
    return [type, type];
  },
  derivative: lacking("random bits have no derivative"),
  batch: (inputs, _params, size) => {
    const shape = inputs.reduce<Shape>(
      (found, { value, batched }) => (found.length > 0 ? found : value.shape.slice(batched ? 1 : 0)),
      [],
    );
    return emit(
      threefryOp,
      inputs.map((input) => spread(input, shape, size)),
      none,
    );
  },
  stablehlo: (w, names, { inputs, outputs }) => {
    const { type } = outputs[0];
    const [k0, k1, c0, c1] = inputs.map((input, i) => {
      const name = names[i] as string;
      if (input.type === type) return name;
      return w.apply("broadcast_in_dim", [name], [input], type, ", dims = []");
    }) as [string, string, string, string];
    return writeRounds(w, type, [k0, k1], [c0, c1]);
  },
  // Under jit, jax-js either makes a kernel of each of the hundred operations (0.5 ms for one count) or joins them
  // into one whose text grows threefold a round. The loop here takes 16 ns a count, less than its own threefry.
  wasm: {
    onHost: (j, arrays, { outputs }) => {
      const { shape, size } = outputs[0];
      const [k0, k1, c0, c1] = arrays.map((array) => array.dataSync()) as [Words, Words, Words, Words];
      const step = (words: Words): 0 | 1 => (words.length === size ? 1 : 0);
      const steps = { k0: step(k0), k1: step(k1), c0: step(c0), c1: step(c1) };
      const first = new Uint32Array(size);
      const second = new Uint32Array(size);
      const pair = new Uint32Array(2);
      for (let i = 0; i < size; i++) {
        const key0 = k0[i * steps.k0] as number;
        const key1 = k1[i * steps.k1] as number;
        threefryInto(key0, key1, c0[i * steps.c0] as number, c1[i * steps.c1] as number, pair, 0);
        first[i] = pair[0] as number;
        second[i] = pair[1] as number;
      }
      const options = { shape: [...shape], dtype: jaxName("u32") };
      return [j.numpy.array(first, options), j.numpy.array(second, options)];
    },
  },
});

type Words = ArrayLike<number>;

/** An input with the mapped axis in front; what stands for every element of every example stays as it is. */
function spread(input: Batched, shape: Shape, size: number): Value {
  if (input.batched && input.value.ndim === 1) return broadcastInDim(input.value, [size, ...shape], [0]);
  return !input.batched && input.value.ndim === 0 ? input.value : batchedValue(input, size);
}

/**
 * Writes the twenty rounds one after the other. On the CPU plugin that runs up to seven times as fast as a loop over
 * them, and as a function of its own XLA puts it in its place anyway.
 */
function writeRounds(
  w: HloWriter,
  type: TensorType,
  [k0, k1]: readonly [string, string],
  [c0, c1]: readonly [string, string],
): readonly [string, string] {
  const numbers = new Map<number, string>();
  const number = (n: number): string => {
    const name = numbers.get(n) ?? w.splat(n, type);
    numbers.set(n, name);
    return name;
  };
  const put = (op: string, a: string, b: string): string => w.each(op, [a, b], type);
  const rotate = (x: string, by: number): string =>
    put("or", put("shift_left", x, number(by)), put("shift_right_logical", x, number(32 - by)));
  let schedule = [k1, put("xor", put("xor", k0, k1), number(parity)), k0] as const;
  let x0 = put("add", c0, k0);
  let x1 = put("add", c1, k1);
  for (let group = 0; group < 5; group++) {
    for (const by of rotations[(group % 2) as 0 | 1]) {
      x0 = put("add", x0, x1);
      x1 = put("xor", rotate(x1, by), x0);
    }
    const [a, b, c] = schedule;
    x0 = put("add", x0, a);
    x1 = put("add", put("add", x1, b), number(group + 1));
    schedule = [b, c, a];
  }
  return [x0, x1];
}

/**
 * Threefry-2x32 with 20 rounds: two words from each key (k0, k1) and count (c0, c1), all u32 of one shape; a scalar
 * counts for every element.
 */
export const threefry2x32 = (k0: Value, k1: Value, c0: Value, c1: Value): readonly [Value, Value] =>
  emit(threefryOp, [k0, k1, c0, c1], none) as unknown as readonly [Value, Value];

/**
 * The same value, computed once. XLA would else compute a key again inside everything that uses it, which doubles
 * the time it takes to compile a program that splits its keys.
 */
export const materialize = passThrough("materialize", {
  derivative: (_node, [ct]) => [ct],
  stablehlo: (w, names, { inputs }) => [w.each("optimization_barrier", names, inputs[0])],
});
