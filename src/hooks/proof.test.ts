import { describe, expect, it } from "vitest";
import { every, type Schedule } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import { checkIdempotent, orderOf, ran, simulate } from "../testing/index.ts";
import {
  evaluationScores,
  gradientHealth,
  latestCheckpoint,
  type TrainerHook,
  type Values,
} from "../trainer/index.ts";

/**
 * The two hooks that the audit asked to write before the contract is called finished: metrics, the most demanding
 * one, and checkpoints, which must save what the others made. Sketches: the real ones are in metrics/ and checkpoint/.
 */

/** Gathers what batches and rollouts report, on the device; reads and logs it when it is time. */
function sketchOfMetrics(report: Schedule): TrainerHook {
  let batches: Values[] = [];
  let rollouts: Values[] = [];
  return {
    name: "metrics",
    wants: [evaluationScores],
    provides: [gradientHealth],
    onBatchesEnd: ({ values, state }) => {
      if (values) (state.phase === "train" ? batches : rollouts).push(values);
    },
    async onEpochEnd(context) {
      const { slots, log } = context;
      // One schedule serves all handlers of a hook; gathering happens always, so the report asks its own.
      if (!report.due(context)) return undefined;
      const [trained, gathered] = [await joined(batches), await joined(rollouts)];
      batches = [];
      rollouts = [];
      const norms = trained.gradientNorm ?? [];
      slots.set(gradientHealth, { norm: mean(norms), maxNorm: Math.max(...norms), skipped: 0 });
      log({ "train.loss": mean(trained.loss ?? []), "train.batches": norms.length }, "train");
      log({ "rollout.reward": mean(gathered.reward ?? []) }, "rollout");
      const scores = slots.get(evaluationScores)?.scores;
      if (scores) log(scores, "evaluation");
      return { "metrics.batches": norms.length };
    },
  };
}

async function joined(all: readonly Values[]): Promise<Readonly<Record<string, readonly number[]>>> {
  const found: Record<string, number[]> = {};
  for (const values of all)
    for (const [name, rows] of Object.entries(await values.read())) {
      const list = found[name] ?? [];
      found[name] = list;
      list.push(...rows);
    }
  return found;
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

interface Saved {
  readonly epochs: number;
  readonly components: Readonly<Record<string, StateTree>>;
  readonly best: number | undefined;
}

/** Saves in the background from a frozen snapshot, and remembers the best. */
function sketchOfCheckpoint(store: Saved[], when: Schedule, upload: () => Promise<void>): TrainerHook {
  let best = Number.NEGATIVE_INFINITY;
  return {
    name: "checkpoint",
    schedule: when,
    // Its manifest holds the last metrics: without this only the order of registration puts it after them.
    wants: [evaluationScores, gradientHealth],
    provides: [latestCheckpoint],
    background: { reads: ["params"] },
    state: {
      getState: () => ({ best }),
      setState: (state) => {
        best = (state as { readonly best: number }).best;
      },
    },
    async onEpochEnd({ snapshot, slots, counters }) {
      const { components } = await snapshot();
      const reward = slots.get(evaluationScores)?.scores.reward;
      await upload();
      best = Math.max(best, reward ?? best);
      if (!store.some(({ epochs }) => epochs === counters.epochs))
        store.push({ epochs: counters.epochs, components, best: reward });
      slots.set(latestCheckpoint, { path: `epoch-${counters.epochs}`, uri: null, counters });
    },
  };
}

const evaluation: TrainerHook = {
  name: "evaluation",
  provides: [evaluationScores],
  schedule: every({ epochs: 2 }),
  onEpochEnd: ({ slots, counters }) =>
    slots.set(evaluationScores, { scores: { reward: counters.epochs * 10 }, counters }),
};

/** Parameters that move on with every batch. */
function parameters() {
  let w = 0;
  return {
    move: () => void w++,
    params: {
      getState: () => ({ w }),
      setState: (state: StateTree) => {
        w = (state as { readonly w: number }).w;
      },
    },
  };
}

describe("evaluation, metrics and checkpoint, written against the contract", () => {
  it("work together, in the order that follows from what they share", async () => {
    const store: Saved[] = [];
    const { move, params } = parameters();
    const metrics = sketchOfMetrics(every({ epochs: 2 }));
    const checkpoint = sketchOfCheckpoint(store, every({ epochs: 2 }), async () => {});
    const run = await simulate([checkpoint, metrics, evaluation], {
      epochs: 4,
      batches: 3,
      rollout: true,
      rolloutValues: ({ samples }) => ({ reward: samples }),
      components: { params },
      values: ({ batches }) => {
        move();
        return { loss: batches, gradientNorm: batches / 2 };
      },
    });
    expect(run).toMatchObject({ outcome: "completed", warnings: [] });
    expect(orderOf(run, "onEpochEnd")[1]).toEqual(["evaluation", "metrics", "checkpoint"]);
    expect(ran(run, "checkpoint", "epochs")).toEqual([2, 4]);
    expect(
      run.logged.filter(({ category }) => category === "evaluation").map(({ values }) => values),
    ).toEqual([{ reward: 20 }, { reward: 40 }]);
    expect(run.logged[0]?.values).toEqual({ "train.loss": 3.5, "train.batches": 6 });
    expect(run.logged[1]?.values).toEqual({ "rollout.reward": 4.5 });
    expect(run.slots.get(gradientHealth)).toEqual({ norm: 4.75, maxNorm: 6, skipped: 0 });
    expect(run.slots.get(latestCheckpoint)?.path).toBe("epoch-4");
    expect(store).toEqual([
      { epochs: 2, components: { params: { w: 6 } }, best: 20 },
      { epochs: 4, components: { params: { w: 12 } }, best: 40 },
    ]);
  });

  it("gather the same where batches run in one call", async () => {
    const logged = async (fuse: boolean) =>
      (await simulate(sketchOfMetrics(every({ epochs: 1 })), { epochs: 2, batches: 20, fuse })).logged;
    expect(await logged(true)).toEqual(await logged(false));
  });

  it("save what was there when it was time, however late the writing", async () => {
    const store: Saved[] = [];
    const { move, params } = parameters();
    // The upload of epoch 1 ends when the next epoch has moved the parameters on.
    let release = (): void => {};
    const gate = new Promise<void>((done) => {
      release = done;
    });
    const late: TrainerHook = { name: "late", schedule: every({ batches: 5 }), onBatchEnd: () => release() };
    const checkpoint = sketchOfCheckpoint(store, every({ epochs: 1, until: 1 }), () => gate);
    await simulate([checkpoint, late], {
      epochs: 2,
      batches: 3,
      components: { params },
      values: () => {
        move();
        return { loss: 1 };
      },
    });
    expect(store.map(({ components }) => components)).toEqual([{ params: { w: 3 } }]);
  });

  it("end the run in the name of the one that fails", async () => {
    const failing = sketchOfCheckpoint([], every({ epochs: 1 }), () =>
      Promise.reject(new Error("disk full")),
    );
    const run = await simulate(failing, { epochs: 3, components: { params: parameters().params } });
    expect(run.outcome).toBe("failed");
    expect(String(run.error)).toContain('hook "checkpoint" failed in onEpochEnd: disk full');
  });

  it("may be asked twice for the same checkpoint", async () => {
    const store: Saved[] = [];
    const checkpoint = sketchOfCheckpoint(store, every({ epochs: 1 }), async () => {});
    const report = await checkIdempotent(checkpoint, {
      counters: { epochs: 2 },
      components: { params: parameters().params },
      effects: () => store,
    });
    expect(report).toEqual({ idempotent: true, differences: [] });
  });
});
