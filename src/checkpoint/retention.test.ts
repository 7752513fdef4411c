import { describe, expect, it } from "vitest";
import { noCounters } from "../schedule/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { memoryStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";
import type { Manifest } from "./manifest.ts";
import { expendable, type Keep } from "./retention.ts";

const manifests = (scores: readonly (number | undefined)[]): Manifest[] =>
  scores.map((score, i) => ({
    format: "espalier-checkpoint",
    version: 1,
    name: String(i + 1),
    run: "",
    sequence: i + 1,
    savedAt: "",
    counters: { ...noCounters, epochs: i + 1 },
    metrics: {},
    scores: score === undefined ? {} : { reward: score },
    metadata: null,
    config: null,
    configHash: "",
    computedBy: somebody,
    components: {},
  }));
const left = (all: readonly Manifest[], keep: Keep | undefined): string => {
  const gone = expendable(all, keep);
  return all.flatMap(({ name }) => (gone.includes(name) ? [] : [name])).join(" ");
};
const eight = manifests([3, 9, Number.NaN, 7, undefined, 1, 7, 2]);

describe("retention", () => {
  it.each<[string, Keep | undefined, string]>([
    ["everything without rules", undefined, "1 2 3 4 5 6 7 8"],
    ["everything where names are only protected", { protect: ["2"] }, "1 2 3 4 5 6 7 8"],
    ["the last", { last: 3 }, "6 7 8"],
    [
      "the best, NaN and missing ones never, of equals the earlier",
      { best: { metric: "evaluation/reward", k: 2, direction: "max" } },
      "2 4 8",
    ],
    ["the best by the least", { best: { metric: "evaluation/reward", k: 2, direction: "min" } }, "6 8"],
    ["one of each stretch", { every: { epochs: 3 } }, "3 6 8"],
    [
      "whatever one rule keeps",
      { last: 1, best: { metric: "evaluation/reward", k: 1, direction: "max" }, every: { epochs: 4 } },
      "2 4 8",
    ],
    ["protected names", { last: 1, protect: ["5"] }, "5 8"],
    ["what a rule protects", { last: 1, protect: ({ counters }) => counters.epochs === 1 }, "1 8"],
  ])("keeps %s", (_name, keep, expected) => {
    expect(left(eight, keep)).toBe(expected);
  });

  it("keeps the same of each stretch when it is asked after each save", () => {
    let kept: Manifest[] = [];
    for (const manifest of manifests(new Array(12).fill(0))) {
      kept = [...kept, manifest];
      const gone = expendable(kept, { last: 2, every: { epochs: 5 } });
      kept = kept.filter(({ name }) => !gone.includes(name));
    }
    expect(kept.map(({ name }) => name)).toEqual(["5", "10", "11", "12"]);
  });

  it.each<[metric: string, kept: string]>([
    ["train/reward", "1 3"],
    ["evaluation/reward", "2 3"],
    ["evaluation/suite.reward", "3"],
    ["validation/reward", "1 3"],
    ["rollout/episode.return", "2 3"],
    ["rollout/length", "1 3"],
    ["talk/said", "1 3"],
    ["train/gradientNorm/first", "2 3"],
  ])("takes %s by its full name, whatever it is called in the manifest", (metric, kept) => {
    const all = manifests([1, 3, 2]).map((manifest, i) => ({
      ...manifest,
      metrics: {
        ...{ reward: -i, "rollout/episode.return": [1, 3, 2][i] as number, "episode.return": 0, length: -i },
        ...{ "talk/said": -i, "gradientNorm/first": [1, 3, 2][i] as number },
      },
      scores: { ...manifest.scores, "validation.reward": -i, "suite.reward": i },
    }));
    expect(left(all, { best: { metric, k: 1, direction: "max" } })).toBe(kept);
  });

  it("keeps all while none has the score or the unit of a rule, whatever other rules say", () => {
    const unscored = manifests([undefined, undefined, undefined]);
    const best = { metric: "evaluation/reward", k: 1, direction: "max" } as const;
    expect(left(unscored, { best })).toBe("1 2 3");
    expect(left(unscored, { best, last: 1 })).toBe("1 2 3");
    expect(left(unscored, { last: 1, every: { episodes: 2 } })).toBe("1 2 3");
    expect(left(manifests([undefined, 1, undefined]), { best })).toBe("2 3");
    expect(left(manifests([undefined, Number.NaN, undefined]), { best })).toBe("3");
  });

  it("does not let the first score of all cost the others as it comes", () => {
    const best = { metric: "evaluation/reward", k: 1, direction: "max" } as const;
    expect(expendable(manifests([undefined, undefined, 1]), { best }, "3")).toEqual([]);
    expect(expendable(manifests([undefined, 1, undefined]), { best }, "3")).toEqual(["1"]);
  });

  it.each<[unknown, RegExp]>([
    [{ lst: 2 }, /keep: there is no option "lst"; did you mean "last"\? \[OPTION_UNKNOWN\]/],
    [
      { best: { metrik: "loss", k: 1, direction: "min" } },
      /keep: best: there is no option "metrik".*OPTION_UNKNOWN/,
    ],
    [{ best: { metric: "", k: 1, direction: "min" } }, /keep\.best\.metric is ""/],
    [
      { best: { metric: "loss", k: 1, direction: "min" } },
      /metric is "loss" \[KEEP_INVALID\].*"train\/loss"/s,
    ],
    [{ best: { metric: "validation.loss", k: 1, direction: "min" } }, /write "validation\/loss"/],
    [{ best: { metric: "loss", direction: "min" } }, /best: k is missing.*KEEP_INVALID/],
    [{ every: {} }, /every is \{\}.*KEEP_INVALID/],
    [{ every: { epoch: 2 } }, /"epoch" is not a unit; did you mean "epochs"\? \[UNIT_UNKNOWN\]/],
    [{ last: 0 }, /last is 0.*KEEP_INVALID/],
    [{ every: { epochs: -1 } }, /every is \{"epochs":-1\}.*KEEP_INVALID/],
    [{ best: { metric: "train/loss", k: 1 } }, /direction is missing.*KEEP_INVALID/],
  ])("refuses %j", (keep, message) => {
    expect(() => new CheckpointManager({ store: memoryStore(), keep: keep as Keep })).toThrow(message);
  });
});

describe("a score that nobody has", () => {
  const made = (metric: string, hint?: string) => {
    const warnings: string[] = [];
    const manager = new CheckpointManager({
      store: memoryStore(),
      keep: { best: { metric, k: 1, direction: "min" } },
      computedBy: async () => somebody,
      warn: (text) => void warnings.push(text),
      ...(hint !== undefined && { hint }),
    });
    const save = (epochs: number, scores: Readonly<Record<string, number>>) =>
      manager.save({ part: new Holder(epochs) }, { counters: { epochs }, metrics: { loss: 1 }, scores });
    return { manager, warnings, save };
  };

  it("removes nothing, and is told once with what there is and with what may be meant", async () => {
    const { manager, warnings, save } = made("val/loss", "look later");
    for (const epoch of [1, 2, 3, 4]) await save(epoch, { "validation.loss": epoch });
    expect(await manager.list()).toHaveLength(4);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /score or metric "val\/loss" \(there are train\/loss, validation\/loss\); did you mean "validation\/loss"\?/,
    );
    expect(warnings[0]).toMatch(/fix: look later\n.*is removed until one has it\./);
    await expect(manager.prune()).rejects.toThrow(/none of 4 checkpoints has a .*METRIC_UNKNOWN/);
    expect(await manager.list()).toHaveLength(4);
  });

  it("says nothing where it comes with the second, and then goes by it", async () => {
    const { manager, warnings, save } = made("evaluation/reward");
    await save(1, {});
    for (const epoch of [2, 3, 4]) await save(epoch, { reward: epoch });
    expect((await manager.list()).map(({ manifest }) => manifest?.counters.epochs)).toEqual([2, 4]);
    expect(warnings).toEqual([]);
  });
});

describe("pruning", () => {
  const setUp = () => {
    const manager = new CheckpointManager({
      store: memoryStore(),
      keep: { last: 1 },
      computedBy: async () => somebody,
    });
    const save = (epochs: number) => manager.save({ part: new Holder(epochs) }, { counters: { epochs } });
    const names = async () => (await manager.list()).map(({ manifest }) => manifest?.counters.epochs);
    return { manager, save, names };
  };

  it("follows each save", async () => {
    const { save, names } = setUp();
    for (const epoch of [1, 2, 3]) await save(epoch);
    expect(await names()).toEqual([3]);
  });

  it("leaves the one that the run was resumed from, and those in use until they are not", async () => {
    const { manager, save, names } = setUp();
    const first = await save(1);
    await manager.restore({ part: new Holder(0) }, await manager.load(first.name));
    const second = await save(2);
    const stop = manager.use(second.name);
    await save(3);
    expect(await names()).toEqual([1, 2, 3]);
    stop();
    stop();
    expect(await manager.prune()).toEqual([second.name]);
    expect(await names()).toEqual([1, 3]);
  });
});
