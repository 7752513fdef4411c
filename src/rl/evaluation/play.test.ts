import { describe, expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import type { Environment } from "../environments/environment.ts";
import type { Policy } from "../policies/policy.ts";
import { verifyReplay } from "../replays/playback.ts";
import type { Replay } from "../replays/replay.ts";
import type { Space } from "../spaces/space.ts";
import {
  countingPolicy,
  densePlayer,
  echoPolicy,
  here,
  makeBroken,
  makeDrift,
  makeEndless,
  makeLessons,
  type Script,
  scripted,
} from "./evaluation.test-support.ts";
import { type EpisodeResult, playEpisodes } from "./play.ts";
import { scoresOf } from "./suites.ts";

const playerOf = (policy: Policy) => ({ player: { policy, reads: [] }, state: {} });
const one: Space = { kind: "box", shape: [1], low: -1000, high: 1000 };

describe.each(testEngines())("episodes on %s", (engine) => {
  it("are the same bits however many environments play at once", async () => {
    const { player, state } = densePlayer(makeDrift, 3, undefined, engine);
    const play = (vectorCount: number, deterministic: boolean) =>
      playEpisodes({
        ...{ player, state, env: makeDrift, episodes: 11, seed: 5 },
        ...{ vectorCount, deterministic },
      });
    for (const deterministic of [true, false]) {
      const alone = await play(1, deterministic);
      expect(new Set(alone.map((episode) => episode.return)).size).toBe(11);
      for (const count of [3, 8]) expect(await play(count, deterministic)).toEqual(alone);
    }
  });

  it("are drawn where they are not to be deterministic, and the same again by the same seed", async () => {
    const { player, state } = densePlayer(makeDrift, 3, undefined, engine);
    const play = (seed: number, deterministic: boolean) =>
      playEpisodes({ player, state, env: makeDrift, episodes: 4, seed, deterministic });
    const drawn = await play(1, false);
    expect(await play(1, false)).toEqual(drawn);
    expect((await play(1, true)).map((each) => each.seed)).toEqual(drawn.map((each) => each.seed));
    expect((await play(1, true)).map((each) => each.return)).not.toEqual(drawn.map((each) => each.return));
    expect(await play(2, false)).not.toEqual(drawn);
  });

  it("normalise what the policy sees, as the run does", async () => {
    const seen = [4, -2];
    const { make, heard } = scripted({
      name: "Still",
      actionSpace: { kind: "box", shape: [2], low: -100, high: 100 },
      length: () => 1,
      observe: () => seen,
    });
    const policy = echoPolicy(make(), 2);
    const normalizer = {
      mean: put([1, 8], { engine }),
      variance: new Float32Array([4, 1e-4]),
      count: put(10, { engine }),
    };
    await playEpisodes({
      player: { policy, reads: ["params", "normalizer"] },
      state: { params: { unused: put(0, { engine }) }, normalizer },
      ...{ env: make, episodes: 1, seed: 0 },
    });
    const acted = heard[1]?.actions[0] as Float32Array | undefined;
    expect(acted?.[0]).toBeCloseTo(1.5, 6);
    expect(acted?.[1]).toBe(-10);
  });
});

describe("episodes", () => {
  it("are as many as asked for, each to its end, with seeds that follow from their numbers alone", async () => {
    const { make, heard } = scripted({ name: "Drift" });
    const { player, state } = densePlayer(make);
    heard.length = 0;
    const played = await playEpisodes({
      ...{ player, state, env: make, episodes: 7, seed: 9, vectorCount: 3 },
    });
    expect(played).toHaveLength(7);
    for (const { length, seed, terminated } of played)
      expect([length, terminated]).toEqual([3 + (seed % 10), false]);
    // Assigned beforehand: environment i has played the episodes i, i + 3, ...
    const seeds = played.map(({ seed }) => seed);
    expect(heard.map(({ resets }) => resets.map((options) => options?.seed))).toEqual([
      [seeds[0], seeds[3], seeds[6]],
      [seeds[1], seeds[4]],
      [seeds[2], seeds[5]],
    ]);
    expect(new Set(seeds).size).toBe(7);
    const more = await playEpisodes({ player, state, env: make, episodes: 9, seed: 9 });
    expect(more.slice(0, 7)).toEqual(played);
  });

  it("do not favour the short ones", async () => {
    // Long episodes earn 10, short ones 1: whoever takes the first ten that end would see 1 alone.
    const script: Script = { name: "Lengths", length: (seed) => (seed % 2 === 0 ? 50 : 1) };
    const { make } = scripted({ ...script, reward: ({ seed }) => (seed % 2 === 0 ? 0.2 : 1) });
    const { player, state } = densePlayer(make);
    const played = await playEpisodes({ player, state, env: make, episodes: 10, seed: 2 });
    const long = played.filter(({ seed }) => seed % 2 === 0).length;
    expect(long).toBeGreaterThan(0);
    expect(scoresOf(played).return).toBeCloseTo((10 * long + (10 - long)) / 10, 5);
  });

  it("begin with nothing remembered, each of them", async () => {
    const { make, heard } = scripted({ name: "Count", actionSpace: one, length: (seed) => 1 + (seed % 4) });
    const played = await playEpisodes({
      ...{ ...playerOf(countingPolicy(make())), env: make, episodes: 6, seed: 0, vectorCount: 2 },
    });
    const counts = (episodes: readonly number[]) =>
      episodes.flatMap((k) => Array.from({ length: played[k]?.length ?? 0 }, (_, i) => i + 1));
    const acted = heard.slice(1).map(({ actions }) => actions.map((action) => (action as Float32Array)[0]));
    expect(acted).toEqual([counts([0, 2, 4]), counts([1, 3, 5])]);
  });

  it("do what the mask allows", async () => {
    // Whatever the policy would like best, one choice alone is allowed: the step's.
    const { make, heard } = scripted({
      name: "Masked",
      actionSpace: { kind: "discrete", n: 4 },
      length: () => 4,
      mask: ({ step }) => Uint8Array.from({ length: 4 }, (_, i) => (i === step % 4 ? 1 : 0)),
    });
    const { player, state } = densePlayer(make);
    await playEpisodes({ player, state, env: make, episodes: 2, seed: 0, vectorCount: 1 });
    expect(heard[1]?.actions).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
  });

  it("need something to choose, until they are over", async () => {
    const forbidding = (at: number) =>
      scripted({
        name: "Stuck",
        actionSpace: { kind: "discrete", n: 2 },
        length: () => 3,
        mask: ({ step }) => (step === at ? Uint8Array.of(0, 0) : Uint8Array.of(1, 1)),
      }).make;
    const { player, state } = densePlayer(forbidding(3));
    const play = (at: number) => playEpisodes({ player, state, env: forbidding(at), episodes: 1, seed: 0 });
    expect(await play(3)).toHaveLength(1);
    await expect(play(1)).rejects.toThrow(
      /Stuck .environment 0 .* step 1 of evaluation episode 0.* an action mask that allows nothing from 0 on \[ENVIRONMENT_INVALID\]/,
    );
  });

  it("of several agents have the mean of what each of them earned", async () => {
    const { make, heard } = scripted({
      name: "Two",
      agents: 2,
      actionSpace: one,
      observationSpace: one,
      length: () => 3,
      observe: ({ step }) => [[step], [100 + step]],
      reward: (_, action) => (action as readonly Float32Array[]).map((each) => each[0] as number),
    });
    const played = await playEpisodes({
      ...{ ...playerOf(echoPolicy(make())), env: make, episodes: 3, seed: 0 },
    });
    expect(played.map((each) => each.return)).toEqual([153, 153, 153]);
    expect(heard[1]?.actions[1]).toEqual([Float32Array.of(1), Float32Array.of(101)]);
  });

  it("are of a lesson, by name or index", async () => {
    const { player, state } = densePlayer(makeLessons);
    const play = (lesson?: string | number) =>
      playEpisodes({
        ...{ player, state, env: makeLessons, episodes: 2, seed: 0 },
        ...(lesson !== undefined && { lesson }),
      });
    expect((await play()).map(({ lesson, return: total }) => [lesson, total])).toEqual([
      [0, 2],
      [0, 2],
    ]);
    expect((await play("hard")).map(({ lesson, length }) => [lesson, length])).toEqual([
      [1, 3],
      [1, 3],
    ]);
    expect(await play(1)).toEqual(await play("hard"));
    await expect(play("hart")).rejects.toThrow(/Lessons has no lesson "hart"; did you mean "hard"/);
    await expect(play(2)).rejects.toMatchObject({ code: "LESSON_UNKNOWN" });
  });

  it("can be recorded as they are played, and are the same", async () => {
    const { player, state } = densePlayer(makeDrift);
    const options = { player, state, env: makeDrift, episodes: 3, seed: 4, vectorCount: 1 };
    const replays: (readonly [number, Replay])[] = [];
    const played = await playEpisodes({
      ...options,
      record: ({ episode }) => (episode === 1 ? undefined : (replay) => void replays.push([episode, replay])),
    });
    expect(played).toEqual(await playEpisodes(options));
    expect(replays.map(([episode]) => episode)).toEqual([0, 2]);
    for (const [episode, replay] of replays) {
      const { seed, length, return: total } = played[episode] as EpisodeResult;
      expect(replay).toMatchObject({ environment: "Drift", seed, length, return: total, end: "truncated" });
      expect(verifyReplay(replay, makeDrift())).toEqual({ fits: true });
    }
  });

  it("give their environments back, also where one fails", async () => {
    const closed: string[] = [];
    const closing = (make: () => Environment, name: string) => () =>
      Object.assign(make(), { close: () => void closed.push(name) });
    const { player, state } = densePlayer(makeDrift);
    const options = { player, state, episodes: 2, seed: 0 };
    await playEpisodes({ ...options, env: closing(makeDrift, "whole") });
    await expect(playEpisodes({ ...options, env: closing(makeBroken, "broken") })).rejects.toThrow();
    expect(closed).toEqual(["whole", "whole", "broken", "broken"]);
  });
});

describe("bad input", () => {
  const { player, state } = densePlayer(makeDrift);
  const base = { player, state, env: makeDrift, episodes: 2, seed: 0 };

  it("names what is wrong", async () => {
    await expect(playEpisodes({ ...base, episodes: 0 })).rejects.toThrow(/episodes is 0.*whole number/s);
    await expect(playEpisodes({ ...base, vectorCount: 1.5 })).rejects.toThrow(/vectorCount is 1.5/);
    await expect(playEpisodes({ ...base, env: 7 as never })).rejects.toThrow(/env is 7/);
    await expect(playEpisodes({ ...base, sead: 1 } as never)).rejects.toThrow(/"sead"; did you mean "seed"/);
    await expect(playEpisodes({ ...base, env: here("makeNothing") })).rejects.toMatchObject({
      code: "ENVIRONMENT_UNKNOWN",
      message: expect.stringContaining('exports no function "makeNothing"'),
    });
    await expect(playEpisodes({ ...base, state: {} })).rejects.toThrow(
      /reads "params", which the state lacks/,
    );
  });

  it("environments and classes where functions that make them are expected: says what to write", async () => {
    class Own {
      readonly self = this;
      reset(): void {}
      step(): void {}
    }
    for (const [environment, words] of [
      [new Own(), /env is an environment, .*\n.*\(\) => new MyEnvironment\(\)/],
      [Own, /env is the class Own, which cannot be called without new.*\n.*\(\) => new Own\(\)/],
      [async () => makeDrift(), /gave a promise: environments are synchronous, and no environment/],
      [() => undefined, /the function that makes environments gave undefined, and no environment/],
      [() => Object.create(makeDrift(), { name: { value: undefined } }), /environment without a name/],
      [
        here("Classy"),
        /environment Classy: .* exports "Classy" as a class, which cannot be called without new/,
      ],
      [
        () => Object.create(makeDrift(), { actionSpace: { value: { n: 3 } } }),
        /actionSpace is \{"n":3\}, which is no space/,
      ],
    ] as const)
      await expect(playEpisodes({ ...base, env: environment as never })).rejects.toThrow(words);
  });

  it("spaces that do not fit: names both", async () => {
    const { make } = scripted({ name: "Other", actionSpace: { kind: "discrete", n: 3 } });
    await expect(playEpisodes({ ...base, env: make })).rejects.toMatchObject({
      code: "SPACES_MISMATCH",
      message: expect.stringMatching(
        /cannot play Other: its actions are one of 3 choices, and the policy was made for a box of \[1\]/,
      ),
    });
  });

  it("environments that fail: names environment, index and step", async () => {
    await expect(playEpisodes({ ...base, env: makeBroken })).rejects.toMatchObject({
      code: "ENVIRONMENT_FAILED",
      message: expect.stringMatching(
        /Broken .environment 0 .* step 3 of evaluation episode 0.: step.. threw Error: it came/,
      ),
    });
    const nan = scripted({ name: "NaN", observe: ({ step }) => [0, step === 1 ? Number.NaN : 0] });
    await expect(playEpisodes({ ...base, env: nan.make })).rejects.toThrow(
      /NaN .environment 0 .* step 1 .* an observation that is NaN at 1 \[ENVIRONMENT_INVALID\]/,
    );
    const short = scripted({ name: "Short", observe: () => [0] });
    await expect(playEpisodes({ ...base, env: short.make })).rejects.toThrow(
      /Short .environment 0 .* step 0 .* wrong observation.*1 numbers, where 2/,
    );
    const free = scripted({ name: "Free", reward: () => Number.NaN });
    await expect(playEpisodes({ ...base, env: free.make })).rejects.toThrow(/Free.* NaN as its reward/);
    const made = (own: object) => () => Object.assign(makeDrift(), own) as Environment;
    for (const [own, words] of [
      [
        { reset: async () => ({ observation: [0, 0] }) },
        /Drift.* reset\(\) gave a promise: environments are syn/,
      ],
      [{ reset: () => Float32Array.of(0, 0) }, /reset\(\) gave a Float32Array .*\n.*give \{ observation \}/],
      [
        { step: () => [[0, 0], 0, false, false, {}] },
        /step\(\) gave a list .*\n.*give \{ observation, reward,/,
      ],
      [{ step: () => ({ reward: 0 }) }, /step\(\) gave an object without an observation/],
    ] as const)
      for (const record of [undefined, () => () => undefined])
        await expect(
          playEpisodes({ ...base, env: made(own), ...(record && { record }) }),
        ).rejects.toMatchObject({ code: "ENVIRONMENT_INVALID", message: expect.stringMatching(words) });
    await expect(playEpisodes({ ...base, env: makeEndless, maxLength: 50 })).rejects.toMatchObject({
      code: "ENVIRONMENT_HANGS",
      message: expect.stringContaining("step 50 of evaluation episode 0): the episode does not end"),
    });
  });

  it("stops when it is told", async () => {
    const controller = new AbortController();
    const playing = playEpisodes({ ...base, env: makeEndless, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(playing).rejects.toThrow("enough");
  });
});
