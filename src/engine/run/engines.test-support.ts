import { describe, it } from "vitest";
import { inSample } from "../../sweep.test-support.ts";
import { xlaBackend } from "../xla/backend.ts";
import type { EngineName } from "./backend.ts";
import { engine } from "./choose.ts";

/** The engines tests run on: both, or wasm alone where no plugin is found. `ESPALIER_REQUIRE=xla` makes that a failure. */
export function testEngines(): readonly EngineName[] {
  const required = (process.env.ESPALIER_REQUIRE ?? "").split(",").includes("xla");
  if (required) engine("xla");
  return xlaBackend() ? ["wasm", "xla"] : ["wasm"];
}

/**
 * The engines of a `*.sweep.test.ts` in this project: wasm, which compiles at once, in the fast one, and xla in the slow
 * one, where its absence is a skipped test.
 */
export function sweepEngines(): readonly EngineName[] {
  if (inSample) return ["wasm"];
  const others = testEngines().filter((name) => name !== "wasm");
  if (others.length === 0) describe("on xla", () => it.skip("which is not installed here"));
  return others;
}
