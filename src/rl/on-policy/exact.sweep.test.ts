import { describe, expect, it } from "vitest";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { inSample } from "../../sweep.test-support.ts";
import { learningProgressCurriculum } from "../curriculum/learning-progress.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { autoUpdateEpochs } from "../experience/update-epochs.ts";
import { environments, resumed, smallTask, trained, type Where } from "./on-policy.test-support.ts";
import type { OnPolicyOptions } from "./options.ts";

/** Settings under which something could depend on how work is cut, or be forgotten by a checkpoint. */
const settings: Readonly<Record<string, (where: Where) => Partial<OnPolicyOptions>>> = {
  plain: () => ({}),
  "memory, normalised, centred, halted": () => ({
    policy: { encoder: { kind: "mlp", hidden: [8] }, memory: { kind: "gru", width: 4 } },
    segment: 8,
    normalize: { observations: true, rewards: true },
    centerRewards: true,
    targetKl: 0.0005,
  }),
  "priorities, corrected advantages": () => ({
    segment: 4,
    prioritized: { alpha: 0.8, beta: 0.2 },
    vtrace: {},
    normalizeAdvantages: true,
  }),
  "chosen update epochs": () => ({ updateEpochs: autoUpdateEpochs({ warmup: 0, cooldown: 0, max: 3 }) }),
  "lessons by a curriculum": (where) => ({
    env: environments(where, "GridWorld-v0"),
    curriculum: learningProgressCurriculum({ lessons: makeEnvironment("GridWorld-v0").lessons ?? [] }),
  }),
};
const fullest = "memory, normalised, centred, halted";

describe.each(inSample ? (["wasm"] as const) : (["wasm", ...sweepEngines()] as const))("on %s", (engine) => {
  const cases = (["compiled", "ordinary"] as const).flatMap((where, i) =>
    Object.keys(settings).flatMap((name, j) => {
      // Compiling takes its time on xla: there the fullest settings stand for all. The sample of wasm has every other one.
      const chosen = engine === "xla" ? name === fullest : ((i + j) % 2 === 0) === inSample;
      return chosen ? [[where, name] as const] : [];
    }),
  );
  const make = (where: Where, name: string) => smallTask(where, engine, settings[name]?.(where));

  it.each(cases)("%s environments, %s: how the work is cut changes no bit", async (where, name) => {
    const whole = await trained(make(where, name));
    const cut = await trained(make(where, name), { fuse: name === fullest ? 3 : false });
    expect(cut.hashes).toEqual(whole.hashes);
    expect(cut.counters).toEqual(whole.counters);
    expect(whole.counters.samples).toBe(4 * 16 * 4);
  });

  it.each(cases)(
    "%s environments, %s: a run broken off in an epoch ends with the same bits",
    async (where, name) => {
      const whole = await trained(make(where, name));
      const { hashes, counters } = await resumed(() => make(where, name));
      expect(hashes).toEqual(whole.hashes);
      expect(counters).toEqual(whole.counters);
    },
  );

  it("depends on the seed, the task's own or the run's", async () => {
    const [one, other] = [
      await trained(make("ordinary", "plain")),
      await trained(make("ordinary", "plain"), { seed: 4 }),
    ];
    expect(other.hashes.params).not.toBe(one.hashes.params);
    const own = await trained(smallTask("ordinary", engine, { seed: 3 }), { seed: 9 });
    expect(own.hashes).toEqual(one.hashes);
  });
});
