import { describe, expect, it } from "vitest";
import { compile, np, read, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { Columns } from "./layout.ts";

const columns = new Columns({ observation: [2], done: [], picture: [2, 2], value: [] });

describe("columns", () => {
  it("stand side by side in the order given", () => {
    expect(columns.width).toBe(8);
    expect(columns.names.map((name) => columns.at(name))).toEqual([0, 2, 3, 7]);
    expect([columns.has("value"), columns.has("toString")]).toEqual([true, false]);
    expect(new Columns({}).width).toBe(0);
  });

  it("name those there are when asked for another", () => {
    expect(() => columns.at("vlaue")).toThrow(/no column "vlaue" among observation, done, picture, value/);
  });
});

describe.each(testEngines())("rows of columns on %s", (engine) => {
  it.each([[[3]], [[2, 3]], [[]]])(
    "hold fields with the axes %j in front, and give them back",
    async (axes) => {
      const size = axes.reduce((a, b) => a * b, 1);
      const round = compile(
        () => {
          const counted = (shape: readonly number[]): Value =>
            np.reshape(np.arange(size * shape.reduce((a, b) => a * b, 1)).astype("f32"), [...axes, ...shape]);
          const fields = {
            ...{
              observation: counted([2]),
              picture: counted([2, 2]).add(1).mul(-1),
              value: counted([]).add(0.5),
            },
            done: np.equal(np.remainder(counted([]), 2), 0),
          };
          const rows = columns.pack(fields);
          return { rows, given: { ...fields, done: fields.done.astype("f32") }, found: columns.fields(rows) };
        },
        { engine },
      );
      const { rows, given, found } = round();
      expect(rows.shape).toEqual([...axes, 8]);
      expect(await read(found)).toEqual(await read(given));
      expect(found.picture?.shape).toEqual([...axes, 2, 2]);
      const first = (await rows.read()).subarray(0, 8);
      expect([...first]).toEqual([0, 1, 1, -1, -2, -3, -4, 0.5]);
    },
  );
});
