import { describe, expect, it } from "vitest";
import { CheckpointManager, checkpointHook, memoryStore } from "../../checkpoint/index.ts";
import { Logger, metricsHook, openStatsStore } from "../../metrics/index.ts";
import { every } from "../../schedule/index.ts";
import {
  type EvaluationScores,
  evaluationScores,
  latestReplay,
  type TrainerHook,
} from "../../trainer/index.ts";
import { readReplay } from "../replays/files.ts";
import { verifyReplay } from "../replays/playback.ts";
import { evaluationSeed } from "./evaluate-checkpoint.ts";
import { here, makeBroken, makeDrift, makeLessons, scripted } from "./evaluation.test-support.ts";
import { type EvaluationHookOptions, evaluationHook } from "./evaluation-hook.ts";
import { playEpisodes } from "./play.ts";
import { folder, WalkTask, walkRun } from "./run.test-support.ts";
import { scoresOf } from "./suites.ts";

const drift = (): WalkTask => new WalkTask(makeDrift, here("makeDrift"));
const suites = { drift: { env: makeDrift } };

/** Writes down what the slot holds at the end of each epoch. */
function slotWatch(): { readonly hook: TrainerHook; readonly seen: (EvaluationScores | undefined)[] } {
  const seen: (EvaluationScores | undefined)[] = [];
  return {
    seen,
    hook: {
      name: "watch",
      wants: [evaluationScores],
      onEpochEnd: ({ slots }) => void seen.push(slots.get(evaluationScores)),
    },
  };
}

describe("an evaluation inline", () => {
  it("scores the run as it is, at its times, from episodes of its own seed", async () => {
    const task = drift();
    const { hook, seen } = slotWatch();
    const schedule = every({ epochs: 3 });
    const evaluation = evaluationHook({ player: task.player, suites, episodes: 5, schedule });
    const { trainer } = walkRun(task, [hook, evaluation]);
    await trainer.train();
    expect(seen.map((found) => found?.counters.epochs)).toEqual([undefined, undefined, 3, 3, 3, 6]);
    const { components } = task.snapshot();
    const last = await playEpisodes({
      ...{ player: task.player, state: components, env: makeDrift, episodes: 5 },
      seed: evaluationSeed(3),
    });
    const scores = scoresOf(last);
    const named = Object.entries(scores).map(([name, value]) => [`drift.${name}`, value]);
    expect(seen.at(-1)?.scores).toEqual({ ...scores, ...Object.fromEntries(named) });
    expect(seen.at(2)?.scores.return).not.toBe(scores.return);
  });

  it("changes no bit of training, in no mode of drawing", async () => {
    const plain = walkRun(drift(), []);
    await plain.trainer.train();
    for (const deterministic of [true, false]) {
      const task = drift();
      const evaluated = walkRun(task, [
        evaluationHook({
          ...{ player: task.player, suites, episodes: 3, schedule: every({ updates: 1 }), deterministic },
        }),
      ]);
      await evaluated.trainer.train();
      expect(await evaluated.hash()).toBe(await plain.hash());
    }
    const other = walkRun(drift(), [], { seed: 4 });
    await other.trainer.train();
    expect(await other.hash()).not.toBe(await plain.hash());
  });

  it("gives checkpoints their scores: the best one is the one that was measured", async () => {
    const task = drift();
    const store = memoryStore();
    const checkpoint = checkpointHook({
      store,
      keep: { best: { metric: "evaluation/drift.return", k: 1, direction: "max" } },
    });
    const { hook, seen } = slotWatch();
    const evaluation = evaluationHook({
      player: task.player,
      suites,
      episodes: 2,
      schedule: every({ epochs: 1 }),
    });
    await walkRun(task, [checkpoint, hook, evaluation]).trainer.train();
    const best = Math.max(...seen.map((found) => found?.scores["drift.return"] ?? -1e9));
    const kept = (await new CheckpointManager({ store }).list()).map(
      ({ manifest }) => manifest?.scores["drift.return"],
    );
    expect(kept).toContain(best);
  });

  it("has a suite for each lesson", async () => {
    const task = new WalkTask(makeLessons, here("makeLessons"));
    const { hook, seen } = slotWatch();
    const evaluation = evaluationHook({
      player: task.player,
      suites: {
        easy: { env: makeLessons },
        hard: { env: makeLessons, lesson: "hard", episodes: 4 },
      },
      ...{ episodes: 2, schedule: every({ epochs: 6 }) },
    });
    await walkRun(task, [hook, evaluation]).trainer.train();
    expect(seen.at(-1)?.scores).toMatchObject({
      "easy.return": 2,
      "easy.positive": 1,
      "easy.episodes": 2,
      "hard.return": 0,
      "hard.positive": 0,
      "hard.episodes": 4,
      "hard.length": 3,
      return: 4 / 6,
      positive: 2 / 6,
      episodes: 6,
      "return.min": 0,
      "return.max": 2,
    });
  });

  it("is logged under `evaluation`, and filed by metrics in the stats store", async () => {
    const task = drift();
    const store = await openStatsStore(`${folder()}/stats.db`);
    const evaluation = evaluationHook({
      player: task.player,
      suites,
      episodes: 2,
      schedule: every({ epochs: 3 }),
    });
    const metrics = metricsHook({
      logger: new Logger({ sinks: [] }),
      ...{ statsStore: store, run: { id: "walk" }, system: false, timing: false },
    });
    await walkRun(task, [evaluation, metrics]).trainer.train();
    const rows = await store.list("walk", "evaluation");
    expect(rows.map(({ step, name }) => [step, name])).toEqual([
      [6, "evaluation"],
      [12, "evaluation"],
    ]);
    // Both lie in one window of the store's, and each is a point of its own.
    const points = await store.series("walk", "evaluation/drift.return");
    expect(points.map(({ step, value }) => [step, value])).toEqual(
      rows.map(({ step, scores }) => [step, scores["drift.return"]]),
    );
    await store.close();
  });

  it("files suites and episodes by itself where it is given a store", async () => {
    const task = drift();
    const store = await openStatsStore(`${folder()}/stats.db`);
    const evaluation = evaluationHook({
      ...{
        player: task.player,
        suites,
        episodes: 2,
        schedule: every({ epochs: 3 }),
        store,
        fileEpisodes: true,
      },
    });
    await walkRun(task, [evaluation]).trainer.train();
    const rows = await store.list("walk", "evaluation");
    expect(rows.map(({ step, name, scores }) => [step, name, scores.episodes])).toEqual([
      [6, "drift", 2],
      [12, "drift", 2],
    ]);
    const episodes = await store.list("walk", "episode");
    expect(episodes).toHaveLength(4);
    expect(((episodes[0]?.return ?? 0) + (episodes[1]?.return ?? 0)) / 2).toBeCloseTo(
      rows[0]?.scores.return ?? 0,
      10,
    );
    expect(episodes[0]?.info).toMatchObject({ suite: "drift", lesson: 0, terminated: false });
    await store.close();
  });

  it("stands beside another that provides the slot, and logs for itself", async () => {
    const task = drift();
    const logged: [string, number, string | undefined][] = [];
    const small = evaluationHook({
      ...{ name: "small", player: task.player, suites: { tiny: { env: makeDrift } }, episodes: 1 },
      ...{ schedule: every({ epochs: 2 }), primary: false },
    });
    const large = evaluationHook({
      player: task.player,
      suites,
      episodes: 2,
      schedule: every({ epochs: 6 }),
    });
    const { trainer } = walkRun(task, [
      large,
      small,
      {
        name: "logger",
        onTrainingStart: () => undefined,
        onRegister: (host) =>
          host.installLogger({
            as: (owner) => ({
              log: (values, at, category) => {
                if ("tiny.return" in values) logged.push([owner, at.epochs, category]);
              },
            }),
          }),
      },
    ]);
    await trainer.train();
    expect(logged).toEqual([2, 4, 6].map((epochs) => ["small", epochs, "evaluation"]));
    const both = () => evaluationHook({ player: task.player, suites, schedule: every({ epochs: 1 }) });
    expect(() => walkRun(drift(), [both(), { ...both(), name: "second" }]).trainer.hooks.check()).toThrow(
      /both provide the slot "evaluation.scores"/,
    );
  });

  it("records the first episodes of its suites, which play again to the same end", async () => {
    const task = drift();
    const directory = `${folder()}/replays`;
    const store = await openStatsStore(`${folder()}/stats.db`);
    const evaluation = evaluationHook({
      ...{ player: task.player, suites, episodes: 3, schedule: every({ epochs: 2 }), store },
      replays: { directory, every: 2, episodes: 2 },
    });
    const { trainer } = walkRun(task, [evaluation]);
    await trainer.train();
    const rows = await store.list("walk", "replay");
    expect(rows.map(({ step, path }) => [step, path.split("/").at(-1)])).toEqual([
      [4, "step-000000004-drift-0.replay"],
      [4, "step-000000004-drift-1.replay"],
      [12, "step-000000012-drift-0.replay"],
      [12, "step-000000012-drift-1.replay"],
    ]);
    expect(trainer.hooks.slots.get(latestReplay)).toMatchObject({
      path: rows[3]?.path,
      counters: { epochs: 6 },
    });
    const replay = await readReplay(rows[3]?.uri ?? "");
    expect(replay.about).toEqual({ run: "walk", suite: "drift", step: 12 });
    expect(verifyReplay(replay, makeDrift())).toEqual({ fits: true });
    await store.close();
  });

  it("fails as it is told to: the run stops with both named, or goes on with a warning", async () => {
    const task = drift();
    const options = {
      player: task.player,
      suites: { bad: { env: makeBroken } },
      schedule: every({ epochs: 3 }),
    };
    await expect(walkRun(task, [evaluationHook(options)]).trainer.train()).rejects.toThrow(
      /hook "evaluation" failed in onEpochEnd: suite "bad": Broken .environment 0 .* step 3 .* it came apart/,
    );
    const { trainer, warnings } = walkRun(drift(), [evaluationHook({ ...options, onFailure: "warn" })]);
    expect((await trainer.train()).outcome).toBe("completed");
    expect(warnings.join("\n")).toMatch(/it came apart/);
  });

  it("ends with the run where that is to end at once", async () => {
    const task = drift();
    const endless = scripted({ name: "Endless", length: () => 1e9 });
    const controller = new AbortController();
    const evaluation = evaluationHook({
      ...{
        player: task.player,
        suites: { endless: { env: endless.make } },
        schedule: every({ epochs: 1 }),
      },
    });
    const { onEpochEnd } = evaluation;
    const stopped: TrainerHook = {
      ...evaluation,
      onEpochEnd: (context) => {
        context.stop("enough");
        queueMicrotask(() => controller.abort("enough"));
        return onEpochEnd?.(Object.create(context, { signal: { value: controller.signal } }));
      },
    };
    const { trainer } = walkRun(task, [stopped]);
    expect((await trainer.train()).outcome).toBe("stopped");
    expect(trainer.hooks.slots.get(evaluationScores)).toBeUndefined();
  });
});

describe("options that make no sense", () => {
  const { player } = drift();
  const base: EvaluationHookOptions = { player, suites, schedule: every({ epochs: 1 }) };
  const refuse = (more: object, message: RegExp) =>
    expect(() => evaluationHook({ ...base, ...more } as EvaluationHookOptions)).toThrow(message);

  it("are refused before anything runs, with what to write instead", () => {
    refuse({ suites: {} }, /suites is empty.*fix: name at least one/s);
    refuse({ suites: { a: { env: 3 } } }, /suites\.a: env is 3/);
    refuse({ suites: { a: { env: "X", episode: 3 } } }, /no option "episode"; did you mean "episodes"/);
    refuse({ episodes: 0 }, /episodes is 0/);
    refuse({ suites: { a: { env: "X", episodes: 0 } } }, /suites\.a: episodes is 0/);
    refuse({ mode: "distant" }, /mode is "distant"/);
    refuse({ schedule: 10 }, /schedule is 10.*every\(\{ epochs: 10 \}\)/s);
    refuse({ player: {} }, /player is .*task\.player/s);
    refuse({ mode: "background" }, /suite "drift" is a function, which a background evaluation cannot call/);
    refuse({ mode: "remote", suites: { a: { env: "X" } } }, /there is no queue.*processQueue/s);
    refuse({ fileEpisodes: true }, /there is no store/);
    refuse({ replays: { folder: "x" } }, /no option "folder"/);
    refuse({ sed: 1 }, /no option "sed"; did you mean "seed"/);
  });
});
