import { expect, it } from "vitest";
import { type LogWindow, linesIn, mostLines, withNewer, withOlder } from "./log-lines.ts";

const texts = (held: LogWindow | undefined) => linesIn(held ?? []).map(({ text }) => text);
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

it("holds no more than the most lines: new ones push out the oldest, older ones the newest", () => {
  const held = [
    { lines: lines(mostLines - 10), from: 1000, to: 2000 },
    { lines: lines(10), from: 2000, to: 2100 },
  ];
  const later = withNewer(held, { lines: ["new"], from: 2100, to: 2104 });
  expect(later?.map(({ from }) => from)).toEqual([2000, 2100]);
  const earlier = withOlder(held, { lines: ["old"], from: 900, to: 1000 });
  expect(earlier.map(({ from }) => from)).toEqual([900, 1000]);
  // What was let go is missing now.
  expect(withNewer(earlier, { lines: ["new"], from: 2100, to: 2104 })).toBeUndefined();
  expect(linesIn(withNewer([], { lines: lines(mostLines + 5), from: 0, to: 9 }) ?? [])).toHaveLength(
    mostLines,
  );
});

it("leaves out an older part that does not end where it begins", () => {
  const held = [{ lines: ["three"], from: 8, to: 14 }];
  expect(withOlder(held, { lines: ["one"], from: 0, to: 4 })).toBe(held);
  expect(texts(withOlder(held, { lines: ["two"], from: 4, to: 8 }))).toEqual(["two", "three"]);
});

it("names each line so that it keeps its name as others come and go", () => {
  const held = [{ lines: ["a", "a"], from: 8, to: 12 }];
  const names = linesIn(held).map(({ key }) => key);
  expect(new Set(names).size).toBe(2);
  expect(
    linesIn(withOlder(held, { lines: ["z"], from: 6, to: 8 }))
      .slice(1)
      .map(({ key }) => key),
  ).toEqual(names);
});
