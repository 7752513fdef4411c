import { describe, expect, it } from "vitest";
import { inOneProgram, nameOf, theRow } from "../conformance/checks/values.test-support.ts";
import { type Dense, expectAllSame, parseTensor } from "../conformance/dense.test-support.ts";
import { references } from "../conformance/reference/index.test-support.ts";
import type { Sample } from "../conformance/sampler.test-support.ts";
import "../index.ts";
import { testEngines } from "../run/engines.test-support.ts";
import fixture from "./ops.fixture.json" with { type: "json" };

/** What JAX gives for rows of the table: see scripts/fixtures/ops.py. */
interface Case {
  readonly row: string;
  readonly inputs: readonly string[];
  readonly params?: unknown;
  readonly results: readonly string[];
}

const cases = fixture.cases as readonly Case[];
const rows = [...new Set(cases.map(({ row }) => row))];
const tensors = (texts: readonly string[]): Dense[] => texts.map((text) => parseTensor(text) as Dense);
const samplesOf = (
  row: string,
): readonly { readonly sample: Sample; readonly expected: readonly Dense[] }[] =>
  cases
    .filter((given) => given.row === row)
    .map(({ inputs, params, results }) => ({
      sample: { inputs: tensors(inputs), params: params ?? {} },
      expected: tensors(results),
    }));

/** Sums of parts around 1 can come out near 0. */
const closeness = { tolerance: 1e-5, floor: 0.1 };

describe("JAX's numbers for the rows", () => {
  it("are those of the references", () => {
    for (const row of rows)
      for (const { sample, expected } of samplesOf(row)) {
        const given = references.get(row)?.(sample.inputs, sample.params as never);
        expectAllSame(
          `the reference of ${nameOf(row, sample)}`,
          given as readonly Dense[],
          expected,
          closeness,
        );
      }
    expect(rows.length).toBeGreaterThan(50);
  });

  describe.each(testEngines())("are those of %s", (engine) => {
    it.each(rows)("%s", async (row) => {
      const all = samplesOf(row);
      const samples = all.map(({ sample }) => sample);
      const results = await inOneProgram(
        engine,
        row,
        samples,
        theRow(row),
      )(samples.map(({ inputs }) => inputs));
      all.forEach(({ sample, expected }, i) => {
        expectAllSame(
          `${nameOf(row, sample)} on ${engine}`,
          results[i] as readonly Dense[],
          expected,
          closeness,
        );
      });
    });
  });
});
