import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { failureOf } from "../../../hooks/hooks.test-support.ts";
import { firstDifference, type StateTree } from "../../../state/index.ts";
import { describeInRest, describeInSample, inSample } from "../../../sweep.test-support.ts";
import * as tiny from "../environments.test-support.ts";
import { actionsFor, show } from "../naive.test-support.ts";
import type { RestartingVector } from "../vector.ts";
import { vectorEnvironment } from "../vector-environment.ts";
import { type ThreadedEnvironmentOptions, threadedEnvironment } from "./threaded-environment.ts";

const module = new URL("../environments.test-support.ts", import.meta.url);
const { actionOf } = tiny;
const makers = { makeWanderer: tiny.makeWanderer, makePair: tiny.makePair };
const open: RestartingVector[] = [];

function threaded(
  name: keyof typeof tiny,
  options: Omit<ThreadedEnvironmentOptions, "make" | "count"> & { readonly count?: number } = {},
): RestartingVector {
  const vector = threadedEnvironment({ make: { module, name }, count: 5, threads: 2, ...options });
  open.push(vector);
  return vector;
}

afterEach(() => {
  for (const vector of open.splice(0)) vector.close();
});

// A thread takes a second to start from sources, so the sample has the least of them.
describe("environments in threads", () => {
  it.each(inSample ? (["makeWanderer"] as const) : (["makePair"] as const))(
    "give bit for bit what those in one thread give: %s",
    async (name) => {
      const vector = threaded(name);
      const same = vectorEnvironment({ make: makers[name], count: 5 });
      expect(described(vector)).toEqual(described(same));
      for (const one of [vector, same]) one.reset(7);
      expect(show(vector)).toEqual(show(same));
      for (let t = 0; t < 300; t++) {
        for (const one of [vector, same]) {
          if (one.lessons && t % 10 === 0) one.nextLessons.fill((t / 10) % 2);
          one.step(actionsFor(one, t));
        }
        expect(show(vector)).toEqual(show(same));
      }
      expect(await firstDifference(vector.getState(), same.getState())).toBeUndefined();
    },
  );
});

describeInSample("environments in threads, by name", () => {
  it("are made by name from what is built in", () => {
    const vector = threadedEnvironment({ make: "CartPole-v1", count: 2, threads: 1 });
    open.push(vector);
    const same = vectorEnvironment({ make: "CartPole-v1", count: 2 });
    for (const one of [vector, same]) {
      one.reset(1);
      one.step(Float32Array.of(0, 1));
    }
    expect(show(vector)).toEqual(show(same));
  });
});

describeInRest("environments in threads, further", () => {
  it("go on from a state in the middle of episodes, of their own or of one thread", async () => {
    const vector = threaded("makeWanderer");
    vector.reset(3);
    for (let t = 0; t < 13; t++) vector.step(actionsFor(vector, t));
    const state = vector.getState();
    const other = threaded("makeWanderer", { threads: 3 });
    const same = vectorEnvironment({ make: tiny.makeWanderer, count: 5 });
    for (const one of [other, same]) {
      one.setState(state);
      expect(await firstDifference(one.getState(), state)).toBeUndefined();
    }
    for (let t = 13; t < 40; t++) {
      for (const one of [vector, other, same]) one.step(actionsFor(vector, t));
      const shown = show(vector);
      expect(show(other)).toEqual(shown);
      expect(show(same)).toEqual(shown);
    }
    expect(await firstDifference(other.getState(), vector.getState())).toBeUndefined();
  });

  it("tell the same means of what steps had in their info, bit for bit, however many threads there are", () => {
    const vectors = [
      vectorEnvironment({ make: tiny.makeTelling, count: 5 }),
      ...[1, 2, 5].map((threads) => threaded("makeTelling", { threads })),
    ];
    for (const one of vectors) one.reset(3);
    for (let t = 0; t < 60; t++) for (const one of vectors) one.step(new Float32Array(5).fill(t % 2));
    const half = vectors.map((one) => one.getState());
    const [first, ...others] = vectors.map((one) => one.infos?.());
    expect(Object.keys(first ?? {})).toEqual(["rare", "word"]);
    for (const other of others) expect(other).toEqual(first);
    expect(vectors.map((one) => one.infos?.())).toEqual(vectors.map(() => ({})));
    vectors.forEach((one, i) => {
      one.setState(half[(i + 1) % half.length] as StateTree);
      expect(one.infos?.()).toEqual(first);
    });
  });

  it("warn once of an observation beyond its bounds, with environment, place and bounds, as in one thread", async () => {
    const said: string[] = [];
    const hear = (warning: Error & { readonly code?: string }): void => {
      if (warning.code === "OBSERVATION_OUTSIDE") said.push(warning.message);
    };
    process.on("warning", hear);
    try {
      for (const make of [
        () => vectorEnvironment({ make: tiny.makeStray, count: 5 }),
        () => threaded("makeStray", { threads: 3 }),
      ]) {
        const vector = make();
        vector.reset(1);
        for (let t = 0; t < 50; t++) vector.step(new Float32Array(5));
        await new Promise((resolve) => setImmediate(resolve));
        expect(said.splice(0)).toEqual([
          expect.stringMatching(/Wanderer \(environment 2 .*step 3\): step\(\).* 9\.5 at 1, .* -9 and 9/),
        ]);
      }
    } finally {
      process.off("warning", hear);
    }
  });

  it("end when they are closed, and do not keep the process alive when they are not, nor lose prints", () => {
    const script = fileURLToPath(new URL("./forgotten.test-support.ts", import.meta.url));
    const child = spawnSync(process.execPath, ["--import", "tsx", script], {
      encoding: "utf8",
      timeout: 50_000,
    });
    expect([child.status, child.signal]).toEqual([0, null]);
    const lines = child.stdout.trimEnd().split("\n").sort();
    expect(lines).toEqual(["0 steps", "0 steps", "1 steps", "1 steps", "2 0"]);
    const vector = threaded("makeWanderer");
    vector.close();
    expect(failureOf(() => vector.reset(1)).code).toBe("ENVIRONMENT_CLOSED");
  });
});

describe("an environment that fails in a thread", () => {
  const faults = [
    ["throw", "ENVIRONMENT_FAILED", /threw TypeError: out of order/],
    ["NaN", "ENVIRONMENT_INVALID", /gave an observation that is NaN at 1/],
    ["hang", "ENVIRONMENT_HANGS", /has not returned within 0\.7 s/],
    ["exit", "ENVIRONMENT_FAILED", /ended its thread/],
  ] as const;
  it.each(inSample ? faults.slice(0, 1) : faults.slice(1))(
    "by %s is named, and stops the vector until it begins anew",
    (fault, code, what) => {
      const vector = threaded("makeFragile", { timeout: 0.7 });
      vector.reset(1);
      for (let t = 0; t < 3; t++) vector.step(new Float32Array(5));
      const state = vector.getState();
      const error = failureOf(() => vector.step(Float32Array.of(0, 0, 0, actionOf(fault), 0)));
      expect(error).toMatchObject({ code, fix: expect.any(String) });
      expect(error.message).toMatch(/^Fragile \(environment 3 of its vector, step 4\): step\(\) /);
      expect(error.message).toMatch(what);
      expect(failureOf(() => vector.step(new Float32Array(5)))).toBe(error);
      expect(failureOf(() => vector.getState())).toBe(error);
      vector.setState(state);
      const same = vectorEnvironment({ make: tiny.makeFragile, count: 5 });
      same.setState(state);
      for (const one of [vector, same]) one.step(new Float32Array(5));
      expect(show(vector)).toEqual(show(same));
      vector.reset(1);
      expect(vector.observations[1]).toBe(0);
    },
  );

  if (inSample) return;
  it("keeps what it threw as the cause", () => {
    const vector = threaded("makeFragile");
    vector.reset(1);
    const error = failureOf(() => vector.step(Float32Array.of(actionOf("throw"), 0, 0, 0, 0)));
    expect(error.cause).toMatchObject({ name: "TypeError", message: "out of order" });
  });

  it("is told when it cannot be made", () => {
    expect(failureOf(() => threaded("makeNothing"))).toMatchObject({
      code: "ENVIRONMENT_FAILED",
      message: expect.stringMatching(
        /environment 0 of its vector, step 0\): make\(\) threw RangeError: no such world/,
      ),
    });
    const nobody = failureOf(() => threaded("nobody" as "makeNothing"));
    expect(nobody.message).toMatch(/exports no function "nobody"/);
    const make = { module: new URL("./nowhere.ts", import.meta.url), name: "make" };
    const nowhere = failureOf(() => threadedEnvironment({ make, count: 1 }));
    expect(nowhere.message).toMatch(/a thread of environments could not start: .*nowhere\.ts/);
    expect(failureOf(() => threadedEnvironment({ make: tiny.makePair as never, count: 1 })).message).toMatch(
      /make is a function/,
    );
  });
});

const facts = ["name", "count", "agents", "rows", "observationSpace", "actionSpace", "lessons"] as const;
const described = (vector: RestartingVector) => facts.map((fact) => vector[fact]);
