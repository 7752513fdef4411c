import { defineConfig } from "vitest/config";
import { testCounts } from "./scripts/test-counts.ts";

const required = process.env.ESPALIER_REQUIRE;

export default defineConfig({
  // Examples are written as users write them: `espalier` is the sources, as tsconfig.json says.
  resolve: { tsconfigPaths: true },
  test: {
    include: ["src/**/*.test.ts", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
    pool: "forks",
    // A first call compiles a program, which on a busy machine takes longer than vitest's five seconds.
    testTimeout: 60_000,
    // Where parts are required, `it.only` would hide the others: an error, as a skip is.
    allowOnly: !required,
    reporters: ["default", testCounts({ required, reportTo: process.env.ESPALIER_TEST_REPORT })],
  },
});
