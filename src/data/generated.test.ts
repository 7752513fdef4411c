import { describe, expect, it } from "vitest";
import { glyphs, tabular, toyLanguage } from "./generated.ts";
import { datasetFromRecipe } from "./recipe.ts";

describe("generated sets", () => {
  it("are the same for the same seed, others for another", async () => {
    for (const make of [
      (seed: number) => glyphs({ seed, count: 20 }),
      (seed: number) => tabular({ seed, rows: 20 }),
    ]) {
      expect(await make(1).get(7)).toEqual(await make(1).get(7));
      expect(await make(1).get(7)).not.toEqual(await make(2).get(7));
      const again = await datasetFromRecipe<object>(make(3).recipe ?? expect.fail());
      expect(await again.get(5)).toEqual(await make(3).get(5));
    }
    expect(toyLanguage({ characters: 500, seed: 1 })).toBe(
      toyLanguage({ characters: 900, seed: 1 }).slice(0, 500),
    );
    expect(toyLanguage({ seed: 1 })).not.toBe(toyLanguage({ seed: 2 }));
  });

  it("have digits that even the nearest mean tells apart four times as often as chance", async () => {
    const { x, y } = await glyphs({ count: 600, seed: 5 }).toArrays();
    const [{ data }, labels] = [x as { data: Float32Array }, (y as { data: Int32Array }).data];
    const pixels = 12 * 12;
    const means = Array.from({ length: 10 }, (_, digit) =>
      Float64Array.from({ length: pixels }, (__, p) => {
        let sum = 0;
        for (let i = digit; i < 500; i += 10) sum += data[i * pixels + p] as number;
        return sum / 50;
      }),
    );
    let right = 0;
    for (let i = 500; i < 600; i++) {
      const distances = means.map((mean) => mean.reduce((sum, m, p) => sum + (m - (data[i * pixels + p] as number)) ** 2, 0)); // biome-ignore format: one sum
      right += Number(distances.indexOf(Math.min(...distances)) === labels[i]);
    }
    expect(right).toBeGreaterThan(40);
  });

  it("have sentences of one form, and rows of which about half bought", async () => {
    for (const sentence of toyLanguage({ characters: 5000 }).split("\n").slice(0, -1))
      expect(sentence).toMatch(/^(\w+ ){2,3}(sees|follows|finds|fears|calls)( \w+){2,3}\.$/);
    const rows = await Promise.all(Array.from({ length: 500 }, (_, i) => tabular({ rows: 500 }).get(i)));
    const bought = rows.filter((row) => row.bought === "yes").length;
    expect(bought).toBeGreaterThan(150);
    expect(bought).toBeLessThan(350);
  });
});
