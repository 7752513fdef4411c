import { describe, expect, it } from "vitest";
import { CheckpointManager, checkpointHook, localStore, openCheckpoint } from "../../checkpoint/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { evaluateCheckpoint } from "./evaluate-checkpoint.ts";
import { here, makeDrift, makeLessons } from "./evaluation.test-support.ts";
import { folder, WalkTask, walkRun } from "./run.test-support.ts";
import { lessonSuites } from "./suites.ts";

/** A directory with checkpoints of a run that was trained in an environment. */
async function saved(env: "CartPole-v1" | "GridWorld-v0" | "GridWorldTeam-v0"): Promise<string> {
  const directory = folder();
  const task = new WalkTask(() => makeEnvironment(env), env);
  await walkRun(task, [checkpointHook({ directory })], { epochs: 2 }).trainer.train();
  return directory;
}

describe("a checkpoint", () => {
  it("is evaluated by its address alone: the newest of a directory, a path, a URI", async () => {
    const directory = await saved("CartPole-v1");
    const { path, uri, results, manifest } = await evaluateCheckpoint(directory, { episodes: 3 });
    expect([path, manifest.counters.epochs]).toEqual([`${directory}/epoch-0002-update-000004`, 2]);
    expect(results.map(({ suite, scores }) => [suite, scores.episodes])).toEqual([["CartPole-v1", 3]]);
    expect((await evaluateCheckpoint(uri, { episodes: 3 })).results).toEqual(results);
    const first = await evaluateCheckpoint(`${directory}/epoch-0001-update-000002`, { episodes: 3 });
    expect(first.results[0]?.episodes.map(({ seed }) => seed)).toEqual(
      results[0]?.episodes.map(({ seed }) => seed),
    );
  });

  it("is evaluated in each lesson of its environment", async () => {
    const directory = await saved("GridWorld-v0");
    const { results } = await evaluateCheckpoint(directory, { episodes: 2, suites: "lessons" });
    const lessons = makeEnvironment("GridWorld-v0").lessons ?? [];
    expect(lessons.length).toBeGreaterThan(1);
    expect(results.map(({ suite }) => suite)).toEqual(lessons);
    expect(results.map(({ episodes }) => episodes.map(({ lesson }) => lesson))).toEqual(
      lessons.map((_, i) => [i, i]),
    );
    expect(Object.keys(lessonSuites("GridWorld-v0"))).toEqual(lessons);
  });

  it("is evaluated in each lesson of an environment of a file", async () => {
    const directory = folder();
    const environment = here("makeLessons");
    const task = new WalkTask(makeLessons, environment);
    await walkRun(task, [checkpointHook({ directory })], { epochs: 1 }).trainer.train();
    const { results } = await evaluateCheckpoint(directory, { episodes: 1, suites: "lessons" });
    expect(results.map(({ suite }) => suite)).toEqual(["easy", "hard"]);
    // One that is at hand can be asked for them; a file cannot at once.
    expect(lessonSuites(makeLessons)).toEqual({
      easy: { env: makeLessons, lesson: 0 },
      hard: { env: makeLessons, lesson: 1 },
    });
    expect(() => lessonSuites(environment as never)).toThrow(
      /lessonSuites: env is one of a file, .*\n.*\{ easy: \{ env: \{ module, name \}, lesson: "easy" \} \}/,
    );
  });

  it("of several agents plays them all", async () => {
    const { results } = await evaluateCheckpoint(await saved("GridWorldTeam-v0"), { episodes: 2 });
    expect(results[0]?.scores.episodes).toBe(2);
  });
});

describe("what cannot be evaluated", () => {
  it("says why, and what to do", async () => {
    const directory = await saved("CartPole-v1");
    const evaluate = (options: Parameters<typeof evaluateCheckpoint>[1], address = directory) =>
      evaluateCheckpoint(address, options);
    await expect(evaluate({}, "gs://bucket/run")).rejects.toThrow(
      /gs:\/\/bucket\/run cannot be opened from here/,
    );
    await expect(evaluate({}, `${directory}/nothing`)).rejects.toMatchObject({ code: "CHECKPOINT_MISSING" });
    await expect(evaluate({ suites: {} })).rejects.toThrow(/suites is empty/);
    await expect(evaluate({ episodes: 0 })).rejects.toThrow(/episodes is 0/);
    await expect(evaluate({ env: "CartPole-v9" })).rejects.toMatchObject({
      code: "ENVIRONMENT_UNKNOWN",
      message: expect.stringContaining('did you mean "CartPole-v1"'),
    });
    await expect(evaluate({ env: "Acrobot-v1" })).rejects.toMatchObject({
      code: "SPACES_MISMATCH",
      message: expect.stringMatching(
        /suite "Acrobot-v1": the policy cannot play Acrobot-v1: its observations are a box of \[6\], and the policy was made for a box of \[4\]; its actions are one of 3 choices, .* one of 2 choices/,
      ),
    });
    await expect(evaluate({ suites: "lessons" })).rejects.toThrow(/CartPole-v1 has no lessons/);
    const { manifest } = await openCheckpoint(directory);
    expect(manifest.config).toMatchObject({ task: { environment: "CartPole-v1" } });
  });

  it("is a checkpoint of something else", async () => {
    const directory = folder();
    const manager = new CheckpointManager({ store: localStore(directory) });
    await manager.save(
      { params: { getState: () => ({ w: 1 }), setState: () => undefined } },
      { counters: noCounters },
    );
    await manager.close();
    await expect(evaluateCheckpoint(directory)).rejects.toMatchObject({
      code: "CHECKPOINT_WITHOUT_POLICY",
      fix: expect.stringContaining("trains a policy"),
    });
  });

  it("is one whose environment nobody here has, until a suite brings it", async () => {
    const directory = folder();
    const task = new WalkTask(makeDrift, "Drift-of-mine");
    await walkRun(task, [checkpointHook({ directory })], { epochs: 1 }).trainer.train();
    await expect(evaluateCheckpoint(directory)).rejects.toMatchObject({ code: "ENVIRONMENT_UNKNOWN" });
    const { results } = await evaluateCheckpoint(directory, {
      ...{ episodes: 2, suites: { drift: { env: here("makeDrift") } } },
    });
    expect(results[0]?.episodes).toHaveLength(2);
  });
});
