import { describe, expect, it } from "vitest";
import type { Environment } from "../environments/environment.ts";
import { replayFrames, verifyReplay } from "./playback.ts";
import { type Replay, recordEpisode } from "./replay.ts";
import { slide, walk } from "./replays.test-support.ts";

const record = (environment: Environment = walk()): Promise<Replay> =>
  recordEpisode({ env: environment, seed: 3, lesson: 1, act: (_rows, _now) => 1 });

describe("verifyReplay", () => {
  it("finds that an episode can be played again", async () => {
    expect(verifyReplay(await record(), walk())).toEqual({ fits: true });
  });

  it("names the first step whose observation is another", async () => {
    const verdict = verifyReplay(await record(), walk({ stride: 0.5, from: 3 }));
    expect(verdict).toEqual({ fits: false, difference: "observations are others from step 4 on", step: 4 });
  });

  it("names the steps among which it is, where marks are further apart", async () => {
    const replay = await recordEpisode({ env: slide(), seed: 1, act: () => [0] });
    const actions = replay.actions.slice();
    actions[40] = 0.5;
    expect(verifyReplay({ ...replay, actions }, slide())).toEqual({
      fits: false,
      difference: "observations are others from one of the steps 40 to 41 on",
      step: 40,
    });
    actions[40] = 0;
    actions[99] = 0.5;
    expect(verifyReplay({ ...replay, actions }, slide())).toMatchObject({ fits: false, step: 100 });
  });

  it("names another beginning", async () => {
    const replay = await recordEpisode({ env: slide(), seed: 1, act: () => [0], maxSteps: 9 });
    expect(verifyReplay({ ...replay, seed: 2 }, slide())).toMatchObject({
      difference: "observations are others from the reset on",
      step: 0,
    });
  });

  it("names another return", async () => {
    const replay = await record();
    expect(verifyReplay(replay, walk({ reward: 2 }))).toMatchObject({
      difference: `the return is ${replay.return + 1}, and was ${replay.return}`,
    });
  });

  it("names another end", async () => {
    const replay = await record();
    expect(verifyReplay(replay, walk({ goal: 4 }))).toMatchObject({
      difference: `the episode is terminated after ${replay.length - 1} of ${replay.length} steps`,
    });
    expect(verifyReplay(replay, walk({ goal: 6 }))).toMatchObject({
      difference: `the episode goes on after ${replay.length} steps, and is terminated then`,
    });
  });

  it("names a step that fails", async () => {
    const replay = await record(walk({ choices: 3 }));
    const actions = replay.actions.slice();
    actions[2] = 2;
    expect(verifyReplay({ ...replay, actions }, walk())).toMatchObject({
      difference: expect.stringMatching(/^step 3 fails: Walk: an action is not of its space/),
      step: 3,
    });
  });

  it("says what does not fit at all", async () => {
    const replay = await record();
    expect(verifyReplay(replay, walk({ name: "Run" }))).toMatchObject({
      difference: "it is of Walk, and this is Run",
    });
    expect(verifyReplay({ ...replay, agents: 2 }, walk())).toMatchObject({
      difference: "it has 2 agents, and Walk has 1",
    });
    expect(verifyReplay({ ...replay, lessonName: "far" }, walk())).toMatchObject({
      difference: 'its lesson 1 is "far", and that of Walk is "long"',
    });
    expect(verifyReplay({ ...replay, actions: replay.actions.subarray(1) }, walk())).toMatchObject({
      fits: false,
    });
  });
});

describe("replayFrames", () => {
  it("draws the reset and every step", async () => {
    const replay = await record();
    const frames = replayFrames(replay, walk());
    expect(frames.map(({ caption }) => caption)).toEqual(
      Array.from({ length: replay.length + 1 }, (_, i) => `step ${i}`),
    );
  });

  it("refuses environments that draw nothing, and other ones", async () => {
    const replay = await recordEpisode({ env: slide(), seed: 1, act: () => [0] });
    expect(() => replayFrames(replay, slide())).toThrow(/Slide draws no pictures.*REPLAY_NO_PICTURE/s);
    expect(() => replayFrames(replay, walk())).toThrow(
      /it is of Slide, and this is Walk.*REPLAY_ENVIRONMENT/s,
    );
  });
});
