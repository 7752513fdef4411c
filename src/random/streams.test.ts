import { describe, expect, it } from "vitest";
import { compile, put, random, type Value } from "../engine/index.ts";
import { RandomStreams } from "./streams.ts";

const draws = (streams: RandomStreams, name: string, n: number) =>
  Array.from({ length: n }, () => streams.get(name).seed());

describe("random streams", () => {
  it("give the same numbers for the same seed and name", () => {
    expect(draws(new RandomStreams(1), "data", 5)).toEqual(draws(new RandomStreams(1), "data", 5));
    expect(draws(new RandomStreams(1), "data", 5)).not.toEqual(draws(new RandomStreams(2), "data", 5));
    expect(draws(new RandomStreams(1), "data", 5)).not.toEqual(draws(new RandomStreams(1), "params", 5));
    expect(new Set(draws(new RandomStreams(1), "data", 1000)).size).toBeGreaterThan(990);
  });

  it("never move each other", () => {
    const alone = new RandomStreams(7);
    const mixed = new RandomStreams(7);
    mixed.get("noise").permutation(100);
    const first = draws(alone, "data", 3);
    const second = [
      mixed.get("data").seed(),
      mixed.get("noise").uniform(),
      mixed.get("data").seed(),
      mixed.get("data").seed(),
    ];
    expect([second[0], second[2], second[3]]).toEqual(first);
  });

  it("go on from a saved state with the same numbers", () => {
    const streams = new RandomStreams(3);
    draws(streams, "data", 4);
    streams.get("params").key();
    const state = JSON.parse(JSON.stringify(streams.getState()));
    const next = [...draws(streams, "data", 3), ...draws(streams, "params", 1), ...draws(streams, "new", 1)];
    const resumed = new RandomStreams(99);
    resumed.setState(state);
    expect([
      ...draws(resumed, "data", 3),
      ...draws(resumed, "params", 1),
      ...draws(resumed, "new", 1),
    ]).toEqual(next);
  });

  it("take streams handed out before along to a restored state", () => {
    const streams = new RandomStreams(3);
    const held = streams.get("data");
    const state = streams.getState();
    const first = [held.seed(), held.seed()];
    const unknown = streams.get("later");
    const laterFirst = unknown.seed();
    streams.setState(state);
    expect([held.seed(), held.seed(), unknown.seed()]).toEqual([...first, laterFirst]);
  });

  it("give keys that compiled functions take, with the numbers the host gets from them", async () => {
    const key = new RandomStreams(5).get("params").key();
    const onDevice = compile((k: Value) => random.bits(k, [4]), { engine: "wasm" })(
      put(key, { engine: "wasm" }),
    );
    const { hostRandom } = await import("../engine/index.ts");
    expect([...(await onDevice.read())]).toEqual([...hostRandom.hostBits(key, 4)]);
  });

  it("give whole numbers below n, all of them, and orders of n things", () => {
    const stream = new RandomStreams(0).get("a");
    const seen = new Set(Array.from({ length: 200 }, () => stream.integer(7)));
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect([...stream.permutation(5)].sort()).toEqual([0, 1, 2, 3, 4]);
    const u = Array.from({ length: 100 }, () => stream.uniform());
    expect(u.every((x) => x >= 0 && x < 1)).toBe(true);
  });

  it("refuse what is no number to draw below, no seed, no state", () => {
    const streams = new RandomStreams(0);
    expect(() => streams.get("a").integer(0)).toThrow(/ARGUMENT_INVALID/);
    expect(() => streams.get("a").integer(1.5)).toThrow(/ARGUMENT_INVALID/);
    expect(() => new RandomStreams(Number.NaN)).toThrow(/SEED_INVALID/);
    expect(() => streams.setState({ other: 1 })).toThrow(/STATE_INVALID/);
  });
});
