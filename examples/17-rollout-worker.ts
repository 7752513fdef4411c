// Rollouts made apart from the trainer: a worker plays with the weights it was given last, while the trainer learns from
// what it sends. New ideas: a generator, `RolloutWorker`, a transport between the two, and hooks of the worker.
import assert from "node:assert/strict";
import { compile, grad, nn, np, PeriodicHook, put, random, type Tensor, type Value } from "espalier";
import { evaluationScores } from "espalier/hooks";
import { lessonCurriculum } from "espalier/rl";
import {
  evaluationHook,
  inProcessTransport,
  LoggingHook,
  type NamedArrays,
  type RolloutGenerator,
  RolloutWorker,
  type WorkerContext,
  type WorkerHook,
} from "espalier/rollout";

// The problem: two numbers ("pair") or four are shown; name the largest.
const lessons = ["pair", "four"];
const [tries, size] = [64, 4];

/** Plays: a linear policy draws answers, or in an evaluation gives the most likely ones. */
const play = compile((w: Value, key: Value, lesson: Value, surely: Value) => {
  const [forNumbers, forAnswers] = random.split(key);
  const shown = np.less(np.arange(size), np.where(np.equal(lesson, 0), 2, size));
  const numbers = np.where(shown, random.uniform(forNumbers, [tries, size]), 0);
  const logits = np.matmul(numbers, w);
  const drawn = random.categorical(forAnswers, logits);
  const answer = np.where(np.equal(surely, 1), np.argmax(logits, { axis: 1 }), drawn);
  return { numbers, answer, reward: np.equal(answer, np.argmax(numbers, { axis: 1 })).astype("f32") };
});

/** Makes rollouts with the weights that it was given last. */
function makeGenerator(): RolloutGenerator {
  let w: Tensor;
  const playLesson = async (lesson: string, key: Uint32Array, surely: number) => {
    const scalar = (value: number) => put(Int32Array.of(value), { shape: [] });
    const made = play(w, key, scalar(lessons.indexOf(lesson)), scalar(surely));
    const [numbers, answer, reward] = await Promise.all([
      made.numbers.read(),
      made.answer.read(),
      made.reward.read(),
    ]);
    const mean = Float32Array.from(reward).reduce((sum, each) => sum + each, 0) / tries;
    return { numbers, answer, reward, mean };
  };
  return {
    lessons,
    setParams: (params) => {
      const { data, shape } = (params as NamedArrays).w as NamedArrays[string];
      w = put(data, { shape });
    },
    async rollout({ lesson, key }) {
      const { numbers, answer, reward, mean } = await playLesson(lesson, key, 0);
      return {
        arrays: {
          numbers: { data: numbers, shape: [tries, size] },
          answer: { data: answer, shape: [tries] },
          reward: { data: reward, shape: [tries] },
        },
        ...{ episodes: tries, return: mean, positive: mean },
      };
    },
    async evaluate({ lesson, key }) {
      const { mean } = await playLesson(lesson, key, 1);
      return { episodes: tries, return: mean, positive: mean };
    },
  };
}

// The worker, with hooks of one's own beside the evaluations that it has by itself.
class CustomMonitoringHook extends PeriodicHook<WorkerContext> {
  readonly metrics: Readonly<Record<string, unknown>>[] = [];
  constructor() {
    super({ frequency: 25 });
  }
  override run({ step, lessonId, metadata, worker }: WorkerContext) {
    const metrics = { "monitoring.step": step, "monitoring.lesson": lessonId };
    this.metrics.push({ ...metrics, reward: metadata.reward });
    worker.tracker.log(metrics, step);
    return metrics;
  }
}
const stopping: WorkerHook = {
  name: "stopping",
  wants: [evaluationScores],
  onStep: ({ slots, stop }) => {
    const found = slots.get(evaluationScores)?.scores["four.return"] ?? 0;
    if (found > 0.95) stop(`${Math.round(100 * found)} % of four`);
  },
};
const monitoring = new CustomMonitoringHook();
const transport = inProcessTransport({ capacity: 1 });
const worker = new RolloutWorker({
  generator: makeGenerator(),
  link: transport.worker("worker-0"),
  curriculum: lessonCurriculum({ lessons: [{ name: "pair" }, { name: "four", after: ["pair"] }] }),
  evalFrequency: 20, // Updates of the trainer between evaluations of all lessons, which move the curriculum.
  hooks: [monitoring, stopping],
});
worker.registerHook(evaluationHook({ frequency: 50, nExamples: 32, evalType: "custom_eval" }));
worker.registerHook(new LoggingHook({ frequency: 100 }));
console.log(worker.hooks.plan().text);

// The trainer: takes rollouts as they come, learns from each once by REINFORCE, and publishes its weights.
const learn = compile((w: Value, numbers: Value, answer: Value, reward: Value) => {
  const loss = (w: Value): Value => {
    const all = nn.logSoftmax(np.matmul(numbers, w));
    const chosen = np.takeAlongAxis(all, answer.reshape(tries, 1)).reshape(tries);
    return np.negative(np.mean(np.multiply(np.subtract(reward, np.mean(reward)), chosen)));
  };
  return np.subtract(w, np.multiply(grad(loss)(w), 20));
});
let w: Tensor = put(new Float32Array(size * size), { shape: [size, size] });
const publish = async (id: number) =>
  transport.publish({ id, arrays: { w: { data: await w.read(), shape: w.shape } } });
await publish(0);
const running = worker.run({ steps: 2000 }).finally(() => transport.close());
for (let updates = 1; ; updates++) {
  const rollout = await transport.take();
  if (!rollout) break;
  const { numbers, answer, reward } = Object.fromEntries(
    Object.entries(rollout.arrays).map(([name, { data, shape }]) => [name, put(data, { shape })]),
  ) as Record<"numbers" | "answer" | "reward", Tensor>;
  w = learn(w, numbers, answer, reward);
  await publish(updates).catch(() => undefined); // The worker may have ended meanwhile.
}
const { outcome, reason, steps } = await running;
console.log(`${outcome} after ${steps} steps and ${worker.counters.updates} updates: ${reason}`);
console.log(`watched at steps ${monitoring.metrics.map((each) => each["monitoring.step"]).join(", ")}`);
assert.equal(outcome, "stopped", "four was learned");
assert.ok(monitoring.metrics.length >= 2);
