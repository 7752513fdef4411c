import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

interface Options {
  /** The value of `ESPALIER_REQUIRE`: when set, a skipped test fails the run and is named. */
  readonly required: string | undefined;
  /** A file that gets the last line too, for scripts. FILE.failed gets `PASSED TEST-FILE` for each file that failed. */
  readonly reportTo: string | undefined;
}

/**
 * A reporter whose last line says how many tests ran, as `12 passed, 0 failed`. A file that does not load and an
 * error outside any test count as failed; so does a skipped test where parts are required.
 */
export function testCounts({ required, reportTo }: Options): Reporter {
  let vitest: Vitest | undefined;
  return {
    onInit(context) {
      vitest = context;
    },
    onTestRunEnd(modules, strayErrors) {
      const { passed, failed, skipped, failing } = count(modules);
      // A name pattern skips whatever it does not match, which is what its user wants.
      const forbidden = required && !vitest?.config.testNamePattern ? skipped.length : 0;
      if (forbidden > 0) {
        console.error([`ESPALIER_REQUIRE=${required} forbids skipped tests:`, ...skipped].join("\n  "));
        process.exitCode = 1;
      }
      const line = `${passed} passed, ${failed + strayErrors.length + forbidden} failed`;
      const left = skipped.length - forbidden;
      console.log(left === 0 ? line : `${line}, ${left} skipped`);
      if (reportTo) {
        mkdirSync(dirname(reportTo), { recursive: true });
        writeFileSync(reportTo, `${line}\n`);
        writeFileSync(`${reportTo}.failed`, failing.map((file) => `${file}\n`).join(""));
      }
    },
  };
}

function count(modules: readonly TestModule[]) {
  let passed = 0;
  let failed = 0;
  const skipped: string[] = [];
  const failing: string[] = [];
  for (const module of modules) {
    const states = { passed: 0, failed: module.errors().length, skipped: 0, pending: 0 };
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      states[state]++;
      if (state === "skipped" || state === "pending")
        skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
    }
    passed += states.passed;
    failed += states.failed;
    // What is pending at the end was in a process that ended before it.
    if (states.failed + states.pending > 0) failing.push(`${states.passed} ${module.relativeModuleId}`);
  }
  return { passed, failed, skipped, failing };
}
