import { expect, it } from "vitest";
import { linesOf, mostLines, withNewer, withOlder } from "./log-lines.ts";

const texts = (held: { readonly lines: readonly { readonly text: string }[] } | undefined) =>
  held?.lines.map(({ text }) => text);

it("appends what it does not have, by offsets in bytes", () => {
  const held = linesOf({ lines: ["one", "zwölf"], from: 0, to: 11 });
  expect(held.lines.map(({ at }) => at)).toEqual([0, 4]);
  // An event that was under way while the part was asked for.
  const added = withNewer(held, ["zwölf", "three"], 17);
  expect(texts(added)).toEqual(["one", "zwölf", "three"]);
  expect(added?.to).toBe(17);
  expect(withNewer(held, ["zwölf"], 11)).toBe(held);
});

it("notices lines that are missing in between", () => {
  const held = linesOf({ lines: ["one"], from: 0, to: 4 });
  expect(withNewer(held, ["three"], 14)).toBeUndefined();
});

it("holds no more than the most lines: new ones push out the oldest, older ones the newest", () => {
  const many = Array.from({ length: mostLines }, (_, i) => String(i % 10));
  const held = linesOf({ lines: many, from: 100, to: 100 + 2 * mostLines });
  const later = withNewer(held, ["x"], held.to + 2);
  expect(later?.lines).toHaveLength(mostLines);
  expect(later?.from).toBe(102);
  expect(texts(later)?.at(-1)).toBe("x");
  const earlier = withOlder(held, { lines: ["y"], from: 98, to: 100 });
  expect(earlier.lines).toHaveLength(mostLines);
  expect(earlier).toMatchObject({ from: 98, to: held.to - 2 });
  expect(texts(earlier)?.[0]).toBe("y");
  // What was let go is missing now.
  expect(withNewer(earlier, ["x"], held.to + 2)).toBeUndefined();
});
