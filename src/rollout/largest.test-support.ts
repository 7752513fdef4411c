import { EspalierError } from "../core/index.ts";
import { compile, np, put, random, type Tensor, type Value } from "../engine/index.ts";
import { Logger, type MetricRecord, type Sink } from "../metrics/index.ts";
import { every } from "../schedule/index.ts";
import type { RolloutGenerator, ShapedArray, Weights } from "./rollout.ts";
import { type InProcessTransport, inProcessTransport } from "./transport.ts";
import { RolloutWorker, type RolloutWorkerOptions } from "./worker.ts";

// A small real problem: four numbers are shown, and the policy names the largest, of the first two of them ("pair") or
// of all ("four"). Its policy is linear: the identity, times something large, answers right.

/** The engine that is always there. */
const where = { engine: "wasm" } as const;

/** Numbers shown, and tries of one rollout. */
const [size, tries] = [4, 16];

const rewardOf = (numbers: Value, answer: Value, among: Value): Value => {
  const shown = np.where(np.less(np.arange(size), among), numbers, -10);
  return np.equal(np.argmax(shown, { axis: 1 }), answer).astype("f32");
};

const play = compile((w: Value, key: Value, among: Value) => {
  const [forNumbers, forAnswers] = random.split(key);
  const numbers = random.uniform(forNumbers, [tries, size]);
  const logits = np.matmul(numbers, w);
  const answer = random.categorical(forAnswers, logits);
  return { numbers, answer, reward: rewardOf(numbers, answer, among) };
}, where);

const judge = compile((w: Value, key: Value, among: Value, valid: Value) => {
  const numbers = random.uniform(key, [64, size]);
  const answer = np.argmax(np.matmul(numbers, w), { axis: 1 });
  return np.sum(np.multiply(rewardOf(numbers, answer, among), np.less(np.arange(64), valid).astype("f32")));
}, where);

const among = (lesson: string): Tensor =>
  put(Int32Array.of(lesson === "pair" ? 2 : size), { shape: [], ...where });

/** Plays with the policy that it has. `failing` makes a rollout fail. */
export function largestGenerator(
  options: { readonly failing?: () => boolean } = {},
): RolloutGenerator & { readonly evaluated: { readonly lesson: string; readonly examples: number }[] } {
  let w: Tensor | undefined;
  const evaluated: { readonly lesson: string; readonly examples: number }[] = [];
  return {
    lessons: ["pair", "four"],
    evaluated,
    setParams(params) {
      const given = (params as Readonly<Record<string, ShapedArray>>).w;
      if (given?.shape.length !== 2 || given.shape.some((length) => length !== size))
        throw new EspalierError("WEIGHTS_INVALID", `the parameter "w" has the shape [${given?.shape}]`, {
          fix: `publish parameters of a policy of ${size} numbers`,
        });
      w = put(given.data, { shape: given.shape, ...where });
    },
    async rollout({ lesson, key }) {
      if (options.failing?.()) throw new Error("the dice are lost");
      const made = play(w as Tensor, key, among(lesson));
      const [numbers, answer, reward] = await Promise.all([
        made.numbers.read(),
        made.answer.read(),
        made.reward.read(),
      ]);
      const mean = Float32Array.from(reward).reduce((sum, each) => sum + each, 0) / tries;
      return {
        arrays: {
          numbers: { data: numbers, shape: [tries, size] },
          answer: { data: answer, shape: [tries] },
          reward: { data: reward, shape: [tries] },
        },
        episodes: tries,
        return: mean,
        positive: mean,
        metrics: { length: 1 },
      };
    },
    async evaluate({ lesson, examples, key }) {
      evaluated.push({ lesson, examples });
      const right = await judge(
        w as Tensor,
        key,
        among(lesson),
        put(Int32Array.of(examples), { shape: [], ...where }),
      ).read();
      const share = Number(right[0]) / examples;
      return { episodes: examples, return: share, positive: share };
    },
  };
}

/** Weights of a policy that is the surer of the right answer the greater `skill` is: 0 guesses. */
export const policy = (id: number, skill = 0): Weights => ({
  id,
  arrays: {
    w: {
      data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) ? 0 : skill)),
      shape: [size, size],
    },
  },
});

/** A worker and the trainer's end of its transport, which has weights 0. Rollouts are taken as they come. */
export async function startWorker(options: Partial<RolloutWorkerOptions> = {}): Promise<{
  readonly worker: RolloutWorker;
  readonly transport: InProcessTransport;
  readonly warnings: string[];
}> {
  const transport = inProcessTransport({ capacity: 10_000 });
  const warnings: string[] = [];
  await transport.publish(policy(0));
  const worker = new RolloutWorker({
    generator: largestGenerator(),
    link: transport.worker(options.name ?? "worker-0"),
    warn: (text) => warnings.push(text),
    ...options,
  });
  return { worker, transport, warnings };
}

/** A tracker and the records that it has filed: one of every value, once it is flushed. */
export function tracking(): { readonly tracker: Logger; readonly filed: MetricRecord[] } {
  const filed: MetricRecord[] = [];
  const sink: Sink = {
    name: "kept",
    schedule: every({ steps: 1 }),
    write: (records) => void filed.push(...records),
  };
  return { tracker: new Logger({ sinks: [sink] }), filed };
}
