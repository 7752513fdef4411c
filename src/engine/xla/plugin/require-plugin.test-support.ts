import { findPlugins, type Plugin } from "./find.ts";

/**
 * For tests: the CPU plugin of this machine, or undefined, in which case the tests that need it are skipped.
 * Under ESPALIER_REQUIRE=xla a missing plugin is a failure instead.
 */
export function requirePlugin(): Plugin | undefined {
  const plugin = findPlugins().find(({ kind }) => kind === "cpu");
  if (!plugin && (process.env.ESPALIER_REQUIRE ?? "").split(",").includes("xla"))
    throw new Error("ESPALIER_REQUIRE asks for the XLA CPU plugin, and there is none on this machine");
  return plugin;
}
