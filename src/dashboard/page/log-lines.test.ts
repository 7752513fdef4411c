import { expect, it } from "vitest";
import { mostLines, withNewer } from "./log-lines.ts";

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`);

it("appends what follows, and ignores what it has", () => {
  const grown = withNewer(
    { lines: ["one", "two"], from: 0, to: 8 },
    { lines: ["three"], from: 8, to: 14 },
  ) ?? { lines: [], from: 0, to: 0 };
  expect(grown).toEqual({ lines: ["one", "two", "three"], from: 0, to: 14 });
  expect(withNewer(grown, { lines: ["two", "three"], from: 4, to: 14 })).toBe(grown);
});

it("notices lines that are missing in between, or that are held in part", () => {
  const held = { lines: ["one"], from: 0, to: 4 };
  expect(withNewer(held, { lines: ["three"], from: 8, to: 14 })).toBeUndefined();
  expect(withNewer(held, { lines: ["one", "two"], from: 0, to: 8 })).toBeUndefined();
});

it("holds no more than the most lines: new ones push out the oldest", () => {
  const held = { lines: lines(mostLines), from: 0, to: 2000 };
  const later = withNewer(held, { lines: ["new"], from: 2000, to: 2004 });
  expect(later?.lines).toHaveLength(mostLines / 2);
  expect(later?.lines.slice(-2)).toEqual([`line ${mostLines - 1}`, "new"]);
});
