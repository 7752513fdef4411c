import fc from "fast-check";
import { expect, it } from "vitest";
import { applied, difference } from "./delta.ts";

/** As it arrives: a JSON document. */
const sent = (before: unknown, after: unknown) => JSON.parse(JSON.stringify(difference(before, after)));

it("makes the answer after of the answer before, whatever both are", () => {
  const name = fc.constantFrom("a", "b", "__proto__", "constructor", "is", "list", "at");
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 0, 1, -0.5, "", "x"),
      fc.array(tie("json"), { maxLength: 8 }),
      fc
        .array(fc.tuple(name, tie("json")), { maxLength: 4 })
        .map((entries) => JSON.parse(JSON.stringify(Object.fromEntries(entries)))),
    ),
  }));
  fc.assert(
    fc.property(json, json, (before, after) => {
      const known = JSON.stringify(before);
      const made = applied(before, sent(before, after));
      expect(JSON.parse(JSON.stringify(made))).toEqual(after);
      expect(JSON.stringify(before)).toBe(known);
    }),
    { numRuns: 2000 },
  );
});

it("sends rows that are new or changed, and no others", () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({ name: `step-${i}`, protected: false }));
  const newer = { name: "step-500", protected: false };
  expect(sent(rows, [...rows, newer])).toEqual({
    list: [[0, 500], { is: newer }],
  });
  // New ones come first, old ones are pruned.
  expect(sent(rows, [newer, ...rows.slice(0, 400)])).toEqual({
    list: [{ is: newer }, [0, 400]],
  });
  const changed = rows.map((row, i) => (i === 7 ? { ...row, protected: true } : row));
  expect(sent(rows, changed)).toEqual({
    list: [[0, 7], { is: { name: "step-7", protected: true } }, [8, 492]],
  });
});

it("looks into what an answer holds", () => {
  const before = { plan: "a long text", hooks: [{ name: "a", count: 1 }], old: 1 };
  const after = { plan: "a long text", hooks: [{ name: "a", count: 2 }] };
  expect(sent(before, after)).toEqual({
    fields: { hooks: { list: [{ is: { name: "a", count: 2 } }] } },
    gone: ["old"],
  });
});
