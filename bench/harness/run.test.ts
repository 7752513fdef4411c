import { describe, expect, it } from "vitest";
import type { Subject, TimedFigure } from "./figure.ts";
import type { Peers } from "./peers.ts";
import { runFigure } from "./run.ts";

const taking = (seconds: number, check?: number): Subject => ({
  run: async (steps) => steps * seconds,
  ...(check === undefined ? {} : { check }),
});
const jax = { script: "jax.py", case: "adam", params: {} };
const figure: TimedFigure = {
  kind: "timed",
  name: "step",
  engine: "xla",
  unit: "ms",
  ours: async () => taking(0.002, 1),
  peers: { jax },
  bars: [],
};
const peersGiving = (make: () => Promise<Subject>) => ({ setUp: make }) as unknown as Peers;
const options = { quick: true, rounds: 2, batchSeconds: 0.1 };

describe("runFigure", () => {
  it("gives ours and the peers in the figure's unit", async () => {
    const result = await runFigure(figure, {
      ...options,
      peers: peersGiving(async () => taking(0.004, 1.0001)),
    });
    expect(result.ours).toEqual([2, 2]);
    expect(result.peers.jax).toEqual([4, 4]);
    expect(result.problems).toEqual({});
  });

  it("gives work a second where that is the unit, in the figure's own number of rounds", async () => {
    const rates = { ...figure, unit: "frames/s", rounds: 3 } as const;
    expect((await runFigure(rates, { ...options, quick: false })).ours).toEqual([500, 500, 500]);
    expect((await runFigure(rates, options)).ours).toEqual([500, 500]);
  });

  it("does not compare with a peer that computes something else", async () => {
    const result = await runFigure(figure, {
      ...options,
      peers: peersGiving(async () => taking(0.004, 1.01)),
    });
    expect(result.peers).toEqual({});
    expect(result.problems.jax).toMatch(/its check number is 1.01, ours 1/);
  });

  it("measures ours although a peer is missing", async () => {
    const result = await runFigure(figure, {
      ...options,
      peers: peersGiving(() => Promise.reject(new Error("no jax\n  here"))),
    });
    expect(result.ours).toEqual([2, 2]);
    expect(result.problems.jax).toBe("no jax; here");
  });

  it("notes why ours could not be measured, and asks no peer then", async () => {
    const ours = () => Promise.reject(new Error("no plugin"));
    const result = await runFigure(
      { ...figure, ours },
      { ...options, peers: peersGiving(() => Promise.reject(new Error("asked"))) },
    );
    expect(result).toMatchObject({ problems: { ours: "no plugin" }, peers: {} });
    expect(result.ours).toBeUndefined();
  });

  it("counts once", async () => {
    const result = await runFigure(
      {
        kind: "counted",
        name: "memory",
        engine: "xla",
        unit: "MB",
        ours: async ({ quick }) => (quick ? 1 : 2),
        bars: [],
      },
      options,
    );
    expect(result.ours).toEqual([1]);
  });
});
