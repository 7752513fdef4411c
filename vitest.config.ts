import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { testCounts } from "./scripts/test-counts.ts";

const required = process.env.ESPALIER_REQUIRE;
const tests = (kind: string) => ["src", "scripts", "bench"].map((folder) => `${folder}/**/*${kind}.test.ts`);

/**
 * `npm test` runs fast and isolated, `npm run test:slow` slow and sweep, `npm run test:all` all four. A file's name says
 * where it belongs; see "Tests" in CONTRIBUTING.md.
 *
 *   NAME.test.ts            fast: many files share a process, so a file leaves globals as it found them
 *   NAME.isolated.test.ts   isolated: a process of its own, for files that change globals or load modules anew
 *   NAME.slow.test.ts       slow: real processes, kills, databases, Python readers, docs programs, long trainings
 *   NAME.sweep.test.ts      fast takes a sample of its cases and sweep the rest, by `inSample` and `sweepEngines`
 */
export default defineConfig({
  // Examples are written as users write them: `espalier` is the sources, as tsconfig.json says.
  resolve: { tsconfigPaths: true },
  test: {
    pool: "forks",
    maxWorkers: Math.min(availableParallelism(), 8),
    // A first call compiles a program, which on a busy machine takes longer than vitest's five seconds.
    testTimeout: 60_000,
    hookTimeout: 60_000, // A hook that starts a database server, likewise.
    // Where parts are required, `it.only` would hide the others: an error, as a skip is.
    allowOnly: !required,
    reporters: ["default", testCounts({ required, reportTo: process.env.ESPALIER_TEST_REPORT })],
    // One after the other: a process is shared by files of one project only.
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: tests(""),
          exclude: [...tests(".isolated"), ...tests(".slow")],
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "isolated", include: tests(".isolated"), sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: "slow", include: tests(".slow"), sequence: { groupOrder: 2 } },
      },
      {
        extends: true,
        test: {
          name: "sweep",
          include: tests(".sweep"),
          env: { ESPALIER_TEST_SWEEP: "rest" },
          isolate: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
