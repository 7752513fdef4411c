import { describe, expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import { noCounters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { autoUpdateEpochs } from "../experience/update-epochs.ts";
import { hashes, smallTask, trained } from "./on-policy.test-support.ts";
import { TunerWatch } from "./report.ts";

const numbers = (...values: number[]) => put([...values, 99], { engine: "wasm" });
const values = (kl: readonly number[], clipFraction: readonly number[]) => ({
  "policy.approxKl": numbers(...kl),
  "policy.clipFraction": numbers(...clipFraction),
});
const at = (samples: number) => ({ ...noCounters, samples });
const tuner = () => autoUpdateEpochs({ target: 0.01, warmup: 0, cooldown: 0, start: 4 });

describe("what a tuner is shown", () => {
  it("is the mean over a rollout's updates, however they come", async () => {
    const seen: unknown[] = [];
    const watch = new TunerWatch({ ...tuner(), observe: (found) => void seen.push(found) });
    watch.add(values([0.5, 1], [0, 1]), 2);
    watch.add(values([1.5], [0.5]), 1);
    await watch.end();
    watch.add(values([3], [0.25]), 1);
    await watch.end();
    await watch.end();
    expect(seen).toEqual([
      { kl: 1, clipFraction: 0.5 },
      { kl: 3, clipFraction: 0.25 },
    ]);
  });

  it("waits for what is on the device when it is saved", async () => {
    const [own, other] = [tuner(), tuner()];
    const watch = new TunerWatch(own);
    expect(watch.updateEpochs(at(64))).toBe(4);
    watch.add(values([0.5], [0.4]), 1);
    const restored = new TunerWatch(other);
    restored.setState(await watch.getState());
    await restored.end();
    expect(other.epochs).toBe(3);
    // The epoch under way has what it began with.
    expect(restored.updateEpochs(at(64))).toBe(4);
    expect(restored.updateEpochs(at(128))).toBe(3);
  });
});

describe("a run whose update epochs are chosen", () => {
  it("goes on as it would have from a state taken after any call, the last of an epoch included", async () => {
    const make = () =>
      smallTask("compiled", "wasm", {
        updateEpochs: autoUpdateEpochs({ warmup: 0, cooldown: 0, start: 1, max: 3, target: 1 }),
      });
    const states: Readonly<Record<string, StateTree>>[] = [];
    const save: TrainerHook = {
      name: "save",
      onBatchesEnd: async ({ snapshot }) => void states.push((await snapshot()).components),
    };
    const whole = await trained(make(), {}, [save]);
    expect(whole.counters.updates).toBe(2 + 4 + 6 + 6);
    for (const state of states) {
      const task = make();
      const trainer = new Trainer({ task, config: { epochs: 4, seed: 3 } });
      for (const [name, part] of Object.entries(trainer.components))
        if (name in state) await part.setState(state[name] as StateTree);
      const { counters } = await trainer.train();
      expect({ ...counters, seconds: 0 }).toEqual(whole.counters);
      expect(await hashes(task)).toEqual(whole.hashes);
    }
  });
});
