import { put } from "../engine/index.ts";
import type { Counters, Ramp } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "./events.ts";
import { trainerEvents } from "./events.ts";
import type { Report, Request, Segment, Task } from "./task.ts";

export interface FakeTaskOptions {
  /** What an epoch consists of; five batches of four samples unless given. */
  readonly epoch?: (at: Counters) => readonly Segment[];
  readonly ramps?: Readonly<Record<string, Ramp>>;
  readonly counters?: readonly string[];
  /** What a rollout is found to have counted, by how many rollouts were before it. */
  readonly counted?: (rollout: number) => Readonly<Record<string, number>>;
  /** What a rollout reports as reward, by how many rollouts were before it. Default: the parameter. */
  readonly reward?: (rollout: number) => number;
  readonly hooks?: readonly TrainerHook[];
  readonly validate?: boolean;
  /** Batches there are in all. */
  readonly supply?: number;
  /** Whether `run` gives promises. */
  readonly slow?: boolean;
  /** Called with each request. */
  readonly onRun?: (request: Request) => void;
}

export const train = (repeats: number, more: Partial<Segment> = {}): Segment => ({
  phase: "train",
  repeats,
  adds: { updates: 1, samples: 4 },
  fusesWithNext: true,
  maxFuse: 1000,
  ...more,
});

export const rollout = (repeats: number, more: Partial<Segment> = {}): Segment => ({
  ...train(repeats),
  phase: "rollout",
  adds: { samples: 7 },
  ...more,
});

/**
 * A task whose one parameter follows from every repeat in its order: `w = w * 0.5 + rate + samples`. What it reports
 * is on the wasm engine.
 */
export class FakeTask implements Task {
  readonly sampleUnit = "examples";
  readonly stepUnit = "updates";
  readonly ramps: Readonly<Record<string, Ramp>>;
  readonly requests: Request[] = [];
  readonly hooks: readonly TrainerHook[];
  readonly counters: readonly string[];
  readonly epoch: (at: Counters) => readonly Segment[];
  readonly validate?: NonNullable<Task["validate"]>;
  w = 1;
  #used = 0;
  #rollouts = 0;
  readonly #options: FakeTaskOptions;

  constructor(options: FakeTaskOptions = {}) {
    this.#options = options;
    this.ramps = options.ramps ?? {};
    this.hooks = options.hooks ?? [];
    this.counters = options.counters ?? [];
    this.epoch = options.epoch ?? (() => [train(5)]);
    if (options.validate) this.validate = async ({ counters }) => ({ loss: this.w, at: counters.updates });
  }

  readonly components = {
    parameters: {
      getState: () => ({ w: this.w, used: this.#used, rollouts: this.#rollouts }),
      setState: (state: StateTree) => {
        const { w, used, rollouts } = state as { w: number; used: number; rollouts: number };
        this.w = w;
        this.#used = used;
        this.#rollouts = rollouts;
      },
    },
  };

  snapshot(names: readonly string[] = ["parameters"]) {
    return {
      components: Object.fromEntries(names.map((name) => [name, this.components.parameters.getState()])),
    };
  }

  run(request: Request): Report | Promise<Report> {
    this.requests.push({ ...request, ramps: structuredClone(request.ramps) });
    this.#options.onRun?.(request);
    const losses: number[] = [];
    const returns: number[] = [];
    const counted: Record<string, number[]> = {};
    let row = 0;
    let done = 0;
    for (const { segment, count } of request.spans)
      for (let i = 0; i < count && this.#used < (this.#options.supply ?? Infinity); i++, row++, done++) {
        this.#used++;
        this.w = this.w * 0.5 + (request.ramps.rate?.[row] ?? 0.1) + (segment.adds.samples ?? 0);
        if (segment.phase === "train") {
          losses.push(this.w);
          continue;
        }
        const { reward = () => this.w } = this.#options;
        returns.push(reward(this.#rollouts));
        for (const [name, found] of Object.entries(this.#options.counted?.(this.#rollouts) ?? {})) {
          counted[name] ??= [];
          counted[name].push(found);
        }
        this.#rollouts++;
      }
    const report: Report = {
      metrics: losses.length > 0 ? { loss: rows(losses) } : {},
      ...(returns.length > 0 && { rollout: { reward: rows(returns) } }),
      ...(this.#options.counted && { counted }),
      ...(done < request.count && { exhausted: done }),
    };
    return this.#options.slow ? Promise.resolve(report) : report;
  }
}

/** A row more than count, as tasks with room for more give. */
const rows = (numbers: readonly number[]) => put([...numbers, -1], { engine: "wasm" });

/** A hook that writes down every event: name, epoch, batches. */
export function recorder(
  events: readonly TrainerEvent[] = trainerEvents,
  more: Partial<TrainerHook> = {},
  say: (context: TrainerContext) => string = ({ event, counters }) =>
    `${event} ${counters.epoch}/${counters.epochs}/${counters.batches}`,
): { readonly hook: TrainerHook; readonly lines: string[] } {
  const lines: string[] = [];
  const handlers = Object.fromEntries(
    events.map((event) => [event, (context: TrainerContext) => void lines.push(say(context))]),
  );
  return { hook: { name: "recorder", ...handlers, ...more }, lines };
}

/**
 * A SIGTERM as a trainer with `handleSignals` gets it, in a process that other tests share: listeners of bundlers and
 * tools, which may end the process, hear nothing of it.
 */
export function interruptTrainer(): void {
  const handler = process.listeners("SIGTERM").at(-1);
  if (!handler) throw new Error("no trainer listens");
  handler("SIGTERM");
}
