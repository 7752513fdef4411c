import { afterEach, describe, expect, it } from "vitest";
import type { EspalierError } from "../../../core/index.ts";
import { firstDifference } from "../../../state/index.ts";
import type * as tiny from "../environments.test-support.ts";
import { actionOf, makeFragile, makeTelling } from "../environments.test-support.ts";
import { actionsFor, show } from "../naive.test-support.ts";
import type { RestartingVector } from "../vector.ts";
import { vectorEnvironment } from "../vector-environment.ts";
import { threadedEnvironment } from "./threaded-environment.ts";

const module = new URL("../environments.test-support.ts", import.meta.url);
const open: RestartingVector[] = [];

afterEach(() => {
  for (const vector of open.splice(0)) vector.close();
});

function restarting(told: EspalierError[], name: keyof typeof tiny = "makeFragile"): RestartingVector {
  const vector = threadedEnvironment({
    make: { module, name },
    count: 5,
    threads: 2,
    timeout: 0.7,
    onFailure: "restart",
    onRestart: (error) => told.push(error),
  });
  open.push(vector);
  return vector;
}

/** The same in one thread. */
const inOneThread = () =>
  vectorEnvironment({ make: makeFragile, count: 5, onFailure: "restart", onRestart: () => undefined });

describe("an environment in a thread that is made again", () => {
  it("because it threw or gave nonsense goes on as in one thread", () => {
    const told: EspalierError[] = [];
    const vector = restarting(told);
    const same = inOneThread();
    for (const one of [vector, same]) one.reset(1);
    for (let t = 0; t < 100; t++) {
      const actions = new Float32Array(5).fill(t % 2);
      if (t % 9 === 5) actions[t % 5] = actionOf(t % 2 ? "throw" : "shape");
      for (const one of [vector, same]) one.step(actions);
      expect(show(vector)).toEqual(show(same));
    }
    expect([...vector.restarts]).toEqual([...same.restarts]);
    expect(told.length).toBe(vector.restarts.reduce((sum, n) => sum + n));
  });

  it.each(["hang", "exit"] as const)(
    "because of %s leaves all others as they would be, those of its thread included",
    async (fault) => {
      const told: EspalierError[] = [];
      const vector = restarting(told);
      // The same thing happens there by throwing.
      const same = inOneThread();
      for (const one of [vector, same]) one.reset(1);
      for (let t = 0; t < 320; t++) {
        const spoilt = t === 7 || t === 300;
        for (const one of [vector, same]) {
          const actions = actionsFor(one, t);
          if (spoilt) actions[3] = actionOf(one === vector ? fault : "throw");
          one.step(actions);
        }
        expect(show(vector)).toEqual(show(same));
      }
      expect([...vector.restarts]).toEqual([0, 0, 0, 2, 0]);
      expect(told.map(({ message }) => message.split(":")[0])).toEqual([
        "Fragile (environment 3 of its vector, step 8)",
        "Fragile (environment 3 of its vector, step 301)",
      ]);
      expect(await firstDifference(vector.getState(), same.getState())).toBeUndefined();
    },
  );

  it("may be several of one thread at once", () => {
    const told: EspalierError[] = [];
    const vector = restarting(told);
    vector.reset(1);
    for (let t = 0; t < 5; t++) vector.step(new Float32Array(5));
    vector.step(Float32Array.of(0, 0, actionOf("hang"), actionOf("throw"), actionOf("hang")));
    expect([...vector.truncated]).toEqual([0, 0, 1, 1, 1]);
    expect([...vector.restarts]).toEqual([0, 0, 1, 1, 1]);
    expect(vector.ended().map(({ environment, length }) => [environment, length])).toEqual([
      [2, 5],
      [3, 5],
      [4, 5],
    ]);
    expect(told.map(({ code }) => code).sort()).toEqual([
      "ENVIRONMENT_FAILED",
      "ENVIRONMENT_HANGS",
      "ENVIRONMENT_HANGS",
    ]);
    vector.step(new Float32Array(5));
    expect([...vector.resets]).toEqual([0, 0, 1, 1, 1]);
  });

  it("leaves the means of what steps had in their info as they are in one thread", () => {
    const vector = restarting([], "makeTelling");
    const same = vectorEnvironment({
      ...{ make: makeTelling, count: 5, onFailure: "restart" },
      onRestart: () => undefined,
    });
    for (const one of [vector, same]) one.reset(1);
    for (let t = 0; t < 20; t++) {
      const wrong = t === 12 ? "hang" : t === 15 ? "throw" : "none";
      vector.step(Float32Array.of(0, 0, 0, actionOf(wrong), 1));
      // In one thread nothing hangs: throwing is the same to the others.
      same.step(Float32Array.of(0, 0, 0, actionOf(wrong === "hang" ? "throw" : wrong), 1));
    }
    const infos = vector.infos?.();
    expect(Object.keys(infos ?? {})).toEqual(["rare", "word"]);
    expect(infos).toEqual(same.infos?.());
  });

  it("begins at once when it was its beginning that hung", () => {
    const told: EspalierError[] = [];
    const vector = restarting(told, "makeSleeper");
    vector.reset(1);
    let begun = 0;
    while (vector.restarts[1] === 0) {
      vector.step(new Float32Array(5));
      begun += vector.resets[1] as number;
    }
    expect([begun, vector.resets[1], vector.observations[4]]).toEqual([2, 1, 0]);
    expect(told[0]?.message).toMatch(/^Sleeper \(environment 1 .*: reset\(\) has not returned within 0\.7 s/);
  });

  it("is also one that does not repeat what it did", () => {
    const told: EspalierError[] = [];
    const vector = restarting(told, "makeForgetful");
    vector.reset(1);
    for (let t = 0; t < 5; t++) vector.step(new Float32Array(5));
    vector.step(Float32Array.of(0, 0, 0, actionOf("hang"), 0));
    expect([...vector.restarts]).toEqual([0, 0, 1, 1, 0]);
    expect(told[1]?.message).toMatch(/^Fragile \(environment 2 .* gave something else when it was repeated/);
  });

  it("stops when it hangs each time", () => {
    const told: EspalierError[] = [];
    const vector = restarting(told);
    vector.reset(1);
    const bad = Float32Array.of(0, actionOf("hang"), 0, 0, 0);
    for (let t = 0; t < 4; t++) vector.step(bad);
    expect(() => vector.step(bad)).toThrow(/fails each time/);
    expect([...vector.restarts]).toEqual([0, 2, 0, 0, 0]);
  });
});
