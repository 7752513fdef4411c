import { expectTypeOf } from "vitest";
import type { Value } from "../engine/index.ts";
import type { Stateful } from "../state/index.ts";
import type { TrainerContext, TrainerHook } from "../trainer/index.ts";
import { accuracy, type BatchGroup, f1, Loader, type SetMetric, supervisedTrainer } from "./index.ts";

declare const key: Uint32Array;
declare const model: Parameters<typeof supervisedTrainer>[0]["model"];

// A loader is a component, and gives rows.
const loader = new Loader({ length: 10, batchSize: 4, key });
expectTypeOf(loader).toExtend<Stateful>();
expectTypeOf(loader.next()).toExtend<Int32Array>();
expectTypeOf(loader.groups).toEqualTypeOf<readonly BatchGroup[]>();
// @ts-expect-error rows are drawn from a key
new Loader({ length: 10, batchSize: 4 });
// @ts-expect-error no such rule
new Loader({ length: 10, batchSize: 4, key, lastBatch: "fill" });

// What a directory sets up is turned off by name.
supervisedTrainer({ model, checkpointDir: "runs/a", automatic: { metrics: false } });
// @ts-expect-error no such part
supervisedTrainer({ model, checkpointDir: "runs/a", automatic: { progress: false } });

// 002's form of a hook, with a plain object as its state.
class Counting implements TrainerHook {
  readonly name = "counting";
  readonly state = { runs: 0, seen: [1, 2] };
  shouldRun({ counters }: TrainerContext): boolean {
    return counters.steps % 5 === 0;
  }
  run({ state }: TrainerContext): unknown {
    this.state.runs++;
    return { "counting.rank": state.rank };
  }
}
supervisedTrainer({ model, hooks: new Counting() });
// @ts-expect-error a state holds what can be saved
supervisedTrainer({ model, hooks: { name: "a", state: { seen: new Map() }, run: () => {} } });

// Metrics: functions, metrics of a set, and accuracy, which is both.
declare const own: SetMetric<{ readonly sum: Value }>;
supervisedTrainer({ model, metrics: { accuracy, f1: f1(), own } });
expectTypeOf(accuracy({ ignore: -1 })).toExtend<SetMetric>();
// @ts-expect-error a metric of a set has a value
supervisedTrainer({ model, metrics: { half: { init: own.init, add: own.add } } });
// @ts-expect-error no such average
f1({ average: "mean" });
// @ts-expect-error no such precision
supervisedTrainer({ model, trainingConfig: { precision: "f16" } });
