import { compile, np, put, random, type Tensor, type Value } from "../engine/index.ts";
import { Logger, type MetricRecord, type Sink } from "../metrics/index.ts";
import { every } from "../schedule/index.ts";
import type { RolloutGenerator, Weights } from "./rollout.ts";
import { type InProcessTransport, inProcessTransport } from "./transport.ts";
import { WeightsReceiver } from "./weights.ts";
import { RolloutWorker, type RolloutWorkerOptions } from "./worker.ts";

// A small real problem: two numbers ("pair") or four are shown, and the policy names the largest. It is linear: the
// identity, times something large, always answers right.

/** The engine that is always there. */
const where = { engine: "wasm" } as const;

/** Numbers shown, tries of one rollout, and the most of an evaluation. */
const [size, tries, most] = [4, 16, 64];

const numbersOf = (key: Value, count: number, shown: Value): Value =>
  np.where(np.less(np.arange(size), shown), random.uniform(key, [count, size]), 0);

const isRight = (numbers: Value, answer: Value): Value =>
  np.equal(np.argmax(numbers, { axis: 1 }), answer).astype("f32");

const play = compile((w: Value, key: Value, shown: Value) => {
  const [forNumbers, forAnswers] = random.split(key);
  const numbers = numbersOf(forNumbers, tries, shown);
  const answer = random.categorical(forAnswers, np.matmul(numbers, w));
  return { numbers, answer, reward: isRight(numbers, answer) };
}, where);

const judge = compile((w: Value, key: Value, shown: Value, examples: Value) => {
  const numbers = numbersOf(key, most, shown);
  const right = isRight(numbers, np.argmax(np.matmul(numbers, w), { axis: 1 }));
  return np.sum(np.where(np.less(np.arange(most), examples), right, 0));
}, where);

const scalar = (value: number): Tensor => put(Int32Array.of(value), { shape: [], ...where });
const shownIn = (lesson: string): Tensor => scalar(lesson === "pair" ? 2 : size);

/** Plays with the policy that it has. `failing` makes a rollout fail. */
export function largestGenerator(
  options: { readonly failing?: () => boolean } = {},
): RolloutGenerator & { readonly evaluated: { readonly lesson: string; readonly examples: number }[] } {
  let w = put(new Float32Array(size * size), { shape: [size, size], ...where });
  const receiver = new WeightsReceiver("largest", { w });
  const evaluated: { readonly lesson: string; readonly examples: number }[] = [];
  return {
    lessons: ["pair", "four"],
    evaluated,
    setParams(params) {
      w = receiver.take(params).w as Tensor;
    },
    async rollout({ lesson, key }) {
      if (options.failing?.()) throw new Error("the dice are lost");
      const made = play(w, key, shownIn(lesson));
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
      const right = await judge(w, key, shownIn(lesson), scalar(examples)).read();
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
