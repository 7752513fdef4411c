import { describe, expect, it } from "vitest";
import type { Environment } from "../environments/environment.ts";
import { verifyReplay } from "./playback.ts";
import { recordEpisode, replayRecorder } from "./replay.ts";
import { pair, slide, walk } from "./replays.test-support.ts";

describe("recordEpisode", () => {
  it("writes down seed, actions, length, return and how it ended", async () => {
    const replay = await recordEpisode({ env: walk(), seed: 3, act: () => 1, about: { step: 100 } });
    const { length } = replay;
    expect(replay).toMatchObject({
      ...{ environment: "Walk", lesson: 0, lessonName: "short", seed: 3, agents: 1, end: "terminated" },
      about: { step: 100 },
      actions: new Float32Array(length).fill(1),
    });
    expect([4, 5, 6]).toContain(length);
    expect(replay.return).toBeCloseTo(1 - 0.1 * (length - 1), 12);
    expect(replay.observations.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(replay.observations.marks).toHaveLength(length + 1);
  });

  it("shows observations as rows and as they are, and waits for actions", async () => {
    const seen: unknown[] = [];
    const replay = await recordEpisode({
      env: walk(),
      ...{ seed: 3, lesson: 1 },
      act: async (rows, { observation }) => {
        seen.push([rows[0], (observation as Float32Array)[0]]);
        return seen.length % 2;
      },
    });
    expect(replay).toMatchObject({ lesson: 1, lessonName: "long", end: "truncated", length: 30 });
    expect([...replay.actions].slice(0, 4)).toEqual([1, 0, 1, 0]);
    expect(seen.every((each) => Array.isArray(each) && each[0] === each[1])).toBe(true);
  });

  it("takes an environment by its name, or a function that makes it, and refuses what is neither", async () => {
    const record = (env: Parameters<typeof recordEpisode>[0]["env"]) =>
      recordEpisode({ env, seed: 3, act: () => 1 });
    expect(await record(walk)).toEqual(await record(walk()));
    expect((await record("CartPole-v1")).environment).toBe("CartPole-v1");
    await expect(record("CartPole")).rejects.toMatchObject({ code: "ENVIRONMENT_UNKNOWN" });
    await expect(record(undefined as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("gives the same replay for the same seed and actions, and another for another seed", async () => {
    const record = (seed: number) => recordEpisode({ env: slide(), seed, act: () => [0] });
    expect(await record(1)).toEqual(await record(1));
    expect((await record(1)).observations.digest).not.toBe((await record(2)).observations.digest);
  });

  it("takes actions as rows, too, and those of several agents", async () => {
    const asLists = await recordEpisode({
      env: pair(),
      seed: 1,
      act: () => [
        [2, 0],
        [1, 1],
      ],
    });
    const asRows = await recordEpisode({
      env: pair(),
      seed: 1,
      act: () => Float32Array.of(2, 0, 1, 1),
    });
    expect(asRows).toEqual(asLists);
    expect(asRows.actions).toHaveLength(4 * 4);
    expect(asRows.returns).toHaveLength(2);
    expect(asRows.return).toBeCloseTo(((asRows.returns[0] ?? 0) + (asRows.returns[1] ?? 0)) / 2, 12);
    expect(verifyReplay(asRows, pair())).toEqual({ fits: true });
  });

  it("gives the environment the action that it files, rounded", async () => {
    const replay = await recordEpisode({ env: slide(), seed: 1, act: () => [0.1] });
    expect(replay.actions[0]).toBe(Math.fround(0.1));
    expect(verifyReplay(replay, slide())).toEqual({ fits: true });
  });

  it("is cut after so many steps", async () => {
    const replay = await recordEpisode({ env: walk(), seed: 1, act: () => 0, maxSteps: 7 });
    expect(replay).toMatchObject({ length: 7, end: "cut" });
    expect(verifyReplay(replay, walk())).toEqual({ fits: true });
  });

  it("keeps at most 64 marks of a long episode", async () => {
    const replay = await recordEpisode({ env: slide(), seed: 1, act: () => [0] });
    // 101 observations: a mark after every second.
    expect(replay.observations).toMatchObject({ every: 2, marks: expect.objectContaining({ length: 50 }) });
  });

  it("refuses a seed that is none, actions that do not fit, and rewards that are no numbers", async () => {
    await expect(recordEpisode({ env: walk(), seed: Number.NaN, act: () => 0 })).rejects.toThrow(
      /needs a seed, and this is NaN/,
    );
    await expect(recordEpisode({ env: walk(), seed: 1, act: () => [1, 2] })).rejects.toThrow(
      /SPACE_MISMATCH/,
    );
    const real = walk();
    const environment: Environment = {
      ...{ name: "Walk", observationSpace: real.observationSpace, actionSpace: real.actionSpace },
      reset: (options) => real.reset(options),
      step: () => ({ observation: [0], reward: Number.NaN, terminated: false, truncated: false }),
      ...{ getState: () => null, setState: () => undefined },
    };
    await expect(recordEpisode({ env: environment, seed: 1, act: () => 0 })).rejects.toThrow(
      /Walk: the reward of step 1 is NaN.*ENVIRONMENT_INVALID/s,
    );
  });
});

it.each<[string, object, string]>([
  ["a misspelt option", { env: walk(), seed: 1, act: () => 1, maxStep: 3 }, "OPTION_UNKNOWN"],
  ["no steps", { env: walk(), seed: 1, act: () => 1, maxSteps: Number.NaN }, "OPTION_INVALID"],
  ["nobody who acts", { env: walk(), seed: 1 }, "OPTION_INVALID"],
])("recordEpisode refuses %s", async (_, options, code) => {
  await expect(recordEpisode(options as never)).rejects.toMatchObject({ code });
});

describe("replayRecorder", () => {
  it("goes step by step, and no further than the end", () => {
    const recorder = replayRecorder(walk(), { seed: 3 });
    expect(recorder.length).toBe(0);
    while (!recorder.over) recorder.act(1);
    expect(recorder.now).toMatchObject({ terminated: true });
    expect(recorder.rows[0]).toBe(5);
    expect(() => recorder.act(1)).toThrow(/REPLAY_OVER/);
    expect(recorder.replay().end).toBe("terminated");
  });
});
