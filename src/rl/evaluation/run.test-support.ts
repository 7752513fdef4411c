import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Clock, type ManualClock, manualClock } from "../../core/index.ts";
import { compile, np, put, random, type Tensor, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { RandomStreams } from "../../random/index.ts";
import { hashState, type StateTree } from "../../state/index.ts";
import { type Task, Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import type { Environment } from "../environments/environment.ts";
import type { EnvironmentModule } from "../environments/registry.ts";
import { buildPolicy } from "../policies/build.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { Player } from "./player.ts";

const spec: PolicySpec = { encoder: { kind: "mlp", hidden: [8] } };

const walk = compile(
  (params: Params, key: Value): Params => {
    const moved = (part: Params | Value): Params | Value => {
      if (isTree(part))
        return Object.fromEntries(Object.entries(part).map(([k, v]) => [k, moved(v)])) as Params;
      return np.add(np.multiply(part, 0.9), np.multiply(random.normal(key, part.shape), 0.1));
    };
    return moved(params) as Params;
  },
  { engine: "wasm" },
);

const isTree = (part: Params | Value): part is Params => Object.getPrototypeOf(part) === Object.prototype;

/** A task that trains nothing: the parameters of a policy walk about at random, one step a batch. */
export class WalkTask implements Task {
  readonly sampleUnit = "agentSteps";
  readonly stepUnit = "updates";
  readonly ramps = {};
  readonly settings;
  readonly player: Player;
  #params: Params<Tensor>;
  #streams: RandomStreams | undefined;
  readonly components = {
    params: {
      getState: () => this.#params as StateTree,
      setState: (state: StateTree) => {
        this.#params = state as Params<Tensor>;
      },
    },
  };

  constructor(make: () => Environment, environment: string | EnvironmentModule) {
    const policy = buildPolicy(spec, make());
    this.player = { policy, reads: ["params"] };
    this.settings = { policy: spec, environment } as unknown as NonNullable<Task["settings"]>;
    this.#params = policy.init(1, { engine: "wasm" });
  }

  begin({ random: streams }: { readonly random: RandomStreams }): void {
    this.#streams = streams;
  }

  epoch() {
    const adds = { updates: 1, samples: 8 };
    return [{ phase: "train" as const, repeats: 2, adds, fusesWithNext: true, maxFuse: 100 }];
  }

  run({ count }: { readonly count: number }) {
    for (let i = 0; i < count; i++)
      this.#params = walk(this.#params as never, this.#streams?.get("walk").key() as never) as Params<Tensor>;
    return { metrics: { loss: put(new Float32Array(count), { engine: "wasm" }) } };
  }

  snapshot(names: readonly string[] = ["params"]) {
    return { components: Object.fromEntries(names.map((name) => [name, this.#params as StateTree])) };
  }
}

export interface Ran {
  readonly task: WalkTask;
  readonly trainer: Trainer;
  readonly warnings: string[];
  readonly clock: ManualClock;
  /** What of the run's end decides how it would go on, without what hooks keep. */
  hash(): Promise<string>;
}

/** Makes a run of such a task. */
export function walkRun(
  task: WalkTask,
  hooks: readonly TrainerHook[],
  config: Partial<TrainingConfig> = {},
  time?: Clock,
): Ran {
  const warnings: string[] = [];
  const clock = manualClock(1000);
  const trainer = new Trainer({
    task,
    hooks,
    config: { epochs: 6, seed: 3, name: "walk", handleSignals: false, ...config },
    clock: time ?? clock,
    warn: (text: string) => void warnings.push(text),
  });
  return {
    ...{ task, trainer, warnings, clock },
    hash: async () => {
      const { params, random: streams, trainer: own } = trainer.components;
      const states = await Promise.all([params, streams, own].map((part) => part?.getState()));
      return hashState(states as StateTree);
    },
  };
}

/** A folder that is gone when the test has ended. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "espalier-evaluation-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
