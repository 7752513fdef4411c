import { describe, type TestOptions } from "vitest";

/**
 * True where a `*.sweep.test.ts` runs in the fast project, which takes a sample of its cases; the slow project takes the
 * rest. Set by vitest.config.ts.
 */
export const inSample = process.env.ESPALIER_TEST_SWEEP !== "rest";

interface Describe {
  (name: string, tests: () => void): void;
  (name: string, options: TestOptions, tests: () => void): void;
}
const nothing: Describe = () => {};

/** Tests of a `*.sweep.test.ts` that belong to the sample: they run in the fast project alone. */
export const describeInSample: Describe = inSample ? describe : nothing;

/** Tests of a `*.sweep.test.ts` that do not: they run in the slow project alone. */
export const describeInRest: Describe = inSample ? nothing : describe;
