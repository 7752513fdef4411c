import { expect, it } from "vitest";
import { lastPlace } from "./tail.ts";

/** A store that has rows at these places, and counts the questions. */
function storeOf(places: readonly number[]) {
  let asked = 0;
  return {
    since: async (_run: string, place: number, limit = 1000) => {
      asked++;
      const found = places.filter((at) => at > place).slice(0, limit);
      return { rows: found.map(() => ({}) as never), next: found.at(-1) ?? place };
    },
    asked: () => asked,
  };
}

it.each([
  ["nothing", []],
  ["less than that", [5]],
  ["just enough", [1, 2, 3]],
  ["far places", Array.from({ length: 50 }, (_, i) => 1_000_000_000 + 97 * i)],
  ["all places", Array.from({ length: 500 }, (_, i) => i + 1)],
])("leaves fewer than three rows of %s, and as many as there are", async (_what, places) => {
  const store = storeOf(places);
  const { rows } = await store.since("run", await lastPlace(store, "run", 3));
  expect(rows).toHaveLength(Math.min(2, places.length));
  expect(store.asked()).toBeLessThan(80);
});
