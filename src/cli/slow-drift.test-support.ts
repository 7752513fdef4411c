import { appendFileSync } from "node:fs";
import { makeDrift } from "../rl/evaluation/evaluation.test-support.ts";
import type { Environment } from "../rl/index.ts";

const pauses = new Int32Array(new SharedArrayBuffer(4));

/**
 * The environment Drift, whose steps take 20 milliseconds, for tests that end its process in the middle. It writes the
 * process's number for each episode to the file that ESPALIER_TEST_EPISODES names.
 */
export function makeSlowDrift(): Environment {
  const drift = makeDrift();
  const { reset, step } = drift;
  drift.reset = (options) => {
    appendFileSync(process.env.ESPALIER_TEST_EPISODES ?? "", `${process.pid}\n`);
    return reset.call(drift, options);
  };
  drift.step = (action) => {
    Atomics.wait(pauses, 0, 0, 20);
    return step.call(drift, action);
  };
  return drift;
}
