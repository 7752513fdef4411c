import { describe, expect, it } from "vitest";
import type { Environment } from "../environment.ts";
import { frameStack } from "./frame-stack.ts";
import fixture from "./gymnasium.fixture.json" with { type: "json" };
import { normalizeObservations, normalizeRewards } from "./normalize.ts";
import { playBack, played, type Row } from "./recorded.test-support.ts";

const recorded = Object.entries<readonly Row[]>(fixture.environments);

/** The largest difference beside 1, or beside the larger numbers. */
const apart = (a: ArrayLike<number>, b: readonly number[]): number =>
  Math.max(...b.map((x, i) => Math.abs((a[i] as number) - x) / Math.max(1, Math.abs(x))));

describe.each(recorded)("episodes of %s, with resets between them", (_, rows) => {
  it("have ends", () => {
    expect(rows.filter(({ terminated, truncated }) => terminated || truncated).length).toBeGreaterThan(0);
  });

  // Gymnasium keeps the moments of observations in single precision, we in double.
  it("are normalised as Gymnasium normalises observations", () => {
    const seen = played(normalizeObservations(playBack(rows)), rows);
    const most = Math.max(
      ...rows.map((row, i) => apart(seen[i]?.observation as Float32Array, row.normalized)),
    );
    expect(most).toBeLessThan(2e-5);
  });

  it("are paid as Gymnasium normalises rewards", () => {
    const paid = played(normalizeRewards(playBack(rows), { gamma: 0.9 }), rows);
    rows.forEach((row, i) => {
      if (row.paid === undefined) return;
      expect(apart([paid[i]?.reward as number], [row.paid])).toBeLessThan(1e-12);
    });
  });

  it.each<[what: string, wrap: (inner: Environment) => Environment]>([
    ["normalised observations", normalizeObservations],
    ["normalised rewards", normalizeRewards],
    ["stacked frames", (inner) => frameStack(inner, 3)],
    ["all of these", (inner) => frameStack(normalizeRewards(normalizeObservations(inner)), 2)],
  ])("go on from the middle with %s", (_, wrap) => {
    const [whole, first, second] = [1, 2, 3].map(() => wrap(playBack(rows))) as Environment[];
    const all = played(whole as Environment, rows);
    played(first as Environment, rows.slice(0, 37));
    second?.setState(structuredClone(first?.getState()) as never);
    expect(played(second as Environment, rows.slice(37))).toEqual(all.slice(37));
  });
});

it("frames are stacked as Gymnasium stacks them", () => {
  const rows: readonly Row[] = fixture.environments["CartPole-v1"];
  const environment = frameStack(playBack(rows), 3);
  expect(environment.observationSpace).toMatchObject({ kind: "box", shape: [3, 4] });
  const seen = played(environment, rows);
  rows.forEach((row, i) => {
    expect(seen[i]?.observation).toEqual(Float32Array.from(row.stacked ?? []));
  });
});
