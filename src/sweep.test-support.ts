import { describe } from "vitest";

/**
 * True where a `*.sweep.test.ts` runs in the fast project, which takes a sample of its cases; the slow project takes the
 * rest. Set by vitest.config.ts.
 */
export const inSample = process.env.ESPALIER_TEST_SWEEP !== "rest";

/** Tests of a `*.sweep.test.ts` that belong to the sample alone. */
export const describeInSample: (name: string, tests: () => void) => void = inSample ? describe : () => {};
