import { expect, it } from "vitest";
import { mostLines, withNewer } from "./log-lines.ts";

const texts = (held = withNewer([], { lines: [], from: 0, to: 0 })) => held?.flatMap(({ lines }) => lines);
const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`);

it("appends what follows, and ignores what it has", () => {
  const held = withNewer([], { lines: ["one", "two"], from: 0, to: 8 });
  const grown = withNewer(held ?? [], { lines: ["three"], from: 8, to: 14 });
  expect(texts(grown)).toEqual(["one", "two", "three"]);
  expect(withNewer(grown ?? [], { lines: ["two", "three"], from: 4, to: 14 })).toBe(grown);
});

it("notices lines that are missing in between, or that are held in part", () => {
  const held = [{ lines: ["one"], from: 0, to: 4 }];
  expect(withNewer(held, { lines: ["three"], from: 8, to: 14 })).toBeUndefined();
  expect(withNewer(held, { lines: ["one", "two"], from: 0, to: 8 })).toBeUndefined();
});

it("holds no more than the most lines: new ones push out the oldest", () => {
  const held = [
    { lines: lines(mostLines - 10), from: 1000, to: 2000 },
    { lines: lines(10), from: 2000, to: 2100 },
  ];
  const later = withNewer(held, { lines: ["new"], from: 2100, to: 2104 });
  expect(later?.map(({ from }) => from)).toEqual([2000, 2100]);
  expect(texts(withNewer([], { lines: lines(mostLines + 5), from: 0, to: 9 }))).toHaveLength(mostLines);
});
